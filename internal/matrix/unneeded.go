package matrix

// unneeded.go gives the programs of --program that no pod of a whole run had: a misspelt image
// would else be a pass in which the program did not run. It knows results only.

import (
	"slices"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// unneededCell is a cell that has ended, and the programs that it had no pod for.
type unneededCell struct {
	Result   *result.Result
	Programs []infra.Unneeded
}

// blameUnneeded turns each pass into a failure if a program was needed by no cell that passed. Of a run of
// several recipes it is enough if one of them has the image: the others keep their warning.
func blameUnneeded(cells []unneededCell) {
	passed := slices.DeleteFunc(slices.Clone(cells), func(c unneededCell) bool { return c.Result.Status != result.Passed })
	if len(passed) == 0 {
		return
	}
	in := func(c unneededCell, image string) int {
		return slices.IndexFunc(c.Programs, func(p infra.Unneeded) bool { return p.Image == image })
	}
	for _, p := range passed[0].Programs {
		if slices.ContainsFunc(passed, func(c unneededCell) bool { return in(c, p.Image) < 0 }) {
			continue
		}
		for _, c := range passed {
			text := c.Programs[in(c, p.Image)].Text
			c.Result.Warnings = slices.DeleteFunc(c.Result.Warnings, func(w string) bool { return w == text })
			c.Result.Verdict = result.VerdictOf(reason.New(reason.Usage, "--program %s: %s", p.Image, text))
			artifactsRestate(c.Result)
		}
		return // one is enough: each run has the other's message once this one is mended
	}
}
