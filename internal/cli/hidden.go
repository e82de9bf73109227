package cli

import (
	"slices"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra/programs/certgen"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helminstall"
	"github.com/nvidia/aicr-action/internal/util/hidden"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/verify/checks"
)

// Hidden returns all hidden commands: the processes that matrix and aicr start of their own file.
// main gives them to hidden.Dispatch. No help shows them.
func Hidden() []hidden.Command {
	return slices.Concat(sandbox.Hidden(), render.Hidden(), helminstall.Hidden(), texttemplate.Hidden(), checks.Hidden(), certgen.Hidden())
}
