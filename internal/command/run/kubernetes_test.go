package run

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// floor is another version for each recipe of a sweep, in its cells, in its results and in the
// command that runs one again; newest is the same for all, and so is floor where operators run. One
// that allows no version is skipped, as without the flag.
func TestKubernetes_EachRecipe(t *testing.T) {
	recipes := recipesCopy(t)
	allowed := regexp.MustCompile(`(name: K8s\.server\.version\s+value: ).*`)
	constrain := func(overlay, value string) {
		t.Helper()
		file := filepath.Join(recipes, "overlays", overlay+".yaml")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := allowed.ReplaceAllString(string(raw), "${1}'"+value+"'")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil || text == string(raw) {
			t.Fatalf("%s: not changed (%v)", file, err)
		}
	}
	constrain("aks", ">= 1.35")
	constrain("oke", ">= 1.99")
	for _, c := range []struct{ kubernetes, operators, eks, aks string }{
		{"floor", "simulated", "v1.34", "v1.35"}, {"newest", "simulated", "v1.37", "v1.37"}, {"1.36", "simulated", "v1.36", "v1.36"}, {"floor", "auto", "v1.36", "v1.36"},
	} {
		t.Run(c.kubernetes+" "+c.operators, func(t *testing.T) {
			a := &app{App: cli.New(func(name string) string { return map[string]string{"AICR_ACTION_CACHE": t.TempDir()}[name] }, &strings.Builder{}, &strings.Builder{})}
			if err := a.Open(); err != nil {
				t.Fatal(err)
			}
			this, err := a.prepareRun(t.Context(), nil, runFlags{
				selection: selection{all: true}, deployers: []string{bundle.Helm}, bundles: bundlerFlags{bundler: builtinBundler}, platform: platform.Flags{Kubernetes: c.kubernetes, Operators: c.operators},
				sourceFlags: sourceFlags{charts: []string{cli.Simulated}, recipes: cli.RecipeDirs{Recipes: recipes}},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"eks": c.eks, "aks": c.aks}
			for _, p := range this.plans {
				minor, ok := want[p.Cell.Recipe]
				if !ok {
					continue
				}
				delete(want, p.Cell.Recipe)
				r := this.runner.NotRun(p.Cell, result.Verdict{Status: result.Passed})
				if got := semver.MajorMinor(r.Kubernetes); got != minor || !strings.Contains(r.Rerun, " --kubernetes "+minor[1:]) {
					t.Errorf("%s: got %s, rerun %q, want %s", p.Cell, r.Kubernetes, r.Rerun, minor)
				}
			}
			if len(want) > 0 {
				t.Errorf("not planned: %v", want)
			}
			broken := false
			for _, s := range this.skipped {
				broken = broken || s.Recipe == "oke" && s.Reason == reason.ConstraintBroken
			}
			if !broken {
				t.Errorf("oke is not skipped: %+v", this.skipped)
			}
			platforms := 1
			if c.eks != c.aks {
				platforms = 2
			}
			if got := len(this.platforms()); got != platforms || len(this.stacks()) != platforms {
				t.Errorf("got %d platforms and %d stacks, want %d", got, len(this.stacks()), platforms)
			}
		})
	}
}
