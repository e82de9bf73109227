package matrix

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane/lanetest"
	"github.com/nvidia/aicr-action/internal/reason"
)

// A cell's verdict is its own, whatever happens while it is ended; a reader is told of that too.
func TestVerdictAfter(t *testing.T) {
	red := reason.New(reason.SchedulingFailed, "no node")
	incomplete := reason.New(reason.NoSpace, "collect the evidence: cell.json: no space left on device")
	for name, c := range map[string]struct {
		err, closing error
		want         reason.Reason
		warnings     string
	}{
		"green":                    {nil, nil, "", ""},
		"green, something is left": {nil, incomplete, reason.NoSpace, ""},
		"red":                      {red, nil, reason.SchedulingFailed, ""},
		"red, evidence is not whole": {red, errors.Join(incomplete, errors.New("remove the cluster: busy")), reason.SchedulingFailed,
			"collect the evidence: cell.json: no space left on device\nremove the cluster: busy"},
	} {
		cell := &cellRun{Runner: &Runner{}, env: lanetest.Env(fake.NewClientset(), bundle.Expectation{})}
		cell.env.Log = slog.New(slog.DiscardHandler)
		if err := cell.verdictAfter(c.err, c.closing); reason.Of(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if got := strings.Join(cell.result.Warnings, "\n"); got != c.warnings {
			t.Errorf("%s: warnings\n%s\nwant\n%s", name, got, c.warnings)
		}
	}
}
