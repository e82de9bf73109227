package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/foreign"
	"github.com/nvidia/aicr-action/internal/bundle/foreign/foreigntest"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

func TestMain(m *testing.M) {
	foreigntest.Run()
	os.Exit(m.Run())
}

// The bundles of an external CLI, here of its test double, go through the lanes as our own do. One that forgets a toleration is red, and its story
// names the value path with the file and line of the bundle.
func TestExternalBundler(t *testing.T) {
	r := stackRunner(t)
	var plans []Plan
	for _, variant := range []string{foreigntest.Good, foreigntest.Forgetful} {
		e, err := foreign.NewExec(t.Context(), foreigntest.Install(t, variant), "", os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		r.Bundler = e
		plans = append(plans, plansOf(t, r, "kind", deployers(t, bundle.Helm, bundle.FluxOCI)...)...)
	}
	infratest.Slots(t, 2)
	for i, file := range []string{"", "", "bundle-original/001-cert-manager/values.yaml", "bundle-original/cert-manager/helmrelease.yaml"} {
		res := r.Run(t.Context(), plans[i])
		t.Run(res.Cell.Deployer+" "+filepath.Base(file), func(t *testing.T) {
			if file == "" {
				if res.Status != result.Passed || res.Pods == 0 {
					t.Errorf("got %s, %s: %s\n%s", res.Status, res.Reason, res.Cause, strings.Join(res.Details, "\n"))
				}
				return
			}
			story := strings.Join(res.Details, "\n")
			if res.Reason != reason.SchedulingFailed || !strings.Contains(story, "tolerations: value path "+foreigntest.ForgottenPath+" would bring them, and the bundle does not set it for component "+foreigntest.ForgottenComponent) {
				t.Errorf("got %s, %s: %s\n%s", res.Status, res.Reason, res.Cause, story)
			}
			if len(res.Findings) == 0 || !strings.HasSuffix(res.Findings[0].Place.File, file) || res.Findings[0].Place.Line == 0 || res.Findings[0].Place.Path != foreigntest.ForgottenPath {
				t.Errorf("the place is not the bundle's %s: %+v", file, res.Findings)
			}
		})
	}
}
