package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A component without a simulated chart is new in AICR, and no fault of the recipe: a sweep skips
// its recipe with the component's name, and never passes it. The cell fails if the recipe is named,
// if only another version is missing, or if a directory of charts should have the chart.
func TestUnsimulatedComponent(t *testing.T) {
	recipes := fewRecipes(t)
	registry := filepath.Join(recipes, "registry.yaml")
	raw, err := os.ReadFile(registry)
	if err != nil {
		t.Fatal(err)
	}
	entry := "\n  - name: lighthouse\n    helm: {defaultRepository: https://charts.example.com, defaultChart: beacon, defaultVersion: 7.0.0, defaultNamespace: lighthouse}\n"
	if err := os.WriteFile(registry, append(raw, entry...), 0o644); err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(recipes, "overlays", "eks-training.yaml")
	edit(t, overlay, "  componentRefs:\n", "  componentRefs:\n    - name: lighthouse\n")
	for name, test := range map[string]struct {
		args    []string
		skipped bool
	}{
		"all":                        {[]string{"--all"}, true},
		"a tier":                     {[]string{"--tier", "1"}, true},
		"all, any version":           {[]string{"--all", "--charts", "simulated-any-version"}, true},
		"named":                      {[]string{"eks", "eks-training"}, false},
		"with a directory of charts": {[]string{"--all", "--charts", t.TempDir(), "--charts", "simulated"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, results := runTier(t, append(test.args, "--deployer", "helm", "--recipes-dir", recipes)...)
			r.want(t, 12, "TOOLCHAIN_MISSING") // what is planned ends there; eks always is
			for _, c := range results.Results {
				skipped := c.Status == result.Skipped
				if want := test.skipped && c.Recipe == "eks-training"; skipped != want {
					t.Errorf("%s: %s, %s", c.Recipe, c.Status, c.Cause)
				}
				if skipped && (c.Reason != reason.BundleFailed || !strings.Contains(c.Cause, "no simulated chart for component lighthouse ("+filepath.ToSlash(overlay)+":") || !strings.Contains(c.Cause, "chart beacon 7.0.0)")) {
					t.Errorf("%s: %s", c.Reason, c.Cause)
				}
			}
		})
	}
	// If nothing else is left, the run is no pass.
	if err := os.Remove(overlay); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(recipes, "overlays", "eks.yaml"), "  componentRefs:\n", "  componentRefs:\n    - name: lighthouse\n")
	r, _ := runTier(t, "--all", "--deployer", "helm", "--recipes-dir", recipes)
	if r.code != 2 || !strings.Contains(r.stderr, "no cell was run: nothing was checked") {
		t.Errorf("code %d: %s", r.code, r.stderr)
	}
}

// Recipes are judged as wholes: the cells of one whose chart cannot be downloaded have failed, and the others run.
func TestRecipeWithoutItsChart(t *testing.T) {
	u := newUpstream(t, "127.0.0.1")
	u.twoComponents(t)
	overlays, head := filepath.Join(u.recipes, "overlays"), "kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata:\n  name: "
	component := "  componentRefs:\n    - {name: %s, type: Helm, valuesFile: components/%s/values.yaml}\n"
	for name, text := range map[string]string{
		"base": "base\nspec:\n" + strings.ReplaceAll(component, "%s", "kai-scheduler"),
		"eks":  "eks\nspec:\n  criteria: {service: eks}\n",
		"more": "more\nspec:\n  base: eks\n  criteria: {service: eks, intent: training}\n" + strings.ReplaceAll(component, "%s", "cert-manager"),
	} {
		if err := os.WriteFile(filepath.Join(overlays, name+".yaml"), []byte(head+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	invokeIn(t.Context(), t, t.TempDir(), nil, "charts", "lock", "--recipes-dir", u.recipes).want(t, 0)
	u.mu.Lock()
	for name := range u.files {
		if strings.HasPrefix(name, "cert-manager ") {
			delete(u.files, name)
		}
	}
	u.mu.Unlock()
	r, results := runTier(t, "eks", "more", "--charts", "upstream", "--deployer", "helm,flux-oci", "--recipes-dir", u.recipes)
	r.want(t, 12, "TOOLCHAIN_MISSING") // what is planned ends there
	if got := cellsOf(results); len(results.Results) != 4 {
		t.Fatalf("got %s", got)
	}
	for _, c := range results.Results {
		failed := c.Recipe == "more"
		if (c.Reason == reason.ChartDownloadFailed) != failed || failed && (c.Status != result.Infrastructure || !strings.Contains(c.Cause, "cert-manager v1.17.2")) {
			t.Errorf("%s: %s %s, %s", c.Cell, c.Status, c.Reason, c.Cause)
		}
	}
	// With no other recipe, nothing is started.
	invokeIn(t.Context(), t, t.TempDir(), nil, "run", "more", "--charts", "upstream", "--recipes-dir", u.recipes).want(t, 23, "cert-manager v1.17.2")
}
