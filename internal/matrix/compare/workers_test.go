package compare

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

func TestMain(m *testing.M) { workers.Main(m, sandbox.Hidden(), render.Hidden()) }
