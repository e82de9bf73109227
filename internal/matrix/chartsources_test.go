package matrix

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// madeBundle takes a cell to its bundle.
func madeBundle(t *testing.T, r *Runner, deployer string) *cellRun {
	t.Helper()
	deployers, err := bundle.ByName([]string{deployer})
	if err != nil {
		t.Fatal(err)
	}
	plans, err := r.Plan("eks", deployers)
	if err != nil {
		t.Fatal(err)
	}
	c := r.newCell(plans[0], NewLane(deployers[0]))
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	if err := c.describeCluster(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.env.Cluster.Down(t.Context()) // nothing of it was started
		_ = c.log.Close()
	})
	if err := c.makeBundle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// A result says of each component where its chart was found; if that is one place for all, its
// chart source says it already.
func TestChartSourcesOfAResult(t *testing.T) {
	r := unitRunner(t)
	r.Dir = t.TempDir()
	if got := madeBundle(t, r, bundle.Helm).result; len(got.ChartSources) > 0 || got.Charts != "simulated" {
		t.Errorf("one source: %q, %q", got.Charts, got.ChartSources)
	}
	mine := t.TempDir()
	if err := os.CopyFS(mine+"/k8s-ephemeral-storage-metrics", os.DirFS("../../kwok/charts/k8s-ephemeral-storage-metrics")); err != nil {
		t.Fatal(err)
	}
	own, err := catalog.FromDir(mine)
	if err != nil {
		t.Fatal(err)
	}
	r.Charts = charts.List{own, r.Charts}
	for _, deployer := range []string{bundle.Helm, bundle.FluxOCI} {
		got := madeBundle(t, r, deployer).result
		if got.Charts != "dir:"+mine+", simulated" || !slices.Contains(got.ChartSources, "k8s-ephemeral-storage-metrics: chart k8s-ephemeral-storage-metrics 1.19.2 from dir:"+mine) ||
			!slices.Contains(got.ChartSources, "kube-prometheus-stack: chart kube-prometheus-stack 84.4.0 from simulated") {
			t.Errorf("%s: %q, %q", deployer, got.Charts, got.ChartSources)
		}
		if len(got.Remarks(result.RemarkChartSources)) < 8 {
			t.Errorf("%s: only %q", deployer, got.ChartSources)
		}
	}
}

// With direct, the bundle names the recipe's own repositories, nothing is pushed but the bundle,
// and only these repositories are opened.
func TestDirectCharts(t *testing.T) {
	r := unitRunner(t)
	r.Dir = t.TempDir()
	want := &infra.Egress{Hosts: []string{"charts.jetstack.io:443"}}
	r.Direct = func(components []recipe.Component) (*infra.Egress, error) {
		if len(components) < 8 {
			t.Errorf("asked for %d components", len(components))
		}
		return want, nil
	}
	for deployer, parts := range map[string][]string{
		bundle.ArgoCDOCI: {"repoURL: https://charts.jetstack.io", "repoURL: oci://ghcr.io/nvidia/nvsentinel"},
		bundle.FluxOCI:   {"url: https://charts.jetstack.io", "url: oci://ghcr.io/nvidia\n"},
		bundle.Helm:      {"https://charts.jetstack.io", "oci://ghcr.io/nvidia"},
	} {
		c := madeBundle(t, r, deployer)
		var all strings.Builder
		for _, f := range c.env.Bundle.Files {
			all.Write(f.Content)
		}
		for _, part := range parts {
			if !strings.Contains(all.String(), part) {
				t.Errorf("%s: the bundle has no %q", deployer, part)
			}
		}
		if strings.Contains(all.String(), "/charts/cert-manager") || deployer == bundle.Helm && strings.Contains(all.String(), "--plain-http") {
			t.Errorf("%s: the bundle has charts of the cell's registry", deployer)
		}
		if n := strings.Count(all.String(), "insecure: true"); deployer == bundle.FluxOCI && n != 1 {
			t.Errorf("%s: %d sources without TLS, want the bundle's alone", deployer, n)
		}
		if !strings.HasSuffix(c.env.Input.TargetRevision, deployer) || c.env.Input.ChartRepository != "" {
			t.Errorf("%s: got %q at %q", deployer, c.env.Input.TargetRevision, c.env.Input.ChartRepository)
		}
		if !slices.Contains(c.plan.notes, directNote) {
			t.Errorf("%s: not verified: %q", deployer, c.plan.notes)
		}
		if !strings.Contains(strings.Join(c.env.Cluster.Sandbox(), "\n"), "charts.jetstack.io:443") {
			t.Errorf("%s: the cluster does not say what it opens", deployer)
		}
		for _, o := range c.result.Overrides {
			if strings.HasPrefix(o, "charts:") {
				t.Errorf("%s: override %q", deployer, o)
			}
		}
	}
}
