package recipe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Overlays whose constraints do not hold are left out; one that replaces a broken constraint of its
// base is not.
func TestResolveMeasured(t *testing.T) {
	dir := t.TempDir()
	overlay := func(name, spec string) string {
		return "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: " + name + "}\nspec:\n" + spec
	}
	for name, text := range map[string]string{
		"registry.yaml":        "apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents: []\n",
		"overlays/base.yaml":   overlay("base", "  constraints: [{name: K8s.server.version, value: \">= 1.25\"}]\n"),
		"overlays/eks.yaml":    overlay("eks", "  criteria: {service: eks}\n  constraints:\n    - {name: K8s.server.version, value: \">= 1.34\"}\n"),
		"overlays/leaf.yaml":   overlay("leaf", "  base: eks\n  criteria: {service: eks, intent: training}\n  constraints: [{name: K8s.server.version, value: \">= 1.30\"}, {name: OS.release.ID, value: ubuntu}]\n"),
		"overlays/strict.yaml": overlay("strict", "  base: eks\n  criteria: {service: eks, intent: inference}\n"),
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(os.DirFS(dir), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(version string, c Criteria) (*Result, []LeftOut, []string, error) {
		return s.ResolveMeasured(c, Choices{}, func(c Constraint) (Reading, error) {
			if c.Name != "K8s.server.version" {
				return Reading{}, nil
			}
			holds, err := c.Holds(version)
			return Reading{Have: version, Found: true, Holds: holds}, err
		})
	}
	r, left, unmeasured, err := resolve("v1.33.5", Criteria{Service: "eks", Intent: "training"})
	if err != nil || !slices.Equal(r.Metadata.AppliedOverlays, []string{"base", "eks", "leaf"}) || len(left) != 0 || !slices.Equal(unmeasured, []string{"OS.release.ID"}) {
		t.Errorf("a leaf that replaces the constraint: got %+v, %v, %v, %v", r, left, unmeasured, err)
	}
	r, left, _, err = resolve("v1.33.5", Criteria{Service: "eks", Intent: "inference"})
	if err != nil || !slices.Equal(r.Metadata.AppliedOverlays, []string{"base"}) || len(left) != 2 ||
		left[0].String() != "overlay eks is left out: its constraint K8s.server.version >= 1.34 (recipes/overlays/eks.yaml:7) does not hold; the system has v1.33.5" {
		t.Errorf("got %+v, %v, %v", r, left, err)
	}
	if r, left, _, err = resolve("v1.35.0", Criteria{Service: "eks", Intent: "inference"}); err != nil || len(r.Metadata.AppliedOverlays) != 3 || len(left) != 0 {
		t.Errorf("got %+v, %v, %v", r, left, err)
	}
	if _, _, _, err = resolve("v1.20.0", Criteria{Service: "eks"}); err == nil || !strings.Contains(err.Error(), "no recipe is for this system: overlay base is left out: its constraint K8s.server.version >= 1.25") {
		t.Errorf("got %v", err)
	}
}
