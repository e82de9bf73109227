package intake

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// What this program and the CLI make of one recipe is compared: each difference is named with its path.
func TestCompare(t *testing.T) {
	store, err := recipe.Open(os.DirFS(march), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	own, err := store.ResolveName("eks-training")
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(theirs map[string]any)
		want   []string
	}{
		"the same":        {func(map[string]any) {}, nil},
		"what is not set": {func(r map[string]any) { r["criteria"].(map[string]any)["nodes"] = 0 }, nil},
		"another version": {func(r map[string]any) { first(r)["version"] = "v9" }, []string{"componentRefs[cert-manager].version is ", ` by this program and "v9" by AICR's CLI`}},
		"a value": {func(r map[string]any) {
			first(r)["overrides"] = map[string]any{"a": map[string]any{"b": nil, "c": false}}
		}, []string{"componentRefs[cert-manager].overrides is not set by this program", `{"a":{"b":null,"c":false}}`}},
		"a null": {func(r map[string]any) {
			first(r)["overrides"] = map[string]any{"a": nil}
		}, []string{"componentRefs[cert-manager].overrides", "null"}},
		"one less": {func(r map[string]any) { first(r); r["componentRefs"] = r["componentRefs"].([]any)[1:] }, []string{"componentRefs[cert-manager] is {", "and not set by AICR's CLI"}},
		"an order": {func(r map[string]any) {
			list := r["deploymentOrder"].([]any)
			list[0], list[1] = list[1], list[0]
		}, []string{"recipe: deploymentOrder is [", "A fault of this harness"}},
	} {
		t.Run(name, func(t *testing.T) {
			var theirs map[string]any
			if err := yaml.Unmarshal(text, &theirs); err != nil {
				t.Fatal(err)
			}
			tc.change(theirs)
			changed, err := yaml.Marshal(theirs)
			if err != nil {
				t.Fatal(err)
			}
			got, err := compareResolved(own, "recipe.yaml", changed)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 2*min(1, len(tc.want)) { // a difference, and what it means
				t.Errorf("differences %q, want %d", got, min(1, len(tc.want)))
			}
			for _, want := range tc.want {
				if !strings.Contains(strings.Join(got, "\n"), want) {
					t.Errorf("%q is not in %q", want, got)
				}
			}
		})
	}
}

// first is the component cert-manager.
func first(r map[string]any) map[string]any {
	refs := r["componentRefs"].([]any)
	for i, ref := range refs {
		if m := ref.(map[string]any); m["name"] == "cert-manager" {
			refs[0], refs[i] = refs[i], refs[0]
			return m
		}
	}
	panic("no cert-manager")
}

// The recipe that AICR's CLI resolves must have the overlay in it that the cell is called by, also with a value of
// its profile. What names no overlay, and another one's resolution, are no reason.
func TestApplied(t *testing.T) {
	own := &recipe.Result{}
	own.Metadata.Name, own.Metadata.AppliedOverlays = "b300-eks", []string{"base", "eks", "b300-eks"}
	flags := []string{"--service", "eks"}
	const stale = "metadata: {appliedOverlays: [base, eks]}"
	err := resolvedApplied(own, flags, []byte(stale))
	for _, want := range []string{"for --service eks it resolves a recipe without the overlay b300-eks, of the overlays base, eks", "--aicr build"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	own.Metadata.Name, own.Metadata.SelectedProfile = "b300-eks--dra", &recipe.ProfileSelected{Name: "gpu", Value: "DRA"}
	if err := resolvedApplied(own, flags, []byte(stale)); err == nil {
		t.Error("with a value of its profile, another recipe is taken")
	}
	for _, text := range []string{"metadata: {appliedOverlays: [base, b300-eks, eks]}", "metadata: {}", "{"} {
		if err := resolvedApplied(own, flags, []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	own.Metadata.Name, own.Metadata.SelectedProfile = "recipe", nil
	if err := resolvedApplied(own, flags, []byte(stale)); err != nil {
		t.Errorf("a recipe that only bundles are compared of: %v", err)
	}
}
