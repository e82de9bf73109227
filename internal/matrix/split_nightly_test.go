//go:build nightly

package matrix

import (
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A split recipe in the other lane. Where core fails, its component is the cause, and not ops, which waits for core's kind.
func TestNightlySplit(t *testing.T) {
	t.Parallel()
	base := stackRunner(t)
	fails := splitSeed()
	fails.deployed, fails.want = opsRetries, red(reason.WorkloadFailed, "Job a/early (a): not complete yet, and nothing has changed for 20s: pod a/early-").in(2*time.Minute)
	for _, through := range []string{bundle.ArgoCDOCI, bundle.ArgoCDGit} {
		t.Run(through, func(t *testing.T) { t.Parallel(); fails.run(t, *base, through) })
	}
	t.Run("passes", func(t *testing.T) { t.Parallel(); splitSeed().run(t, *base, bundle.ArgoCDGit) })
}

// A split recipe is upgraded, rolled back, delivered twice and removed as any other, each half by its own root. So is one of
// which a component goes from one root to the other.
func TestNightlySplit_SecondDay(t *testing.T) {
	t.Parallel()
	base := stackRunner(t)
	split := func(r *tinyRecipe) { r.part("b").class = "ops" }
	both := func(r *tinyRecipe) { split(r); r.part("c").class = "ops" }
	two := func(r *tinyRecipe) { split(r); r.only("a", "b") }
	for name, s := range map[string]seed{
		"upgrade": {nightly: []string{bundle.ArgoCDOCI, bundle.ArgoCDGit}, old: older(split), recipe: split}, "new in ops": {old: older(two), recipe: both},
		"removed in ops": {old: older(both), recipe: two}, "moved to ops": {old: older(split), recipe: both}, "moved to core": {old: older(both), recipe: split},
	} {
		s.runner = func(r *Runner) { r.Split, r.Rollback, r.Drift, r.Remove = true, true, true, true }
		s.want = outcomeWanted{check: endsAlikeAndBack}
		if s.nightly == nil {
			s.nightly = []string{bundle.ArgoCDOCI}
		}
		for _, through := range s.nightly {
			t.Run(name+"/"+through, func(t *testing.T) { t.Parallel(); s.run(t, *base, through) })
		}
	}
}
