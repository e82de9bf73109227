package matrix

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Only what both platforms had a verdict on can differ: a cell that the machine or a signal ended
// says nothing about them.
func TestParityOf(t *testing.T) {
	pair := func(a, b result.Status, unknown ...string) Pair {
		return Pair{Results: [2]result.Result{{Verdict: result.Verdict{Status: a}}, {Verdict: result.Verdict{Status: b}}}, Platforms: compare.Platforms{Unknown: unknown}}
	}
	for name, tc := range map[string]struct {
		pairs []Pair
		want  reason.Reason
	}{
		"equal":       {[]Pair{pair(result.Passed, result.Passed), pair(result.Failed, result.Failed)}, ""},
		"different":   {[]Pair{pair(result.Passed, result.Passed), pair(result.Passed, result.Passed, "pods")}, reason.PlatformDivergence},
		"a machine":   {[]Pair{pair(result.Passed, result.Infrastructure, "status")}, ""},
		"interrupted": {[]Pair{pair(result.Passed, result.Passed, "pods"), pair(result.Passed, result.NotRun, "status")}, ""},
	} {
		err := parityOf(tc.pairs, "one", "other")
		if reason.Of(err) != tc.want || err != nil && !strings.Contains(err.Error(), "1 of 2 cells differ between one and other") {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}
