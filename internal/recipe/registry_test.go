package recipe

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// newer is a directory as later releases of AICR write it: the component "store" has manifests in
// the registry, and fields that only AICR's own bundler acts on.
func newer(t *testing.T) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, content := range map[string]string{
		"registry.yaml": `apiVersion: aicr.nvidia.com/v1alpha1
kind: ComponentRegistry
components:
  - name: store
    testTier: deploy
    ownsCRDs: true
    hasSelfRefCRDs: true
    manifestsUseChartCRDs: true
    gkeCriticalPriority: true
    upgrades:
      file: components/store/upgrades.yaml
    storageClassPaths:
      - disk.storageClassName
    sharedStorageClassPaths:
      - shared.storageClassName
    manifestFiles:
      - components/store/manifests/quota.yaml
      - components/store/manifests/queue.yaml
    helm:
      defaultRepository: https://charts.example.com
      defaultChart: store
      defaultVersion: 1.2.3
      defaultNamespace: store
    nodeScheduling:
      system:
        nodeSelectorPaths: [nodeSelector]
        requireNodeSelector: true
        requireNodeSelectorIfStorageClassSet: true
    validations:
      - function: CheckDisk
        severity: error
        conditions:
          service: [eks, gke]
      - function: CheckName
        severity: warning
      - function: CheckAlways
        severity: error
`,
		"overlays/base.yaml":                    "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: base}\nspec:\n  componentRefs:\n    - name: store\n      manifestFiles: [components/store/manifests/queue.yaml, components/store/manifests/own.yaml]\n",
		"overlays/gke.yaml":                     "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: gke}\nspec: {criteria: {service: gke}}\n",
		"overlays/aks.yaml":                     "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: aks}\nspec: {criteria: {service: aks}}\n",
		"components/store/manifests/quota.yaml": "kind: Quota\n",
		"components/store/manifests/queue.yaml": "kind: Queue\n",
		"components/store/manifests/own.yaml":   "kind: Own\n",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

func store(t *testing.T, s *Store, recipe string) Component {
	t.Helper()
	r, err := s.ResolveName(recipe)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Components(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Name != "store" {
		t.Fatalf("got %v", all)
	}
	return all[0]
}

func TestManifestsOfTheRegistry(t *testing.T) {
	c := store(t, open(t, newer(t)), "aks")
	var got []string
	for _, m := range c.Manifests {
		got = append(got, strings.TrimSpace(string(m.Content)))
	}
	if want := []string{"kind: Queue", "kind: Own"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: the recipe's own, in place of the registry's", got, want)
	}
	if c := store(t, open(t, newer(t)), "gke"); len(c.Manifests) == 0 {
		t.Error("a recipe that names no manifests does not have the registry's")
	}
}

func TestManifestOfTheRegistryMissing(t *testing.T) {
	fsys := newer(t)
	delete(fsys, "components/store/manifests/quota.yaml")
	_, err := Open(fsys, "recipes")
	if want := `recipes/registry.yaml:17: manifest of component "store": recipes/components/store/manifests/quota.yaml: file does not exist`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestUndone(t *testing.T) {
	s := open(t, newer(t))
	for recipe, want := range map[string][]string{
		"gke": {"gkeCriticalPriority (recipes/registry.yaml:9)"},
		"aks": nil,
	} {
		c := store(t, s, recipe)
		got := c.Undone
		if n := len(c.Validations); n < 2 || c.Validations[0].Origin.Line != 30 || c.Validations[n-1].Function == "" {
			t.Errorf("%s: got the checks %v", recipe, c.Validations)
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %q, want %d sentences", recipe, got, len(want))
			continue
		}
		for i, w := range want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: got %q, want %q in it", recipe, got[i], w)
			}
		}
	}
}
