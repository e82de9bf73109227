package cli

import (
	"slices"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helminstall"
	"github.com/nvidia/aicr-action/internal/util/reexec"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/verify/chainsaw"
)

// Hidden returns all hidden commands: the processes that matrix and aicr start of their own file.
// main gives them to reexec.Dispatch. No help shows them.
func Hidden() []reexec.Command {
	return slices.Concat(sandbox.Hidden(), render.Hidden(), helminstall.Hidden(), texttemplate.Hidden(), chainsaw.Hidden(), programs.CertgenHidden())
}
