package recipe

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"
)

func TestApplied(t *testing.T) {
	s := full(t)
	tests := map[string]struct {
		query Criteria
		want  string
	}{
		"nothing asked":                 {Criteria{}, "base observed"},
		"any asked":                     {Criteria{Service: Any, Accelerator: Any, Intent: Any, OS: Any, Platform: Any}, "base observed"},
		"any does not match a specific": {Criteria{Service: Any, Intent: "training"}, "base observed"},
		"one criterion":                 {Criteria{Service: "eks"}, "base observed eks"},
		"wildcard service":              {Criteria{Accelerator: "h100"}, "base observed h100-any"},
		"wildcard of another service":   {Criteria{Service: "aks", Accelerator: "h100"}, "base observed h100-any"},
		"least specific first":          {Criteria{Service: "eks", Intent: "training"}, "base observed eks eks-training"},
		"ties by name":                  {Criteria{Service: "eks", Intent: "training", Accelerator: "h100"}, "base observed eks h100-any eks-training h100-eks-training"},
		"chain of what matches":         {Criteria{Platform: "dynamo"}, "base observed gke gke-dynamo"},
		"unknown value":                 {Criteria{Service: "none", OS: "none", Nodes: 3}, "base observed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := s.Resolve(test.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.Metadata.AppliedOverlays, " "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCriteria(t *testing.T) {
	for _, test := range []struct {
		overlay, query Criteria
		want           bool
	}{
		{Criteria{}, Criteria{}, true},
		{Criteria{Nodes: 0}, Criteria{Nodes: 8}, true},
		{Criteria{Nodes: 8}, Criteria{Nodes: 8}, true},
		{Criteria{Nodes: 8}, Criteria{}, false},
		{Criteria{OS: Any}, Criteria{OS: "cos"}, true},
		{Criteria{OS: "cos"}, Criteria{OS: "rhel"}, false},
		{Criteria{OS: "cos"}, Criteria{OS: Any}, false},
		{Criteria{Platform: "nim"}, Criteria{Service: "nim"}, false},
	} {
		if got := test.overlay.Matches(test.query); got != test.want {
			t.Errorf("%+v matches %+v: %v", test.overlay, test.query, got)
		}
	}
	if got := (Criteria{Service: "eks", OS: Any, Nodes: 2}).Specificity(); got != 2 {
		t.Errorf("specificity %d, want 2", got)
	}
}

func TestEffectiveCriteria(t *testing.T) {
	s := full(t)
	o, _ := s.Overlay("gke-dynamo")
	if want := (Criteria{Service: "gke", Platform: "dynamo"}); o.Effective != want {
		t.Errorf("got %+v, want %+v", o.Effective, want)
	}
	r, err := s.ResolveName("gke-dynamo")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Metadata.AppliedOverlays, " "); got != "base observed gke gke-dynamo" {
		t.Errorf("got %s", got)
	}
	if want := (Criteria{Service: "gke", Accelerator: Any, Intent: Any, OS: Any, Platform: "dynamo"}); r.Criteria != want {
		t.Errorf("got %+v", r.Criteria)
	}
}

func TestMerge(t *testing.T) {
	r, err := full(t).ResolveName("h100-eks-training")
	if err != nil {
		t.Fatal(err)
	}
	wantConstraints := []Constraint{
		{Name: "GPU.count", Value: ">= 8", Origin: Origin{File: "recipes/overlays/h100-any.yaml", Line: 10}},
		{Name: "K8s.server.version", Value: ">= 1.30", Origin: Origin{File: "recipes/overlays/eks-training.yaml", Line: 13}},
		{Name: "OS.kernel", Value: ">= 5.15", Severity: "warning", Unit: "version", Origin: Origin{File: "recipes/overlays/base.yaml", Line: 9}},
		{Name: "OS.release", Value: "ubuntu", Origin: Origin{File: "recipes/mixins/os-ubuntu.yaml", Line: 7}},
	}
	if !reflect.DeepEqual(r.Constraints, wantConstraints) {
		t.Errorf("constraints: %+v", r.Constraints)
	}
	wantRefs := []ComponentRef{
		{Name: "cert-manager", Type: "Helm", Chart: "cert-manager", Version: "v1.17.2", Source: "https://charts.jetstack.io", Namespace: "cert-manager"},
		{
			Name: "gpu-operator", Type: "Helm", Chart: "gpu-operator", Version: "v25.10.2", Source: "https://helm.ngc.nvidia.com/nvidia", Namespace: "gpu-operator",
			ValuesFile: "components/gpu-operator/values-training.yaml",
			// rdma: null stays; the leaf wins over the mixin of its base
			Overrides:      map[string]any{"driver": map[string]any{"version": "580", "rdma": nil, "os": "ubuntu"}},
			DependencyRefs: []string{"tuning"},
			ManifestFiles:  []string{"components/gpu-operator/manifests/base.yaml", "components/gpu-operator/manifests/training.yaml"},
		},
		{Name: "monitoring", Type: "Helm", Chart: "monitoring", Version: "1.1.0", Source: "oci://example.com/charts", Namespace: "monitoring", Overrides: map[string]any{"enabled": false}},
		{Name: "tuning", Type: "Helm", Namespace: "tuning", Overrides: map[string]any{"profile": "h100"}, ManifestFiles: []string{"components/tuning/manifests/tuning.yaml"}},
	}
	if !reflect.DeepEqual(r.ComponentRefs, wantRefs) {
		t.Errorf("got  %+v\nwant %+v", r.ComponentRefs, wantRefs)
	}
	if got := strings.Join(r.DeploymentOrder, " "); got != "cert-manager monitoring tuning gpu-operator" {
		t.Errorf("order: %s", got)
	}
	wantValidation := map[string]any{
		"readiness":  map[string]any{"checks": []any{"nodes"}, "timeout": "5m"},
		"deployment": map[string]any{"checks": []any{"training"}},
	}
	if !reflect.DeepEqual(r.Validation, wantValidation) {
		t.Errorf("validation: %+v", r.Validation)
	}
}

// A mixin wins over the overlay that names it, and loses to a more specific overlay.
func TestMixin_MergedAfterItsOverlay(t *testing.T) {
	r, err := full(t).ResolveName("eks-training")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.ComponentRefs, func(c ComponentRef) bool { return c.Name == "gpu-operator" })
	if got := r.ComponentRefs[i].Overrides["driver"].(map[string]any)["version"]; got != "from-mixin" {
		t.Errorf("driver.version is %v", got)
	}
}

func TestRegistryDefaults(t *testing.T) {
	r, err := full(t).ResolveName("gke")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]ComponentRef{
		"bare":       {Name: "bare", Type: "Helm", Namespace: "bare-system", ManifestFiles: []string{"components/tuning/manifests/tuning.yaml"}},
		"customized": {Name: "customized", Type: "Kustomize", Source: "https://example.com/customized.git", Path: "deploy", Tag: "v3"},
	}
	for _, ref := range r.ComponentRefs {
		if w, ok := want[ref.Name]; ok && !reflect.DeepEqual(ref, w) {
			t.Errorf("got %+v, want %+v", ref, w)
		}
		delete(want, ref.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestResolveUnknownName(t *testing.T) {
	s := full(t)
	for name, want := range map[string]string{"eks-trainin": "eks-training", "h100-eks-trainning": "h100-eks-training", "EKS-Training": "eks-training", "./r/overlays/eks-training.yaml": "eks-training", "zzz": ""} {
		_, err := s.ResolveName(name)
		var unknown *unknownRecipeError
		if !errors.As(err, &unknown) {
			t.Fatalf("%s: %v", name, err)
		}
		if unknown.Name != name || unknown.Suggestion != want || !slices.Equal(unknown.Known, s.Names()) {
			t.Errorf("%s: %+v", name, unknown)
		}
		if want == "" {
			want = "h100-any, h100-eks-training" // part of the list of all
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
}

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		deps map[string]string
		want string // or the error, if it has a colon
	}{
		"alphabetical":          {map[string]string{"c": "", "a": "", "b": ""}, "a b c"},
		"a late start":          {map[string]string{"a": "z", "b": "", "z": ""}, "b z a"},
		"smallest that is free": {map[string]string{"a": "m", "m": "", "n": "", "z": "m"}, "m a n z"},
		"named twice":           {map[string]string{"a": "b b", "b": ""}, "b a"},
		"cycle":                 {map[string]string{"a": "", "d": "c", "c": "b", "b": "d", "aa": "d", "e": "a"}, "f.yaml:7: the dependencies form a cycle: b -> d -> c -> b; remove one of them"},
		"itself":                {map[string]string{"a": "a"}, "f.yaml:7: the dependencies form a cycle: a -> a; remove one of them"},
		"unknown":               {map[string]string{"a": "b"}, `f.yaml:7: component "a" depends on "b", which is not in this recipe (a -> b); add it to an overlay of the recipe or remove the dependency`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &merged{components: map[string]*mergedComponent{}}
			for c, deps := range test.deps {
				m.components[c] = &mergedComponent{depends: Origin{File: "f.yaml", Line: 7}, ref: ComponentRef{Name: c, DependencyRefs: strings.Fields(deps)}}
			}
			order, err := m.order()
			got := strings.Join(order, " ")
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// The error of a fault that depends on the query still has a place.
func TestResolve_DependencyOutsideRecipe(t *testing.T) {
	fsys := minimal(t)
	overlay := string(fsys["overlays/base.yaml"].Data)
	fsys["overlays/base.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(overlay, "    - name: cert-manager\n", "", 1))}
	_, err := open(t, fsys).ResolveName("eks")
	var fileError *FileError
	if !errors.As(err, &fileError) || fileError.File != "recipes/overlays/base.yaml" || fileError.Line != 12 {
		t.Errorf("got %v", err)
	}
}

func TestDeterministic(t *testing.T) {
	var first []byte
	for range 50 {
		s := full(t)
		r, err := s.ResolveName("h100-eks-training")
		if err != nil {
			t.Fatal(err)
		}
		data, err := r.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Fatalf("two resolutions differ:\n%s\n%s", first, data)
		}
	}
}

func TestYAML(t *testing.T) {
	r, err := full(t).Resolve(Criteria{Service: "eks"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.YAML()
	if err != nil {
		t.Fatal(err)
	}
	const start = `apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeResult
metadata:
  appliedOverlays:
  - base
  - observed
  - eks
criteria:
  accelerator: any
  intent: any
  os: any
  platform: any
  service: eks
constraints:
- name: K8s.server.version
`
	if !strings.HasPrefix(string(data), start) {
		t.Errorf("got\n%s", data)
	}
	var back Result
	if err := yaml.UnmarshalStrict(data, &back); err != nil {
		t.Fatal(err)
	}
	for i := range back.Constraints { // a document does not say where its parts come from
		back.Constraints[i].Origin = r.Constraints[i].Origin
	}
	back.validationLines = r.validationLines
	if !reflect.DeepEqual(&back, r) {
		t.Errorf("the document reads back as %+v, not %+v", back, *r)
	}
}

// Results belong to the caller: changing one changes neither the store nor another result.
func TestResults_NoSharedMemory(t *testing.T) {
	resolve := func(s *Store) (*Result, []Component) {
		r, err := s.ResolveName("h100-eks-training")
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Components(r)
		if err != nil {
			t.Fatal(err)
		}
		return r, c
	}
	want, wantComponents := resolve(full(t))
	s := full(t)
	spoiled, components := resolve(s)
	spoiled.ComponentRefs[1].Overrides["driver"].(map[string]any)["version"] = "spoiled"
	spoiled.ComponentRefs[1].ManifestFiles[0] = "spoiled"
	spoiled.Validation["readiness"].(map[string]any)["checks"].([]any)[0] = "spoiled"
	for _, c := range components {
		clear(c.Values)
		for i := range c.NodeScheduling.System.NodeSelectorPaths {
			c.NodeScheduling.System.NodeSelectorPaths[i] = "spoiled"
		}
	}
	got, gotComponents := resolve(s)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotComponents, wantComponents) {
		t.Error("changing a result changed the store")
	}
}

func TestConcurrentUse(t *testing.T) {
	s := full(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := s.ResolveName("h100-eks-training")
			if err == nil {
				_, err = s.Components(r)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestCriteriaValues(t *testing.T) {
	got := full(t).CriteriaValues()
	want := map[string][]string{"service": {"eks", "gke"}, "accelerator": {"h100"}, "intent": {"training"}, "platform": {"dynamo"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

// The recipes that this repository ships.
func TestShippedRecipes(t *testing.T) {
	s, err := Open(os.DirFS("../../recipes"), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Names()) == 0 {
		t.Fatal("there are none")
	}
	for _, name := range s.Names() {
		r, err := s.ResolveName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		components, err := s.Components(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(components) == 0 {
			t.Errorf("%s has no components", name)
		}
		if _, err := s.Hydrate(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
