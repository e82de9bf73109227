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
