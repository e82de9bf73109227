package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
)

// keptVerdicts is a store in which the cells of a run have passed, as the run itself would have
// kept them.
func keptVerdicts(t *testing.T, recipes []string, deployers ...string) string {
	t.Helper()
	dir := t.TempDir()
	a := &app{App: cli.New(func(name string) string { return map[string]string{"AICR_ACTION_CACHE": t.TempDir()}[name] }, &strings.Builder{}, &strings.Builder{})}
	if err := a.Open(); err != nil {
		t.Fatal(err)
	}
	this, err := a.prepareRun(t.Context(), recipes, runFlags{deployers: deployers, bundles: bundlerFlags{bundler: builtinBundler}, sourceFlags: sourceFlags{charts: []string{cli.Simulated}, recipes: cli.RecipeDirs{Recipes: "embedded"}}})
	if err != nil {
		t.Fatal(err)
	}
	runner, plans := this.runner, this.plans
	u, err := a.reuser(dir, "5eed5eed")
	if err != nil {
		t.Fatal(err)
	}
	var results []result.Result
	for _, p := range plans {
		r := runner.NotRun(p.Cell, result.Verdict{Status: result.Passed})
		r.Pods, r.Started, r.Duration = 7, time.Now().UTC(), time.Minute
		results = append(results, r)
	}
	if kept, problems := u.Keep(t.Context(), runner, plans, results); kept != len(plans) || problems != nil {
		t.Fatalf("kept %d of %d: %q", kept, len(plans), problems)
	}
	return dir
}

// A run whose cells have all passed before starts nothing, and every report says whose verdicts
// they are.
func TestReuse(t *testing.T) {
	store := keptVerdicts(t, []string{"eks", "eks-training"}, "helm", "flux-oci")
	out := t.TempDir()
	env := []string{"AICR_ACTION_RECIPES_DIR=embedded"}
	summary, page := filepath.Join(out, "summary.md"), filepath.Join(out, "report.html")
	got := invoke(t, env, "run", "eks", "eks-training", "--deployer", "helm,flux-oci", "--reuse", store, "--results", out, "--summary", summary, "--html", page, "--junit", filepath.Join(out, "junit.xml"))
	got.want(t, 0, "reuse: 4 of 4 cells passed already with the same inputs, and 0 run")
	wantText(t, "stdout", got.stdout, "↻ reused, 7 pods", "reused: passed in run 5eed5eed on ", "4 cells: 0 passed, 4 reused")
	for _, file := range []string{summary, page, filepath.Join(out, "junit.xml"), filepath.Join(out, report.FileName)} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, file, string(raw), "passed in run 5eed5eed on ")
	}
	back, err := report.Read(filepath.Join(out, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if !back.Green() || back.Results[0].Status != result.Reused || back.Results[0].Reused == nil {
		t.Errorf("read back: green %t, %+v", back.Green(), back.Results[0])
	}

	invoke(t, env, "why-run", "eks/helm", "--reuse", store).wantOut(t, 0, "eks/helm is reused: passed in run 5eed5eed on ")
	invoke(t, env, "why-run", "eks/helm", "--reuse", store, "--data", dataDirectory(t)).wantOut(t, 0, "eks/helm runs: changed since helm passed (run 5eed5eed): component cert-manager: values\n", "  changed: component cert-manager: values\n")
	invoke(t, env, "why-run", "eks/helm", "--reuse", store, "-o", "json").wantOut(t, 0, `"runs": false`, `"component cert-manager: chart": "`)
	invoke(t, env, "why-run", "eks/helm", "--reuse", t.TempDir()).wantOut(t, 0, "eks/helm runs: helm has not passed in a run that kept it")
}

// Recipes that run for one reason have one line.
func TestReasonLines(t *testing.T) {
	const first, changed = "helm has not passed in a run that kept it", "changed since helm passed (run 1): harness"
	got := reasonLines([]matrix.Unkept{{Recipe: "a", Why: first}, {Recipe: "b", Why: first}, {Recipe: "c", Why: changed}, {Recipe: "d", Why: first}, {Recipe: "e", Why: first}, {Recipe: "f", Why: first}})
	if want := "  a, b, d, and 2 more: " + first + "\n  c: " + changed + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// wantOut is want for what is on stdout.
func (r invocationResult) wantOut(t *testing.T, code int, parts ...string) {
	t.Helper()
	r.want(t, code)
	wantText(t, "stdout", r.stdout, parts...)
}

func TestReuse_Invalid(t *testing.T) {
	env := []string{"AICR_ACTION_RECIPES_DIR=embedded"}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	invoke(t, env, "run", "eks", "-d", "helm", "--reuse", file).want(t, 2, "--reuse: store of verdicts "+file)
	invoke(t, env, "run", "eks", "-d", "helm", "--reuse", t.TempDir(), "--keep").want(t, 2, "--keep and --reuse exclude each other")
	invoke(t, env, "why-run", "eks", "--reuse", t.TempDir()).want(t, 2, `cell "eks": want RECIPE/DEPLOYER`)
	invoke(t, env, "why-run", "eks/helm").want(t, 2, "why-run needs --reuse DIR")
	invoke(t, env, "why-run", "eks/rsync", "--reuse", t.TempDir()).want(t, 2, "rsync")
}
