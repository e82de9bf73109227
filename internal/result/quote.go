package result

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// afterReady are the reasons of cells in which all was ready: what a program complained of before explains
// them only if it names one of their objects.
var afterReady = []reason.Reason{reason.LaneDivergence, reason.UpgradeDiverged, reason.NeverSettles, reason.LeftBehind, reason.ReadBackFailed}

// Quote adds what programs say to a failure for this reason.
func (f *Failure) Quote(lines []string, r reason.Reason) {
	for _, line := range lines {
		if !slices.Contains(afterReady, r) || slices.ContainsFunc(f.Findings, func(one Finding) bool { return one.namedIn(line) }) {
			f.More = append(f.More, line)
		}
	}
}

// namedIn reports whether a line has one of a finding's objects.
func (f *Finding) namedIn(line string) bool {
	refs := slices.Clone(f.Others)
	if f.Object != nil {
		refs = append(refs, *f.Object)
	}
	return slices.ContainsFunc(refs, func(ref Ref) bool {
		name := ref.Name
		if ref.Namespace != "" {
			name = ref.Namespace + "/" + name
		}
		return strings.Contains(line, name)
	})
}
