package matrix

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// A real API server that crashes once does not fail the cell, and one that crashes in each attempt
// does. The crash is SIGSEGV: Go's runtime ends the program as after its own fault (faults F26).
func TestAPIServerCrash(t *testing.T) {
	for name, tc := range map[string]struct {
		crashes int
		status  result.Status
	}{
		"once":  {1, result.Passed},
		"twice": {2, result.Infrastructure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := stackRunner(t)
			smallRecipes(t, r)
			infratest.Slots(t, 1)
			crashes := 0
			results, err := r.runAll(t.Context(), plansOf(t, r, "plain", deployers(t, bundle.Helm)...), 1, func(ctx context.Context, p Plan) finishedCell {
				return r.runLane(ctx, p, seededLane{NewLane(p.Deployer), seed{deployed: func(_ context.Context, env *lane.Env) error {
					if crashes == tc.crashes {
						return nil
					}
					crashes++
					return send(env, "kube-apiserver", syscall.SIGSEGV)
				}}, nil})
			})
			if err != nil {
				t.Fatal(err)
			}
			got := results[0]
			if got.Status != tc.status || crashes != tc.crashes {
				t.Fatalf("after %d crashes: got %s, %s: %s", crashes, got.Status, got.Reason, got.Cause)
			}
			if len(got.Attempts) != 1 || got.Attempts[0].Component != "kube-apiserver" || !strings.HasPrefix(got.Attempts[0].Crash, "SIGSEGV: ") {
				t.Fatalf("attempts are %+v", got.Attempts)
			}
			if tc.crashes == 2 && (got.Reason != reason.ComponentDied || !slices.ContainsFunc(got.Details, func(l string) bool { return strings.HasPrefix(l, "SIGSEGV: ") })) {
				t.Errorf("got %s, with %q", got.Reason, got.Details)
			}
			for _, dir := range []string{got.Attempts[0].Artifacts, got.Artifacts} {
				testkit.ReadFile(t, dir, "summary.md")
			}
			if first := got.Attempts[0].Artifacts; first == got.Artifacts || got.Artifacts != filepath.Join(r.Artifacts, filepath.Base(got.Artifacts)) || !strings.HasSuffix(got.Artifacts, r.RunID+"-2") || strings.HasSuffix(first, "-2") {
				t.Errorf("evidence is in %s and %s", first, got.Artifacts)
			}
			if _, err := os.Stat(filepath.Join(got.Attempts[0].Artifacts, "logs", "kube-apiserver.log")); err != nil {
				t.Error(err)
			}
			wantNothingOf(t, r)
		})
	}
}
