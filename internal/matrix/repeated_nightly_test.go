//go:build nightly

package matrix

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// repeatedRuns is the variable with the number of runs of each input of TestNightlyRepeated. The
// default takes about three minutes; 20 of each were asked for once, and take four times that.
const repeatedRuns, repeatedByDefault = "AICR_ACTION_REPEATED_RUNS", 5

// TestNightlyRepeated: what a race decided once has one verdict in each run (F106): pods that are
// available about when the lane's budget ends, and those of a ReplicaSet that no Deployment owns.
func TestNightlyRepeated(t *testing.T) {
	t.Parallel()
	runs := repeatedByDefault
	if text := os.Getenv(repeatedRuns); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil || runs < 1 {
			t.Fatalf("%s=%q: want a number of runs", repeatedRuns, text)
		}
	}
	base := stackRunner(t)
	for _, s := range []seed{
		{name: "minReadySeconds", sync: 20 * time.Second, asItIs: true, recipe: func(r *tinyRecipe) {
			r.part("b").edit("  replicas: 1\n", "  replicas: 1\n  minReadySeconds: 15\n")
		}},
		{name: "ReplicaSet", recipe: func(r *tinyRecipe) { r.part("b").add("set.yaml", loneSet) }, want: outcomeWanted{check: fivePods}},
	} {
		for i := range runs {
			t.Run(fmt.Sprintf("%s/%d", s.name, i), func(t *testing.T) {
				t.Parallel()
				s.run(t, *base, bundle.Helm)
			})
		}
	}
}
