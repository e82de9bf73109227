package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
)

// pullRequest is a copy of this project's recipes in a git repository, on a branch that adds an
// overlay for an accelerator.
func pullRequest(t *testing.T) string {
	t.Helper()
	recipes := fewRecipes(t)
	top := filepath.Dir(recipes)
	git(t, top, "init", "--quiet", "--initial-branch=main")
	git(t, top, "add", "--all")
	git(t, top, "commit", "--quiet", "--message", "recipes")
	git(t, top, "checkout", "--quiet", "-b", "topic")
	h100(t, recipes)
	git(t, top, "add", "--all")
	git(t, top, "commit", "--quiet", "--message", "an overlay")
	return recipes
}

// runTier runs matrix run without a go command, so that what is chosen ends with code 12 before its
// first cell; it gives the results too.
func runTier(t *testing.T, args ...string) (invocationResult, *report.Report) {
	t.Helper()
	path, dir := os.Getenv("PATH"), t.TempDir()
	t.Setenv("PATH", gitOnly(t))
	r := invokeIn(t.Context(), t, t.TempDir(), nil, append([]string{"run", "--results", dir}, args...)...)
	t.Setenv("PATH", path)
	results, err := report.Read(filepath.Join(dir, report.FileName))
	if err != nil && !strings.Contains(err.Error(), "no such file") {
		t.Fatal(err)
	}
	return r, results
}

func cellsOf(r *report.Report) string {
	if r == nil {
		return "no report"
	}
	var cells []string
	for i := range r.Results {
		cells = append(cells, r.Results[i].Cell.String())
	}
	return strings.Join(cells, " ")
}

// The cells of a run with --tier are those that discover chooses, and stderr says why.
func TestRunTier(t *testing.T) {
	recipes := pullRequest(t)
	generic := "eks/helm eks/argocd-oci eks/argocd-helm-oci eks/flux-oci eks-training/helm eks-training/argocd-oci eks-training/argocd-helm-oci eks-training/flux-oci"
	for name, test := range map[string]struct {
		args  []string
		cells string
		want  []string
	}{
		"1":              {[]string{"--tier", "1"}, generic, []string{"tiers: 1   cells: 8   skipped: 0\n", "eks            helm,argocd-oci,argocd-helm-oci,flux-oci   tier 1   generic overlay"}},
		"1 in two lanes": {[]string{"--tier", "1", "--deployer", "flux-oci,helm"}, "eks/helm eks/flux-oci eks-training/helm eks-training/flux-oci", nil},
		"2":              {[]string{"--tier", "2", "--base", "main"}, "h100-eks-training/helm", []string{"compared with", "the merge base with --base main", "recipes/overlays/h100-eks-training.yaml (overlay h100-eks-training)"}},
		"auto":           {[]string{"--tier", "auto", "--base", "main"}, generic + " h100-eks-training/helm", []string{"tiers: 1 2   cells: 9"}},
		"3":              {[]string{"--tier", "3", "--deployer", "helm"}, "eks/helm eks-training/helm h100-eks-training/helm", []string{"tier 3", "overlay with a service"}},
		"a shard":        {[]string{"--tier", "3", "--deployer", "helm", "--shard", "2/3"}, "eks-training/helm", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, results := runTier(t, append(test.args, "--recipes-dir", recipes)...)
			r.want(t, 12, append(test.want, "TOOLCHAIN_MISSING")...)
			if got := cellsOf(results); got != test.cells {
				t.Errorf("cells:\ngot  %s\nwant %s", got, test.cells)
			}
		})
	}
}

// A change that reaches nothing is no pass and no failure: its own code, reports that say so, and a
// warning.
func TestRunTierNothing(t *testing.T) {
	recipes := pullRequest(t)
	dir := t.TempDir()
	outputs, notes, summary := filepath.Join(dir, "outputs"), filepath.Join(dir, "notes"), filepath.Join(dir, "summary.md")
	files := []string{"--recipes-dir", recipes, "--outputs", outputs, "--annotations", notes, "--summary", summary}
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"no change":      {[]string{"--tier", "2", "--base", "topic"}, []string{"--tier 2 has no cell for this change: nothing was checked"}},
		"an empty shard": {[]string{"--tier", "2", "--base", "main", "--shard", "2/2"}, []string{"--shard 2/2 is empty, since --tier 2 has fewer cells (1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, results := runTier(t, append(test.args, files...)...)
			r.want(t, 3, append(test.want, "exit code 3 (NOTHING_SELECTED)")...)
			if got := cellsOf(results); got != "" || results.Green() {
				t.Errorf("results: %q, green %v", got, results.Green())
			}
			wantFile(t, summary, "## ✗ AICR matrix: 0 cells", "No cell was run: nothing was checked.")
			wantFile(t, notes, "::warning title=NOTHING_SELECTED (3)::"+test.want[0])
			if got := outputsOf(t, outputs); got["conclusion"] != "neutral" || got["exit-code"] != "3" || got["exit-reason"] != "NOTHING_SELECTED" || got["total"] != "0" {
				t.Errorf("outputs: %v", got)
			}
		})
	}
	r, _ := runTier(t, "--tier", "2", "--base", "topic", "--recipes-dir", recipes, "-o", "json")
	if r.code != 3 || strings.TrimSpace(r.stdout) != "{\n  \"results\": []\n}" {
		t.Errorf("-o json: code %d, got %s", r.code, r.stdout)
	}
	// A recipe that the change affects, and that cannot be run, is different: a person must review
	// it.
	edit(t, filepath.Join(recipes, "overlays", "h100-eks-training.yaml"), "accelerator: h100", "accelerator: vr200")
	r, results := runTier(t, "--tier", "2", "--base", "main", "--recipes-dir", recipes)
	if r.code != 2 || cellsOf(results) != "h100-eks-training/helm" || results.Results[0].Status != result.Skipped {
		t.Errorf("code %d, want 2; cells %q\n%s", r.code, cellsOf(results), r.stderr)
	}
	wantText(t, "stderr", r.stderr, "no cell was run: nothing was checked", "(skipped)")
	r, results = runTier(t, "--tier", "3", "--recipes-dir", recipes)
	if r.code != 12 || !strings.HasSuffix(cellsOf(results), "h100-eks-training/helm h100-eks-training/argocd-oci h100-eks-training/argocd-helm-oci h100-eks-training/flux-oci") {
		t.Errorf("code %d, want 12; cells %q, want one in each lane to be skipped", r.code, cellsOf(results))
	}
}

func TestRunTierBadInput(t *testing.T) {
	for name, test := range map[string]struct{ args, want []string }{
		"with a recipe":     {[]string{"eks", "--tier", "1"}, []string{"--tier", "remove these arguments", "eks"}},
		"with --all":        {[]string{"--all", "--tier", "1"}, []string{"--tier and --all", "--tier 3"}},
		"no such tier":      {[]string{"--tier", "4"}, []string{`--tier "4"`, "1, 2, 3"}},
		"no tier":           {[]string{"--tier", ""}, []string{"--tier is empty"}},
		"base alone":        {[]string{"eks", "--base", "main"}, []string{"--base", "needs one of --tier and --from base"}},
		"recipes in binary": {[]string{"--tier", "2"}, []string{"--recipes-dir"}},
		"no base":           {[]string{"--tier", "2", "--base", "nonsense", "--recipes-dir", "../../recipes"}, []string{"nonsense"}},
	} {
		t.Run(name, func(t *testing.T) {
			invokeIn(t.Context(), t, t.TempDir(), nil, append([]string{"run"}, test.args...)...).want(t, 2, test.want...)
		})
	}
}
