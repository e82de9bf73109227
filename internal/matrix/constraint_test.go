package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// versionOnly is a platform of which only the version is asked.
type versionOnly struct{ infra.Platform }

func (versionOnly) KubeVersion() string { return "v1.36.1" }
func (versionOnly) APIs() bundle.APIs   { return bundle.StackAPIs() }

// A constraint on the version is evaluated when a cell is planned, so that nothing is started; the
// others are notes.
func TestPlanConstraints(t *testing.T) {
	plan := func(constraints string) ([]Plan, error) {
		recipes, charts := newTinyRecipe().write(t)
		file := filepath.Join(recipes, "overlays", "tiny.yaml")
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(old), "spec:\n", "spec:\n  constraints: ["+constraints+"]\n", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		store, err := recipe.Open(os.DirFS(recipes), "R")
		if err != nil {
			t.Fatal(err)
		}
		source, err := catalog.FromDir(charts)
		if err != nil {
			t.Fatal(err)
		}
		r := &Runner{Platform: versionOnly{}, Inputs: Inputs{Store: store, Charts: source, Nodes: []simulate.NodeGroup{}}}
		return r.Plan("tiny", bundle.Deployers()[:1])
	}
	_, err := plan(`{name: K8s.server.version, value: ">= 1.99"}`)
	if reason.Of(err) != reason.ConstraintBroken || !strings.Contains(err.Error(), "constraint K8s.server.version >= 1.99 does not hold: the cell's API server is v1.36.1") {
		t.Errorf("got %v", err)
	}
	if at := result.PlaceOf(err); at.File != "R/overlays/tiny.yaml" || at.Line != 5 {
		t.Errorf("place: got %v, want R/overlays/tiny.yaml:5", at)
	}
	if _, err := plan(`{name: K8s.server.version, value: "~ 1.30"}`); reason.Of(err) != reason.Usage {
		t.Errorf("one that cannot be read: got %v, want USAGE", err)
	}
	plans, err := plan(`{name: K8s.server.version, value: ">= 1.30"}, {name: OS.release.ID, value: ubuntu}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(plans[0].notes, "\n"); !strings.HasPrefix(got, "constraint OS.release.ID ubuntu is not evaluated") {
		t.Errorf("notes: got %q", got)
	}
}
