package matrix

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A program that no cell needed is no pass; one that some cell needed is a warning in the others.
func TestBlame(t *testing.T) {
	for name, c := range map[string]struct {
		unneeded [][]string // by cell
		failed   []int      // cells that fail for another reason
		want     []int      // cells that fail for the program
	}{
		"one cell":                        {unneeded: [][]string{{"a:1"}}, want: []int{0}},
		"every cell":                      {unneeded: [][]string{{"a:1"}, {"a:1"}}, want: []int{0, 1}},
		"one of two cells":                {unneeded: [][]string{{"a:1"}, nil}},
		"each another":                    {unneeded: [][]string{{"a:1"}, {"b:1"}}},
		"two programs":                    {unneeded: [][]string{{"a:1", "b:1"}, {"b:1"}}, want: []int{0, 1}},
		"a cell that failed says nothing": {unneeded: [][]string{{"a:1"}, nil}, failed: []int{1}, want: []int{0}},
		"all failed for another reason":   {unneeded: [][]string{nil}, failed: []int{0}},
		"none given, or all were needed":  {unneeded: [][]string{nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			var cells []unneededCell
			for i, images := range c.unneeded {
				r := &result.Result{Verdict: result.Verdict{Status: result.Passed}, Warnings: []string{"other"}}
				if slices.Contains(c.failed, i) {
					r.Verdict = result.Verdict{Status: result.Failed, Reason: reason.WorkloadFailed}
				}
				cell := unneededCell{Result: r}
				for _, image := range images {
					cell.Programs = append(cell.Programs, infra.Unneeded{Image: image, Text: "no pod has " + image})
					r.Warnings = append(r.Warnings, "no pod has "+image)
				}
				cells = append(cells, cell)
			}
			blameUnneeded(cells)
			for i, cell := range cells {
				want := slices.Contains(c.want, i)
				if got := cell.Result.Reason == reason.Usage; got != want {
					t.Errorf("cell %d: %+v, want that it fails: %t", i, cell.Result.Verdict, want)
				}
				if want && (!strings.Contains(cell.Result.Cause, "no pod has ") || cell.Result.Reason.Code() != 2) {
					t.Errorf("cell %d: %q", i, cell.Result.Cause)
				}
				if !slices.Contains(cell.Result.Warnings, "other") {
					t.Errorf("cell %d has lost a warning: %q", i, cell.Result.Warnings)
				}
			}
		})
	}
}
