package result

import (
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// What a program said before all was ready does not explain a difference that was found afterwards, unless
// it is about the object: a difference of a ConfigMap had an operator's line about a Secret.
func TestFailure_Quote(t *testing.T) {
	const about, other = "pod b/op says: b/web: cannot write", "pod b/op says: waiting for Secret b/tls"
	for r, want := range map[reason.Reason][]string{
		reason.LaneDivergence: {about}, reason.UpgradeDiverged: {about}, reason.NeverSettles: {about}, reason.LeftBehind: {about},
		reason.WorkloadFailed: {about, other}, reason.DeployFailed: {about, other}, reason.UpgradeFailed: {about, other},
	} {
		f := NewFailure(Finding{Object: &Ref{Kind: "ConfigMap", Namespace: "b", Name: "web"}, Cause: "differs"})
		if f.Quote([]string{about, other}, r); !slices.Equal(f.More, want) {
			t.Errorf("%s: got %q, want %q", r, f.More, want)
		}
	}
}
