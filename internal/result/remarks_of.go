package result

// Remarks are the cell's remarks of one kind; nil for a kind that result.RemarkRows does not have.
func (r *Result) Remarks(kind RemarkKind) []string {
	switch kind {
	case RemarkWarnings:
		return r.Warnings
	case remarkIgnored:
		return r.Ignored
	case RemarkNotes:
		return r.Notes
	case remarkNotVerified:
		return r.NotVerified
	case remarkLeftOut:
		return r.LeftOut
	case remarkLeftBehind:
		return r.LeftBehind
	case remarkOutOfOrder:
		return r.OutOfOrder
	case remarkSandbox:
		return r.Sandbox
	case remarkControllers:
		return r.Controllers
	case remarkReusedFrom:
		return r.ReusedFrom
	case RemarkChartSources:
		return r.ChartSources
	case remarkHealthPolicy:
		return r.HealthPolicy
	case remarkStandIns:
		return r.StandIns
	case remarkNodeGroups:
		return r.nodeGroupLines()
	case remarkOverrides:
		return r.Overrides
	}
	return nil
}
