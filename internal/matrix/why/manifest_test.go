package why

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

//go:embed testdata/objects/manifest.yaml
var manifest string

// A pod of a manifest: the line of the manifest is the source and the place to edit, of the one
// resource that no node has too.
func TestProvenance_Manifest(t *testing.T) {
	file := "recipes/components/comp/manifests/d.yaml"
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"a selector": {selecting(bundle.NodeTypeLabel, "accelerated", "disktype", "ssd"),
			[]string{"remove `disktype: ssd` in " + file + ":10", "nodeSelector disktype=ssd: in " + file + ":10"}},
		"memory": {requests("memory", "65Gi"),
			[]string{"ask for at most 64Gi memory in " + file + ":16", "memory: in " + file + ":16"}},
	} {
		w := testkit.Expected("Deployment", "d", 1, testkit.Acc)
		w.Template, w.Manifest = file, &recipe.Manifest{File: file, Content: []byte(manifest)}
		pod := wanting(selecting(bundle.NodeTypeLabel, "accelerated"))
		c.change(pod)
		w.PodSpec = pod.Spec
		e := explainPod(pod, &w, &observe.View{Nodes: zoned()})
		testkit.WantEach(t, name, append(slices.Clone(e.Edits), e.Sources...), c.want)
	}
}

// In files that know nothing of AICR, no label of AICR is offered in place of a selector.
func TestEdits_Plain(t *testing.T) {
	for plain, want := range map[bool]string{false: "change `role: gpu` to `aicr.nvidia.com/node-type: accelerated`", true: "remove `role: gpu`"} {
		w := testkit.Expected("Deployment", "d", 1, testkit.Acc)
		w.Plain = plain
		e := explainPod(wanting(selecting("role", "gpu")), &w, &observe.View{Nodes: zoned()})
		if len(e.Edits) != 1 || e.Edits[0][:len(want)] != want {
			t.Errorf("plain %t: %q, want %q", plain, e.Edits, want)
		}
	}
}

// What a chart renders is found in its template: the line of the field, or of what is above it.
func TestLocate_Template(t *testing.T) {
	text := "kind: Service\nmetadata: {name: other}\n---\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  ports:\n  - port: 80\n"
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Service", "metadata": map[string]any{"name": "s"}}}
	b := &bundle.Bundle{
		Installs:    []bundle.Install{{Release: bundle.Release{Name: "s"}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "c"}, Templates: []*chart.File{{Name: "templates/s.yaml", Data: []byte(text)}}}}},
		Expectation: bundle.Expectation{Objects: []bundle.Object{{Component: "comp", Release: "s", Template: "c/templates/s.yaml", Object: object}}},
	}
	components := []recipe.Component{{ComponentRef: recipe.ComponentRef{Name: "comp"}, Declared: recipe.Origin{File: "a.yaml", Line: 3}}}
	for cause, want := range map[string]string{
		`Service "s" is invalid: spec.ports[0].name: Required value`: "set in c/templates/s.yaml:9 (component declared in a.yaml:3)",
		`services "s" is forbidden: exceeded quota`:                  "set in c/templates/s.yaml:4 (component declared in a.yaml:3)",
		"timed out": "",
	} {
		all := []result.Finding{{Component: "comp", Cause: cause}}
		if Locate(components, b, all); strings.Join(all[0].Story, "; ") != want {
			t.Errorf("%s: got %q, want %q", cause, all[0].Story, want)
		}
	}
}

// What keeps a pod of a chart from a node has the line of the chart's template: of the field, or of
// what is above it.
func TestSources_Template(t *testing.T) {
	text := "kind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  template:\n    spec:\n      nodeSelector:\n        disktype: ssd\n      containers:\n      - name: c\n        resources:\n          limits: {nvidia.com/gpu: {{ .Values.gpus }}}\n"
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "c"}, Templates: []*chart.File{{Name: "templates/d.yaml", Data: []byte(text)}}}
	w := &bundle.Workload{Component: "comp", Kind: "Deployment", Namespace: "ns", Name: "d", Template: "c/templates/d.yaml", Chart: ch, Replicas: 1}
	w.PodSpec.NodeSelector = map[string]string{"disktype": "ssd"}
	w.PodSpec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("9")}}}}
	p := &provenance{w: w}
	for want, r := range map[string]Refusal{
		"nodeSelector disktype=ssd: c/templates/d.yaml:8;": {Kind: refusalNodeSelector, Key: "disktype", Wanted: "ssd"},
		"nvidia.com/gpu: c/templates/d.yaml:12;":           {Kind: refusalResource, Key: "nvidia.com/gpu"},
		"tolerations: c/templates/d.yaml:6;":               {Kind: refusalTaint},
	} {
		if lines, _ := p.sources(&r); len(lines) != 1 || !strings.HasPrefix(lines[0], want) {
			t.Errorf("got %q, want %q", lines, want)
		}
	}
	for what, want := range map[string]string{"selector": "in c/templates/d.yaml:7 (no value of the recipe reaches its selector)", "resources": "in c/templates/d.yaml:9 (no value"} {
		if got := p.templateOnly(what); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
}

// A finding gets the line of the manifest that has its object or the field in its cause, and else
// the line that declares its component.
func TestLocate(t *testing.T) {
	file := "recipes/components/comp/manifests/d.yaml"
	m := &recipe.Manifest{File: file, Content: []byte(manifest)}
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{"name": "d", "namespace": "ns"}, "spec": map[string]any{"replicas": int64(1)}}}
	chart := &unstructured.Unstructured{Object: map[string]any{"kind": "Service", "metadata": map[string]any{"name": "s"}}}
	e := &bundle.Expectation{Objects: []bundle.Object{{Component: "comp", Template: file, Manifest: m, Object: object}, {Component: "other", Template: "other/templates/s.yaml", Object: chart}}}
	components := []recipe.Component{
		{ComponentRef: recipe.ComponentRef{Name: "comp"}, Declared: recipe.Origin{File: "recipes/overlays/a.yaml", Line: 3}},
		{ComponentRef: recipe.ComponentRef{Name: "other"}, Declared: recipe.Origin{File: "recipes/overlays/a.yaml", Line: 7}},
	}
	release := &result.Ref{Kind: "HelmRelease", Name: "comp"}
	for name, c := range map[string]struct {
		finding result.Finding
		want    string
	}{
		"its object":                        {result.Finding{Object: &result.Ref{Kind: "Deployment", Namespace: "ns", Name: "d"}}, file + ":2"},
		"a field of an object":              {result.Finding{Component: "comp", Object: release, Cause: `HelmRelease comp: Deployment.apps "d" is invalid: spec.replicas: Invalid value: -1`}, file + ":6"},
		"a field without object":            {result.Finding{Component: "comp", Object: release, Cause: "failed to create typed patch object: .spec.replicas: field not declared in schema"}, file + ":6"},
		"a field of another type":           {result.Finding{Component: "comp", Object: release, Cause: `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number into Go struct field DeploymentSpec.spec.replicas of type int32`}, file + ":6"},
		"a typed patch":                     {result.Finding{Component: "comp", Object: release, Cause: `server-side apply failed for object ns/d apps/v1, Kind=Deployment: failed to create typed patch object (ns/d; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got &value.valueUnstructured{Value:"x"}`}, file + ":6"},
		"an object in words":                {result.Finding{Component: "comp", Object: release, Cause: "HelmRelease comp: Deployment/d not ready"}, file + ":2"},
		"an edit that it names":             {result.Finding{Component: "comp", Object: release, Cause: "HelmRelease comp: it waits for Deployment ns/d; edit: x: y in " + file + ":5"}, file + ":5"},
		"an edit of another file":           {result.Finding{Component: "comp", Object: release, Cause: "HelmRelease comp: it waits for Deployment ns/d; edit: x: y in other.yaml:5"}, file + ":2"},
		"an object by namespace":            {result.Finding{Component: "comp", Object: release, Cause: "Application comp: Deployment ns/d: failed to convert new object (ns/d; apps/v1, Kind=Deployment)"}, file + ":2"},
		"an object as the API server names": {result.Finding{Component: "comp", Object: release, Cause: `HelmRelease comp: deployments.apps "d" is forbidden: exceeded quota`}, file + ":2"},
		"an object with a longer name":      {result.Finding{Component: "comp", Object: release, Cause: "HelmRelease comp: Deployment/d-2 not ready"}, "recipes/overlays/a.yaml:3"},
		"of no object":                      {result.Finding{Component: "comp", Object: release, Cause: "timed out"}, "recipes/overlays/a.yaml:3"},
		"of a chart":                        {result.Finding{Component: "other", Cause: `Service "s" is invalid: spec.ports: Required value`}, "recipes/overlays/a.yaml:7"},
		"that has a place":                  {result.Finding{Component: "comp", Place: result.Place{File: "x", Line: 1}}, "x:1"},
		"of no component":                   {result.Finding{Cause: "no"}, ""},
		"of a component that is not listed": {result.Finding{Component: "none"}, ""},
	} {
		all := []result.Finding{c.finding}
		if Locate(components, &bundle.Bundle{Expectation: *e}, all); all[0].Place.String() != c.want {
			t.Errorf("%s: got %s, want %s", name, all[0].Place, c.want)
		}
	}
}

// Of a map of strings, Go's error names the map alone.
func TestRejectedField_Map(t *testing.T) {
	f, ok := readRejectedField(`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`)
	if !ok {
		t.Fatal("no field was read")
	}
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "x", "interval": int64(5)}}}
	if got := f.in(o); !slices.Equal(got, []string{"data", "interval"}) {
		t.Errorf("got %q", got)
	}
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: x\n  interval: 5\n"
	e := bundle.Expectation{Objects: []bundle.Object{{Component: "comp", Object: o, Manifest: &recipe.Manifest{File: "m.yaml", Content: []byte(text)}}}}
	all := []result.Finding{{Component: "comp", Cause: `Release comp: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`}}
	if Locate(nil, &bundle.Bundle{Expectation: e}, all); all[0].Place.String() != "m.yaml:7" {
		t.Errorf("got %s, want m.yaml:7", all[0].Place)
	}
}

// Neither Go's errors nor those of server-side apply have the index of a list's item.
func TestRejectedField_List(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "spec": map[string]any{"containers": []any{
		map[string]any{"name": "side", "env": []any{map[string]any{"name": "A", "value": "x"}}, "args": []any{"a"}},
		map[string]any{"name": "main", "env": []any{map[string]any{"name": "A", "value": "x"}, map[string]any{"name": "B.C", "value": int64(1)}}, "args": []any{"a", int64(2)},
			"ports": []any{map[string]any{"containerPort": int64(80), "name": true}}},
	}}}}
	for message, want := range map[string]string{
		`Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string`:              "spec containers 1 env 1 value",
		`json: cannot unmarshal number 1.5 into Go struct field Container.spec.containers.args of type string`:                                                                          "spec containers 1 args 1",
		`unable to decode "": json: cannot unmarshal bool into Go struct field ContainerPort.spec.containers.ports.name of type string`:                                                 "spec containers 1 ports 0 name",
		`failed to create typed patch object (b/b; apps/v1, Kind=Deployment): .spec.containers[name="main"].env[name="B.C"].value: expected string, got &value.valueUnstructured{}`:     "spec containers 1 env 1 value",
		`failed to create typed patch object (b/b; apps/v1, Kind=Deployment): .spec.containers[name="main"].ports[containerPort=80,protocol="TCP"].name: expected string, got &value.x`: "spec containers 1 ports 0 name",
		`failed to create typed patch object (b/b; apps/v1, Kind=Deployment): .spec.containers[name="main"].imagee: field not declared in schema`:                                       "spec containers 1 imagee",
	} {
		f, ok := readRejectedField(message)
		if got := strings.Join(f.in(o), " "); !ok || got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

// Where all versions of a definition have one schema, the API server's error has it where v1beta1 had it.
func TestRejectedField_Definition(t *testing.T) {
	const message = `Release comp: install chart comp 1.0.0: failed to install CRD crds/w.yaml: CustomResourceDefinition.apiextensions.k8s.io "w.example.com" is invalid: spec.validation.openAPIV3Schema.properties[spec].properties[size].default: Invalid value: 0: must be greater`
	f, ok := readRejectedField(message)
	if got := strings.Join(f.path, " "); !ok || got != "spec versions 0 schema openAPIV3Schema properties spec properties size default" {
		t.Errorf("got %q", got)
	}
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: w.example.com\nspec:\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            properties:\n              size:\n                minimum: 1\n                default: 0\n"
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "w.example.com"}}} // the head alone, as in an expectation
	e := bundle.Expectation{Objects: []bundle.Object{{Component: "comp", Object: o, Manifest: &recipe.Manifest{File: "w.yaml", Content: []byte(text)}}}}
	all := []result.Finding{{Component: "comp", Cause: message}}
	if Locate(nil, &bundle.Bundle{Expectation: e}, all); all[0].Place.String() != "w.yaml:15" {
		t.Errorf("got %s, want w.yaml:15", all[0].Place)
	}
}

// Pods that are to be apart, or together, are no value's: the line of the template's field is what decides.
func TestRefusedField(t *testing.T) {
	const text = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
spec:
  template:
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution: []
`
	w := testkit.Expected("Deployment", "d", 1, testkit.Acc)
	w.Manifest = &recipe.Manifest{File: "d.yaml", Content: []byte(text)}
	for kind, want := range map[RefusalKind]int{refusalSpread: 8, refusalAntiAffinity: 11, refusalTaint: 0} {
		line, place := refusedField(nil, []NodeGroup{{Refusals: []Refusal{{Kind: kind}}}}, &w)
		if place.Line != want || (line != "") != (want > 0) {
			t.Errorf("%s: got line %d (%s), want %d", kind, place.Line, line, want)
		}
	}
}
