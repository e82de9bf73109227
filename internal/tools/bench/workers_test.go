package main

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
)

func TestMain(m *testing.M) { workers.Main(m, texttemplate.Hidden()) }
