package matrix

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helminstall"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/aicrclitest"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/verify/chainsaw"
)

// machineSpeed is how fast this machine is while the tests run.
var machineSpeed *host.Speed

func TestMain(m *testing.M) {
	workers.Serve(sandbox.Hidden(), render.Hidden(), helminstall.Hidden(), texttemplate.Hidden(), chainsaw.Hidden(), programs.CertgenHidden()) // first: the double renders charts too
	aicrclitest.Run()
	ctx, cancel := context.WithCancel(context.Background())
	machineSpeed = host.WatchSpeed(ctx)
	code := m.Run()
	cancel()
	os.Exit(code)
}

// externalCell is a variant of the test double, the lane that its bundle goes through, and the file
// that the failure names; "" if the cell passes.
type externalCell struct{ variant, lane, file string }

// TestExternalBundler: bundles of an external CLI, here of its test double, go through the lanes as
// our own do. A bundle without a toleration fails, and the failure names the value path with the
// file and line of the bundle.
func TestExternalBundler(t *testing.T) {
	t.Parallel()
	externalBundler(t, []externalCell{
		{aicrclitest.Current, bundle.FluxOCI, ""}, {aicrclitest.Forgetful, bundle.Helm, "bundle-original/001-cert-manager/values.yaml"},
	})
}

func externalBundler(t *testing.T, cells []externalCell) {
	t.Helper()
	r := stackRunner(t)
	infratest.Slots(t, 1)
	for _, c := range cells {
		e, err := intake.NewExec(t.Context(), aicrclitest.Install(t, c.variant), "", os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		r.Bundler = e
		res := r.Run(t.Context(), plansOf(t, r, "kind", deployers(t, c.lane)...)[0])
		t.Run(res.Cell.Deployer+" "+filepath.Base(c.file), func(t *testing.T) { c.compare(t, res) })
	}
}

func (c externalCell) compare(t *testing.T, res result.Result) {
	t.Helper()
	if c.file == "" {
		if res.Status != result.Passed || res.Pods == 0 || slices.ContainsFunc(res.NotVerified, func(n string) bool { return strings.HasPrefix(n, "upgrade-check") }) {
			t.Errorf("got %s, %s: %s\n%s", res.Status, res.Reason, res.Cause, strings.Join(res.Details, "\n"))
		}
		return
	}
	story := strings.Join(res.Details, "\n")
	if res.Reason != reason.SchedulingFailed || !strings.Contains(story, "tolerations: value path "+aicrclitest.ForgottenPath+" would bring them, and the bundle does not set it for component "+aicrclitest.ForgottenComponent) {
		t.Errorf("got %s, %s: %s\n%s", res.Status, res.Reason, res.Cause, story)
	}
	if len(res.Findings) == 0 || !strings.HasSuffix(res.Findings[0].Place.File, c.file) || res.Findings[0].Place.Line == 0 || res.Findings[0].Place.Path != aicrclitest.ForgottenPath {
		t.Errorf("the place is not the bundle's %s: %+v", c.file, res.Findings)
	}
}
