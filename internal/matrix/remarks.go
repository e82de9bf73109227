package matrix

import "github.com/nvidia/aicr-action/internal/result"

// Remarks are the cell's remarks of one kind; nil for a kind that result.RemarkRows does not have.
func (r *Result) Remarks(kind result.RemarkKind) []string {
	switch kind {
	case result.RemarkWarnings:
		return r.Warnings
	case result.RemarkNotes:
		return r.Notes
	case result.RemarkOutOfOrder:
		return r.OutOfOrder
	case result.RemarkHealthPolicy:
		return r.HealthPolicy
	case result.RemarkStandIns:
		return r.StandIns
	case result.RemarkOverrides:
		return r.Overrides
	}
	return nil
}
