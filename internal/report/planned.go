package report

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Hold compares the report with the plan of its run. A planned cell without a result becomes one
// that was not run, and a planned skip is copied. The result of a cell that was not planned is left
// out, and named in Unread and in the errors. Cells are sorted as by Merge.
func (r *Report) Hold(planned []result.Result, lanes []string) []error {
	var errs []error
	wanted, found := map[result.Cell]bool{}, map[result.Cell]bool{}
	for i := range planned {
		wanted[planned[i].Cell] = true
	}
	r.Results = slices.DeleteFunc(r.Results, func(c result.Result) bool {
		found[c.Cell] = true
		if wanted[c.Cell] {
			return false
		}
		err := fmt.Errorf("there is a result of %s, which the plan of this run does not have: another use of matrix uploads under the same name", c.Cell)
		errs = append(errs, err)
		r.Unread = append(r.Unread, err.Error())
		return true
	})
	for _, p := range planned {
		if found[p.Cell] {
			continue
		}
		if p.Status != result.Skipped {
			p.Verdict = result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "no job of this run left a result for this cell: its job was cancelled, or ended before it could upload one"}
		}
		r.Results = append(r.Results, p)
	}
	r.sort(lanes)
	return errs
}
