package bundle

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// Every recipe of this project must make a bundle for every deployer, with the simulated charts.
func TestShippedRecipes(t *testing.T) {
	const recipes, charts = "../../recipes", "../../kwok/charts"
	for _, dir := range []string{recipes, charts} {
		if _, err := fs.Stat(os.DirFS(dir), "."); err != nil {
			t.Skipf("no %s here", dir)
		}
	}
	store, err := recipe.Open(os.DirFS(recipes), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	source := FromFS(os.DirFS(charts), "simulated")
	for _, name := range store.Names() {
		t.Run(name, func(t *testing.T) {
			result, err := store.ResolveName(name)
			if err != nil {
				t.Fatal(err)
			}
			components, err := store.Components(result)
			if err != nil {
				t.Fatal(err)
			}
			in, err := Prepare(context.Background(), Input{
				Recipe: result, Components: components, Scheduling: KwokScheduling(), Charts: source,
				ChartRepository: "oci://127.0.0.1:5500/charts", PlainHTTP: true,
				RepoURL: "oci://127.0.0.1:5500/aicr/" + RecipeName(result), KubeVersion: "v1.36.1",
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range Deployers() {
				b := mustBundle(t, d, in)
				if len(b.Expectation.Releases) < len(components) {
					t.Errorf("%s: %d releases of %d components", d.Name(), len(b.Expectation.Releases), len(components))
				}
			}
			e := in.prepared.expectation
			t.Logf("%d releases, %d workloads, %d objects\n%s\n%s", len(e.Releases), len(e.Workloads), len(e.Objects), strings.Join(e.Overrides, "\n"), strings.Join(e.Warnings, "\n"))
		})
	}
}
