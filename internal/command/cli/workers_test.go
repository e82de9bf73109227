package cli

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/workers"
)

func TestMain(m *testing.M) { workers.Main(m, Hidden()) }
