//go:build nightly

package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/aicrclitest"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// TestNightlyLanes runs one recipe through the lanes that TestLanes leaves out. The helm lane is
// the one that they are compared with.
func TestNightlyLanes(t *testing.T) {
	t.Parallel()
	r := stackRunner(t)
	names := append([]string{bundle.Helm, bundle.ArgoCDAppSet}, otherLanes...)
	plans := plansOf(t, r, "eks-training", deployers(t, names...)...)
	infratest.Slots(t, 2)
	results, err := r.RunAll(t.Context(), plans, 2)
	if err != nil {
		t.Errorf("run all lanes: %v", err)
	}
	for i, res := range results {
		t.Run(plans[i].Cell.Deployer, func(t *testing.T) { checkGreen(t, r, plans[i], res) })
	}
}

// TestNightlyEvidence: the lanes of Helm leave the same files of a failed cell.
func TestNightlyEvidence(t *testing.T) {
	t.Parallel()
	for _, d := range deployers(t, bundle.Helm, bundle.HelmTemplate) {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			evidenceOf(t, d)
		})
	}
}

// TestNightlyOneVerdictPerFault has the faults that TestOneVerdictPerFault leaves out.
func TestNightlyOneVerdictPerFault(t *testing.T) {
	t.Parallel()
	oneVerdict(t, func(set faultSet) bool { return set != rejected && set != missing && set != kept })
}

// TestNightlyExternalBundler runs the lanes that TestExternalBundler leaves out.
func TestNightlyExternalBundler(t *testing.T) {
	t.Parallel()
	externalBundler(t, []externalCell{
		{aicrclitest.Good, bundle.Helm, ""}, {aicrclitest.Forgetful, bundle.FluxOCI, "bundle-original/cert-manager/helmrelease.yaml"},
	})
}

// TestNightlyUpgradeCheckDisagrees: AICR's CLI that does not find in the cluster what it has bundled fails the cell, which is green otherwise.
func TestNightlyUpgradeCheckDisagrees(t *testing.T) {
	r := stackRunner(t)
	infratest.Slots(t, 1)
	e, err := intake.NewExec(t.Context(), aicrclitest.Install(t, aicrclitest.Misread), "", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	r.Bundler = e
	res := r.Run(t.Context(), plansOf(t, r, "kind", deployers(t, bundle.Helm)...)[0])
	if want := aicrclitest.ForgottenComponent + ": it was delivered, and counts as not installed"; res.Reason != reason.ReadBackFailed || !strings.Contains(res.Cause, want) {
		t.Errorf("got %s, %s: %s; want %q", res.Status, res.Reason, res.Cause, want)
	}
}

// TestNightlyAnotherPlatform runs the lanes that TestLanesOnAnotherPlatform leaves out.
func TestNightlyAnotherPlatform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{bundle.Helm, bundle.ArgoCDHelmOCI} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onAnotherPlatform(t, name)
		})
	}
}

// TestNightlyPodsTooSlow runs the lanes that TestPodsTooSlowOnTheStack leaves out.
func TestNightlyPodsTooSlow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{bundle.ArgoCDOCI, bundle.FluxOCI} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			podsTooSlow(t, stackRunner(t), name)
		})
	}
}

// TestNightlyAheadAPIServerKilled: a cell whose API server is killed while its cluster waits is
// started from scratch.
func TestNightlyAheadAPIServerKilled(t *testing.T) {
	t.Parallel()
	brokenAhead(t, "kube-apiserver", syscall.SIGKILL, "API server") // its end, or its silence, whichever is seen first
}

// TestNightlyAheadFluxKilled: so is one whose helm-controller is.
func TestNightlyAheadFluxKilled(t *testing.T) {
	t.Parallel()
	brokenAhead(t, "helm-controller", syscall.SIGKILL, "helm-controller ended unexpectedly (signal: killed)")
}

// TestNightlyAheadDropped drops an Argo CD cell's cluster, too.
func TestNightlyAheadDropped(t *testing.T) {
	t.Parallel()
	r := aheadRunner(t)
	if err := begunAhead(t, r, bundle.ArgoCDOCI).drop(); err != nil {
		t.Error(err)
	}
	wantNothingOf(t, r)
}

// TestNightlyFluxNames: a bundle of AICR's CLI for Flux, without the names of releases, is the same
// as its bundle for Helm but for what these names decide.
func TestNightlyFluxNames(t *testing.T) {
	t.Parallel()
	r := stackRunner(t)
	e, err := intake.NewExec(t.Context(), aicrclitest.Install(t, aicrclitest.Good), "", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	r.Bundler = e
	infratest.Slots(t, 2)
	results, err := r.RunAll(t.Context(), plansOf(t, r, "eks-training", deployers(t, bundle.Helm, bundle.FluxOCI)...), 2)
	if err != nil {
		t.Error(err)
	}
	for _, res := range results {
		if res.Status != result.Passed || (res.DeclaredDifferences > 100) != (res.Cell.Deployer == bundle.FluxOCI) {
			t.Errorf("%s: got %s with %d declared differences: %s\n%s", res.Cell, res.Status, res.DeclaredDifferences, res.Cause, strings.Join(res.Details, "\n"))
		}
		t.Logf("%s: %d objects, %d declared differences, notes %q", res.Cell, res.ComparedObjects, res.DeclaredDifferences, res.Notes)
	}
}

// TestNightlyGitLanes: a recipe with a chart and with manifests is the same through the Git lanes as through Helm: values
// from a file of the repository, charts that are directories of it, and the commit that was pushed.
func TestNightlyGitLanes(t *testing.T) {
	t.Parallel()
	got := smallRun(t, func(r *Runner) []Plan {
		return plansOf(t, r, "plain", deployers(t, bundle.Helm, bundle.ArgoCDGit, bundle.FluxGit)...)
	})
	for _, name := range []string{bundle.Helm, bundle.ArgoCDGit, bundle.FluxGit} {
		res := got["plain/"+name]
		if res.Status != result.Passed {
			t.Errorf("%s: got %s, %s: %s", name, res.Status, res.Reason, res.Cause)
			continue
		}
		if name == bundle.Helm {
			continue
		}
		if res.ComparedWith != bundle.Helm || res.ComparedObjects < 4 {
			t.Errorf("%s: compared %d objects with %q", name, res.ComparedObjects, res.ComparedWith)
		}
		content, err := os.ReadFile(filepath.Join(res.Artifacts, "logs", "registry.log"))
		if err != nil || !strings.Contains(string(content), "/aicr/plain.git/git-receive-pack 200 git/") || !strings.Contains(string(content), "/aicr/plain.git/git-upload-pack 200 ") {
			t.Errorf("%s: the log has no push, or no fetch: %v\n%s", name, err, content)
		}
	}
}

// TestNightlyReleaseTooMany: a release that the bundle does not have is one too many.
func TestNightlyReleaseTooMany(t *testing.T) {
	t.Parallel()
	got := smallRun(t, func(r *Runner) []Plan {
		const more = `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: smuggled, namespace: flux-system}
spec: {interval: 10m, suspend: true, chartRef: {kind: ExternalArtifact, name: none}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
`
		return plansOf(t, r, "nulls", edited{deployers(t, bundle.FluxOCI)[0], "apiVersion: helm.toolkit.fluxcd.io/v2\n", more})
	})
	res := got["nulls/flux-oci"]
	if res.Status != result.Failed || res.Reason != reason.DeployFailed {
		t.Fatalf("got %s, %s: %s", res.Status, res.Reason, res.Cause)
	}
	testkit.WantText(t, "cause", res.Cause, "HelmRelease flux-system/smuggled: unexpected (found")
}
