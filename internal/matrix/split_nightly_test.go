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
