package recipe

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

func component(t *testing.T, s *Store, overlay, name string) Component {
	t.Helper()
	r, err := s.ResolveName(overlay)
	if err != nil {
		t.Fatal(err)
	}
	components, err := s.Components(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("%s has no %s", overlay, name)
	return Component{}
}

func TestComponentValues(t *testing.T) {
	c := component(t, full(t), "h100-eks-training", "gpu-operator")
	want := map[string]any{
		"driver": map[string]any{
			"enabled": true, "rdma": nil, "os": "ubuntu", "version": "580",
			"env": []any{map[string]any{"name": "B"}}, // lists replace
		},
		"toolkit":    map[string]any{"enabled": true},
		"daemonsets": map[string]any{"labels": map[string]any{}},
		"port":       int64(8080), "ratio": 0.5, "octal": int64(15), "day": "2025-01-02",
	}
	if !reflect.DeepEqual(c.Values, want) {
		t.Errorf("got  %#v\nwant %#v", c.Values, want)
	}
}

func TestComponentOrigins(t *testing.T) {
	c := component(t, full(t), "h100-eks-training", "gpu-operator")
	const values, training = "recipes/components/gpu-operator/values.yaml", "recipes/components/gpu-operator/values-training.yaml"
	const eks, leaf, mixin = "recipes/overlays/eks.yaml", "recipes/overlays/h100-eks-training.yaml", "recipes/mixins/os-ubuntu.yaml"
	want := map[string]Origin{
		"driver":            {File: leaf, Line: 15},
		"driver.enabled":    {File: values, Line: 3},
		"driver.env":        {File: training, Line: 2},
		"driver.os":         {File: mixin, Line: 14},
		"driver.rdma":       {File: eks, Line: 13}, // null, which removes the values below
		"driver.version":    {File: leaf, Line: 16},
		"toolkit":           {File: training, Line: 4},
		"toolkit.enabled":   {File: training, Line: 5},
		"daemonsets":        {File: values, Line: 8},
		"daemonsets.labels": {File: values, Line: 9}, // empty
		"port":              {File: values, Line: 10},
		"ratio":             {File: values, Line: 11},
		"octal":             {File: values, Line: 12, Written: "0o17"},
		"day":               {File: values, Line: 13},
	}
	if !reflect.DeepEqual(c.Origins, want) {
		t.Errorf("got  %v\nwant %v", c.Origins, want)
	}
	if c.Declared != (Origin{File: leaf, Line: 12}) {
		t.Errorf("declared at %s", c.Declared)
	}
}

func TestNearest(t *testing.T) {
	origins := map[string]Origin{"a": {File: "f", Line: 1}, "a.b": {File: "f", Line: 2}, "a.b.c.d": {File: "f", Line: 4}}
	for path, want := range map[string]int{"a": 1, "a.b": 2, "a.b.c": 2, "a.b.c.d": 4, "a.b.c.d.e": 4, "a.bc": 1, "a.x.y": 1, "b": 0, "": 0, "ab": 0} {
		got, ok := document.Nearest(origins, path)
		if got.Line != want || ok != (want != 0) {
			t.Errorf("%q: %v, %v", path, got, ok)
		}
	}
}

func TestComponents(t *testing.T) {
	s := full(t)
	r, err := s.ResolveName("eks-training")
	if err != nil {
		t.Fatal(err)
	}
	components, err := s.Components(r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range components {
		names = append(names, c.Name)
	}
	// monitoring is switched off, with gpu-operator's dependency on it.
	if got := strings.Join(names, " "); got != "cert-manager gpu-operator" {
		t.Errorf("components: %s", got)
	}
	if got := components[1].DependencyRefs; !slices.Equal(got, []string{"cert-manager"}) {
		t.Errorf("dependencies: %v", got)
	}
	certManager := components[0]
	if certManager.DisplayName != "Certificates" || !slices.Equal(certManager.ValueOverrideKeys, []string{"certmanager"}) || len(certManager.Values) != 0 {
		t.Errorf("cert-manager: %+v", certManager)
	}
	wantScheduling := NodeScheduling{
		System:         SchedulingPaths{NodeSelectorPaths: []string{"nodeSelector"}, TolerationPaths: []string{"tolerations"}},
		Accelerated:    SchedulingPaths{TaintStrPaths: []string{"taint"}},
		NodeCountPaths: []string{"replicas"},
	}
	if !reflect.DeepEqual(certManager.NodeScheduling, wantScheduling) {
		t.Errorf("scheduling: %+v", certManager.NodeScheduling)
	}
	wantManifests := []Manifest{
		{Path: "components/gpu-operator/manifests/base.yaml", File: "recipes/components/gpu-operator/manifests/base.yaml", Content: []byte("kind: {{ .Values.kind }}\n")},
		{Path: "components/gpu-operator/manifests/training.yaml", File: "recipes/components/gpu-operator/manifests/training.yaml", Content: []byte("kind: ConfigMap\n")},
	}
	if !reflect.DeepEqual(components[1].Manifests, wantManifests) {
		t.Errorf("manifests: %v", components[1].Manifests)
	}
	tuning := component(t, s, "h100-eks-training", "tuning")
	if !tuning.ManifestOnly() || tuning.Values["profile"] != "h100" || tuning.Origins["profile"].String() != "recipes/overlays/h100-eks-training.yaml:23" {
		t.Errorf("tuning: %+v", tuning)
	}
}

func TestComponentsErrors(t *testing.T) {
	change := func(from, to string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) {
			data := string(fsys["overlays/eks.yaml"].Data)
			fsys["overlays/eks.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(data, from, to, 1))}
		}
	}
	tests := map[string]struct {
		files  func(fstest.MapFS)
		result func(*Result)
		want   string
	}{
		"quoted switch": {
			files: change("spec:\n", "spec:\n  componentRefs:\n    - name: cert-manager\n      overrides:\n        enabled: \"false\"\n"),
			want:  `recipes/overlays/eks.yaml:9: overrides.enabled of component "cert-manager" is "false"; use true or false, without quotes`,
		},
		"nothing to deploy": {
			files: func(fsys fstest.MapFS) {
				data := string(fsys["registry.yaml"].Data)
				fsys["registry.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(data, "defaultChart: gpu-operator", "", 1))}
			},
			want: `recipes/overlays/base.yaml:11: component "gpu-operator" has neither a chart nor manifestFiles`,
		},
		"another directory's recipe": {
			result: func(r *Result) { r.Metadata.AppliedOverlays = []string{"base", "aks"} },
			want:   `the recipe applies overlay "aks", which recipes does not have`,
		},
		"component of another registry": {
			result: func(r *Result) {
				r.ComponentRefs = append(r.ComponentRefs, ComponentRef{Name: "x"})
				r.DeploymentOrder = append(r.DeploymentOrder, "x")
			},
			want: `recipes/registry.yaml: component "x" of the recipe is not in it`,
		},
		"not in the order": {
			result: func(r *Result) { r.DeploymentOrder = r.DeploymentOrder[1:] },
			want:   `component "cert-manager" is not in the recipe's deploymentOrder`,
		},
		"only in the order": {
			result: func(r *Result) { r.DeploymentOrder = append(r.DeploymentOrder, "x") },
			want:   `deploymentOrder names component "x"`,
		},
		"path out of the directory": {
			result: func(r *Result) { r.ComponentRefs[1].ManifestFiles = []string{"../secret"} },
			want:   `recipes/overlays/base.yaml:11: manifest of component "gpu-operator": path "../secret" is not a plain path`,
		},
		"values out of the directory": {
			result: func(r *Result) { r.ComponentRefs[1].ValuesFile = "/etc/passwd" },
			want:   `recipes/overlays/base.yaml:12: values file of component "gpu-operator": path "/etc/passwd" is not a plain path`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := minimal(t)
			if test.files != nil {
				test.files(fsys)
			}
			s := open(t, fsys)
			r, err := s.ResolveName("eks")
			if err != nil {
				t.Fatal(err)
			}
			if test.result != nil {
				test.result(r)
			}
			_, err = s.Components(r)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// Overrides merge among themselves before they merge with the values files, so a map over null is
// the map.
func TestOverridesMergeFirst(t *testing.T) {
	at := func(line int) Origin { return Origin{File: "f", Line: line} }
	leaf := func(v any, line int) *document.Tree { return &document.Tree{Origin: at(line), Leaf: v} }
	m := func(line int, fields map[string]*document.Tree) *document.Tree {
		return &document.Tree{Origin: at(line), Fields: fields}
	}
	overrides := document.MergeTrees(m(1, map[string]*document.Tree{"a": leaf(nil, 2)}), m(3, map[string]*document.Tree{"a": m(4, map[string]*document.Tree{"b": leaf("x", 5)})}))
	got := document.MergeTrees(m(6, map[string]*document.Tree{"a": m(7, map[string]*document.Tree{"c": leaf("y", 8)})}), overrides)
	if want := map[string]any{"a": map[string]any{"b": "x", "c": "y"}}; !reflect.DeepEqual(got.Value(), want) {
		t.Errorf("got %v", got.Value())
	}
	if want := map[string]Origin{"a": at(4), "a.b": at(5), "a.c": at(8)}; !reflect.DeepEqual(got.Origins(), want) {
		t.Errorf("got %v", got.Origins())
	}
}

func TestYAMLMergeKeysAndAliases(t *testing.T) {
	const doc = "common: &common\n  a: 1\n  b: 2\nuse:\n  <<: *common\n  b: 3\nagain: *common\nlist: [*common]\n"
	v, found := parseValues("f", []byte(doc))
	if len(found) > 0 {
		t.Fatal(found)
	}
	common := map[string]any{"a": int64(1), "b": int64(2)}
	want := map[string]any{"common": common, "use": map[string]any{"a": int64(1), "b": int64(3)}, "again": common, "list": []any{common}}
	if !reflect.DeepEqual(v.Value(), want) {
		t.Errorf("got %v", v.Value())
	}
	origins := v.Origins()
	for path, line := range map[string]int{"use": 4, "use.a": 2, "use.b": 6, "again": 7, "again.a": 2} {
		if origins[path].Line != line {
			t.Errorf("%s is on line %d, want %d", path, origins[path].Line, line)
		}
	}
}

func TestSelect(t *testing.T) {
	s := full(t)
	r, err := s.ResolveName("h100-eks-training")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := s.Hydrate(r)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(doc)), []string{"apiVersion", "components", "constraints", "criteria", "deploymentOrder", "kind", "metadata", "validation"}; !slices.Equal(got, want) {
		t.Errorf("fields: %v", got)
	}
	doc["labels"] = map[string]any{"kubernetes.io/os": "linux", "nvidia.com/gpu.count": map[string]any{"a": 1}}
	tests := map[string]any{
		"components.gpu-operator.values.driver.version": "580",
		".components.gpu-operator.values.driver.rdma":   nil,
		"..components.gpu-operator.version":             "v25.10.2",
		"components.gpu-operator.values.port":           int64(8080),
		"components.monitoring.values.enabled":          false,
		"components.tuning.manifestFiles.0":             "components/tuning/manifests/tuning.yaml",
		"deploymentOrder.3":                             "gpu-operator",
		"criteria.os":                                   Any,
		"metadata.name":                                 "h100-eks-training",
		"constraints.0.name":                            "GPU.count",
		"labels.kubernetes.io/os":                       "linux",
		"labels.nvidia.com/gpu.count.a":                 1,
		"":                                              doc,
		".":                                             doc,
	}
	for selector, want := range tests {
		got, err := document.Select(doc, selector)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v; want %v", selector, got, err, want)
		}
	}
	errors := map[string]string{
		"component":                                    `selecting "component": there is no "component" in the recipe; did you mean "components"? it has apiVersion, components, constraints,`,
		"components.gpu":                               `there is no "gpu" in components; it has cert-manager, gpu-operator, monitoring, tuning`,
		"components.gpu-operator.values.a.b":           `there is no "a" in components.gpu-operator.values; it has daemonsets, day,`,
		"components.gpu-operator.version.x":            `there is no "x" in components.gpu-operator.version; it is the value v25.10.2`,
		"deploymentOrder.4":                            `there is no "4" in deploymentOrder; it is a list of 4, numbered from 0`,
		"components..values":                           `there is no "" in components;`,
		"components.cert-manager.values.x":             `there is no "x" in components.cert-manager.values; it is empty`,
		"components.gpu-operator.values.driver.rdma.x": `it is null`,
	}
	for selector, want := range errors {
		if _, err := document.Select(doc, selector); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %s", selector, err, want)
		}
	}
	if _, ok := doc["components"].(map[string]any)["gpu-operator"].(map[string]any)["overrides"]; ok {
		t.Error("overrides are there beside the values that they are merged into")
	}
}

func TestDisplayOfRoots(t *testing.T) {
	for root, want := range map[string]string{"": "a/b", ".": "a/b", "/x": "/x/a/b", "../r": "../r/a/b"} {
		if got := document.FilesOf(Layer{FS: os.DirFS("."), Root: root}).Display("a/b"); got != want {
			t.Errorf("%q: %s", root, got)
		}
	}
}
