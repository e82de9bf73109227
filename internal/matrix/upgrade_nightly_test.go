//go:build nightly

package matrix

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// TestNightlyHelmfileUpgrade: an upgrade through helmfile to charts of another version and with one
// component more, and the way back.
func TestNightlyHelmfileUpgrade(t *testing.T) {
	t.Parallel()
	r := helmfileRunner(t)
	infratest.Slots(t, 1)
	r.Progress, r.Rollback = testProgress{t}, true
	old, next := newTinyRecipe(), newTinyRecipe()
	old.version = "0.9.0"
	old.only("a", "c")
	before := *r
	old.use(t, &before)
	r.From = &From{Name: "old", Title: "old", Inputs: before.Inputs}
	next.use(t, r)
	res := upgraded(t, r, plansOf(t, r, "tiny", deployers(t, bundle.Helmfile)...), "")
	if res.Status != result.Passed {
		t.Fatalf("got %s: %s\n%q", res.Status, res.Cause, res.Details)
	}
	endsAlikeAndBack(t, res)
	if n := len(res.Change.Components); n != 2 { // a has another version, b is new
		t.Errorf("got a change of %d components: %+v", n, res.Change.Components)
	}
}
