package recipe

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// asOf gives this project's recipes in the form of a release of AICR: of March, July, or a v1.3 that is made up of what is
// known of it.
func asOf(t *testing.T, release string) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS("../../test/recipes-march"), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../../test/recipes-march", filepath.FromSlash(name)))
		version := map[string]string{"March": "aicr.nvidia.com/v1alpha1", "July": "aicr.run/v1alpha2", "v1.3": "aicr.run/v1beta1"}[release]
		all[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(text), "aicr.nvidia.com/v1alpha1", version))}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if release == "v1.3" {
		insert(t, all, "registry.yaml", "  - name: ", "    class: core\n", 0)
		insert(t, all, "overlays/eks.yaml", "spec:", "  resolution: {strictDimensions: [os]}\n", 1)
	}
	return all
}

// insert puts lines behind those that begin with a text: behind all of a file, or as many as most says.
func insert(t *testing.T, all fstest.MapFS, name, behind, lines string, most int) {
	t.Helper()
	var b strings.Builder
	n := 0
	for line := range strings.Lines(string(all[name].Data)) {
		b.WriteString(line)
		if strings.HasPrefix(line, behind) && (most == 0 || n < most) {
			b.WriteString(lines)
			n++
		}
	}
	if n == 0 {
		t.Fatalf("%s has no line that begins with %q", name, behind)
	}
	all[name] = &fstest.MapFile{Data: []byte(b.String())}
}

// results are what the recipes resolve to, without lines.
func results(t *testing.T, s *Store) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, name := range s.Names() {
		r, err := s.ResolveName(name)
		if err != nil { // by the rules of a later release
			all[name] = "does not resolve"
			continue
		}
		components, err := s.Components(r)
		if err != nil {
			t.Fatal(err)
		}
		var made []any
		for _, c := range components {
			made = append(made, c.Name, c.Version, c.Namespace, c.Values, c.NodeScheduling, c.DependencyRefs)
		}
		all[name] = made
	}
	return all
}

// Fields and documents that nobody knows here, at twenty places of a recipes directory, are notes: one each, with a
// count and three places. What is known of the recipes is read as before. With strict fields they are errors.
func TestLenient(t *testing.T) {
	entries := 0
	for line := range strings.Lines(string(asOf(t, "March")["registry.yaml"].Data)) {
		if strings.HasPrefix(line, "  - name: ") {
			entries++
		}
	}
	mutate := func(t *testing.T, all fstest.MapFS) (fields []string) {
		field := func(name, behind, line, path string, most int) {
			insert(t, all, name, behind, line+"\n", most)
			fields = append(fields, path)
		}
		field("registry.yaml", "kind:", "schemaRevision: 3", "field schemaRevision ", 1)
		field("registry.yaml", "  - name: ", "    audience: {teams: [a]}", fmt.Sprintf("field components[].audience is not known to this release, and was left out; it may change what is deployed: with AICR's own CLI as the bundler, its bundle decides (%d places: recipes/registry.yaml:", entries), 0)
		field("registry.yaml", "    helm:", "      provenance: cosign", "field components[].helm.provenance ", 0)
		field("registry.yaml", "    healthCheck:", "      interval: 10s", "field components[].healthCheck.interval ", 0)
		field("registry.yaml", "    nodeScheduling:", "      budget: 3", "field components[].nodeScheduling.budget ", 0)
		field("registry.yaml", "      system:", "        affinityPaths: [affinity]", "field components[].nodeScheduling.system.affinityPaths ", 0)
		field("overlays/eks.yaml", "kind:", "owners: [a]", "field owners ", 1)
		field("overlays/eks.yaml", "spec:", "  lifecycle: beta", "field spec.lifecycle ", 1)
		field("overlays/eks-training.yaml", "  criteria:", "    fabric: efa", "field spec.criteria.fabric ", 1)
		field("overlays/eks-training.yaml", "    - name: K8s", "      rationale: why", "field spec.constraints[].rationale ", 1)
		field("overlays/eks-training.yaml", "    - name: gpu-operator", "      rollout: {maxSurge: 1}", "field spec.componentRefs[].rollout ", 1)
		field("overlays/base.yaml", "spec:", "  budgets: []", "field spec.budgets ", 1)
		field("mixins/os-ubuntu.yaml", "kind:", "audit: 1", "field audit ", 1)
		field("mixins/os-ubuntu.yaml", "spec:", "  conflictsWith: [os-cos]", "field spec.conflictsWith ", 1)
		field("mixins/platform-kubeflow.yaml", "    - name: ", "      signature: x", "field spec.componentRefs[].signature ", 1)
		version := strings.TrimSpace(strings.Split(string(all["registry.yaml"].Data), "apiVersion:")[1][:28])
		version = strings.Fields(version)[0]
		document := func(name, kind string, read bool) {
			all[name] = &fstest.MapFile{Data: []byte("apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: new}\nspec: {a: 1}\n")}
			if read {
				fields = append(fields, "documents of the kind "+kind+" ")
			}
		}
		document("overlays/policy.yaml", "RecipePolicy", true)
		document("mixins/set.yaml", "ComponentSet", true)
		document("overlays/deep/other.yaml", "FleetTemplate", true)
		document("catalog.yaml", "RecipeCatalog", false)
		document("policies/one.yaml", "AdmissionPolicySet", false)
		return fields
	}
	for _, release := range []string{"March", "July", "v1.3"} {
		t.Run(release, func(t *testing.T) {
			before, err := OpenLayer(Layer{FS: asOf(t, release), Root: "recipes", Lenient: true})
			if err != nil {
				t.Fatal(err)
			}
			files := asOf(t, release)
			fields := mutate(t, files)
			after, err := OpenLayer(Layer{FS: files, Root: "recipes", Lenient: true})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(before.Names(), after.Names()) || !reflect.DeepEqual(results(t, before), results(t, after)) {
				t.Error("what is known was read in another way")
			}
			text := func(note string) string { said, _, _ := strings.Cut(note, " ("); return said }
			notes := slices.DeleteFunc(after.Notes(), func(n string) bool {
				return slices.ContainsFunc(before.Notes(), func(b string) bool { return text(b) == text(n) })
			})
			for _, want := range fields {
				if n := len(slices.DeleteFunc(slices.Clone(notes), func(n string) bool { return !strings.HasPrefix(n, want) })); n != 1 {
					t.Errorf("%q: %d notes say so, want 1: %q", want, n, notes)
				}
			}
			if len(notes) != len(fields) {
				t.Errorf("%d notes, want %d: %q", len(notes), len(fields), notes)
			}
			if _, err := OpenLayer(Layer{FS: files, Root: "recipes"}); err == nil || !strings.Contains(err.Error(), `unknown field "audience"`) || !strings.Contains(err.Error(), `kind is "RecipePolicy" but must be`) {
				t.Errorf("with strict fields: got %v", err)
			}
		})
	}
}

// A misspelt field, a value of another type and a misspelt kind are errors all the same: whoever wrote them meant what
// is known.
func TestLenient_Mistakes(t *testing.T) {
	for name, test := range map[string]struct{ file, behind, line, want string }{
		"misspelt":         {"overlays/eks.yaml", "spec:", "  mixin: []", `unknown field "mixin" in spec: did you mean "mixins"?`},
		"another case":     {"registry.yaml", "  - name: gpu-operator", "    displayname: x", `unknown field "displayname" in components[`},
		"two edits":        {"registry.yaml", "    nodeScheduling:", "      accelerated: {nodeSelectorPahts: [a]}", `did you mean "nodeSelectorPaths"?`},
		"a type":           {"overlays/eks.yaml", "  criteria:", "    nodes: many", "spec.criteria.nodes must be a whole number"},
		"a list for a map": {"registry.yaml", "  - name: gpu-operator", "    podScheduling: [a]", "podScheduling must be a mapping, not a list"},
	} {
		t.Run(name, func(t *testing.T) {
			files := asOf(t, "July")
			insert(t, files, test.file, test.behind, test.line+"\n", 1)
			if strings.Contains(test.line, "displayname") {
				files[test.file].Data = []byte(strings.Replace(string(files[test.file].Data), "    displayName: GPU Operator\n", "", 1))
			}
			if _, err := OpenLayer(Layer{FS: files, Root: "recipes", Lenient: true}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	files := asOf(t, "July")
	files["overlays/x.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: aicr.run/v1alpha2\nkind: RecipeMetadat\nmetadata: {name: x}\n")}
	if _, err := OpenLayer(Layer{FS: files, Root: "recipes", Lenient: true}); err == nil || !strings.Contains(err.Error(), `kind is "RecipeMetadat" but must be "RecipeMetadata"`) {
		t.Errorf("a misspelt kind: got %v", err)
	}
	// What others need is missed.
	files = asOf(t, "March")
	files["overlays/eks.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: other/v1\nkind: FleetTemplate\n")}
	if _, err := OpenLayer(Layer{FS: files, Root: "recipes", Lenient: true}); err == nil || !strings.Contains(err.Error(), `recipes/overlays/eks.yaml:2: kind is "FleetTemplate" but must be`) || !strings.Contains(err.Error(), `base "eks" does not exist`) {
		t.Errorf("a base of another kind: got %v", err)
	}
	// A name that is near one which is there, too, is a name of its own.
	files = asOf(t, "July")
	insert(t, files, "overlays/eks.yaml", "spec:", "  constraint: [a]\n", 1)
	if s, err := OpenLayer(Layer{FS: files, Root: "recipes", Lenient: true}); err != nil || !strings.Contains(strings.Join(s.Notes(), "\n"), "field spec.constraint is not known") {
		t.Errorf("beside the known one: got %v", err)
	}
}
