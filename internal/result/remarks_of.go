package result

// Remarks are the cell's remarks of one kind; nil for a kind that result.RemarkRows does not have.
func (r *Result) Remarks(kind RemarkKind) []string {
	switch kind {
	case RemarkWarnings:
		return r.Warnings
	case RemarkIgnored:
		return r.Ignored
	case RemarkNotes:
		return r.Notes
	case RemarkNotVerified:
		return r.NotVerified
	case RemarkLeftBehind:
		return r.LeftBehind
	case RemarkOutOfOrder:
		return r.OutOfOrder
	case RemarkSandbox:
		return r.Sandbox
	case RemarkControllers:
		return r.Controllers
	case RemarkReusedFrom:
		return r.ReusedFrom
	case RemarkChartSources:
		return r.ChartSources
	case RemarkHealthPolicy:
		return r.HealthPolicy
	case RemarkStandIns:
		return r.StandIns
	case RemarkOverrides:
		return r.Overrides
	}
	return nil
}
