package render

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/objects/deployment.yaml
var deployment string

// overlay has a base, a generator, patches of every kind, and the settings that Kustomize takes
// only from the outermost kustomization.
func overlay() KustomizationInput {
	return KustomizationInput{Dir: "app/prod", Files: map[string][]byte{
		"app/prod/kustomization.yaml": []byte(`namePrefix: prod-
namespace: web
buildMetadata: [managedByLabel]
resources: [../base]
configMapGenerator: [{name: settings, literals: [a=b]}]
patches:
- target: {kind: Deployment}
  patch: |-
    - {op: add, path: /spec/template/spec/nodeSelector, value: {disk: fast}}
- path: replicas.yaml
`),
		"app/prod/replicas.yaml":      []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n"),
		"app/base/kustomization.yaml": []byte("resources: [web.yaml]\n"),
		"app/base/web.yaml":           []byte(deployment),
	}}
}

func strategic(spec string) string {
	return fmt.Sprintf(`{"patch": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: %s}}\n"}`, spec)
}

func kustomizationBuilt(t *testing.T, in KustomizationInput) *KustomizationOutput {
	t.Helper()
	out, err := buildKustomization(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (out *KustomizationOutput) find(t *testing.T, kind string) *KustomizationObject {
	t.Helper()
	i := slices.IndexFunc(out.Objects, func(o KustomizationObject) bool { return o.Kind == kind })
	if i < 0 {
		t.Fatalf("no %s in %+v", kind, out.Objects)
	}
	return &out.Objects[i]
}

// The result is Kustomize's, each object has its file, and each patch what it decides.
func TestBuild(t *testing.T) {
	out := kustomizationBuilt(t, overlay())
	d, m := out.find(t, "Deployment"), out.find(t, "ConfigMap")
	if d.Name != "prod-web" || d.Namespace != "web" || d.From != "app/base/web.yaml" || !strings.Contains(d.YAML, "replicas: 3") || !strings.Contains(d.YAML, "managed-by: kustomize") || strings.Contains(d.YAML, "origin") {
		t.Errorf("got %+v", d)
	}
	if !strings.HasPrefix(m.Name, "prod-settings-") || m.From != "app/prod/kustomization.yaml" {
		t.Errorf("got %+v", m)
	}
	want := []KustomizationChange{{Patch: -1, File: "app/prod/kustomization.yaml", Field: "patches", Index: 0, Parts: []string{"nodeSelector"}}}
	if fmt.Sprint(d.Changed) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", d.Changed, want)
	}
}

// The recipe's patches come last, one after another, by the names of the base or of the result.
func TestPatches(t *testing.T) {
	in := overlay()
	in.Patches = []string{
		strategic("{tolerations: [{key: a}]}"), strategic("{tolerations: null, hostNetwork: true}"),
		`{"target": {"kind": "Deployment", "name": "prod-.*"}, "patch": "[{\"op\": \"remove\", \"path\": \"/spec/template/spec/nodeSelector\"}]"}`,
		`{"target": {"kind": "StatefulSet"}, "patch": "- {op: remove, path: /spec}"}`,
	}
	out := kustomizationBuilt(t, in)
	d := out.find(t, "Deployment")
	if strings.Contains(d.YAML, "tolerations") || strings.Contains(d.YAML, "nodeSelector") || !strings.Contains(d.YAML, "hostNetwork") || !strings.Contains(d.YAML, "managed-by: kustomize") || strings.Contains(d.YAML, "origin") || d.From != "app/base/web.yaml" {
		t.Errorf("got %s from %s", d.YAML, d.From)
	}
	// The first is hidden by the second, and the fourth is for nothing.
	if !slices.Equal(out.Unused, []int{0, 3}) {
		t.Errorf("unused: %v", out.Unused)
	}
	parts := map[int][]string{}
	for _, c := range d.Changed {
		parts[c.Patch] = c.Parts
	}
	if !slices.Equal(parts[1], []string{"hostNetwork", "tolerations"}) || !slices.Equal(parts[2], []string{"nodeSelector"}) || len(parts[3]) > 0 {
		t.Errorf("got %+v", d.Changed)
	}
	if again := kustomizationBuilt(t, in); fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", out) {
		t.Error("the second build is another")
	}
}

// Old forms of patches are traced too, and comments and order of the base stay what Kustomize makes
// of them.
func TestOldPatches(t *testing.T) {
	in := overlay()
	in.Files["app/prod/kustomization.yaml"] = []byte("resources: [../base]\npatchesStrategicMerge: [p.yaml]\npatchesJson6902:\n- {target: {group: apps, version: v1, kind: Deployment, name: web}, path: j.yaml}\nsortOptions: {order: fifo}\n")
	in.Files["app/prod/p.yaml"] = []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {tolerations: []}}}\n")
	in.Files["app/prod/j.yaml"] = []byte("- {op: add, path: /spec/template/spec/nodeName, value: n}\n")
	d := kustomizationBuilt(t, in).find(t, "Deployment")
	got := map[string]string{}
	for _, c := range d.Changed {
		got[c.Field] = strings.Join(c.Parts, " ")
	}
	if got["patchesStrategicMerge"] != "tolerations" || got["patchesJson6902"] != "nodeName" {
		t.Errorf("got %+v", d.Changed)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*KustomizationInput)
		want   string
	}{
		"a patch without its object": {func(in *KustomizationInput) {
			in.Patches = []string{strings.Replace(strategic("{}"), "name: web", "name: other", 1)}
		}, "no matches for Id Deployment.v1.apps/other"},
		"a patch that is none": {func(in *KustomizationInput) { in.Patches = []string{`{"patch": "x"}`} }, "unable to parse SM or JSON patch"},
		"a patch with a file":  {func(in *KustomizationInput) { in.Patches = []string{`{"path": "/etc/passwd"}`} }, "/etc/passwd"},
		"an unknown field":     {func(in *KustomizationInput) { in.Files["app/base/kustomization.yaml"] = []byte("resource: []\n") }, `unknown field "resource"`},
		"a plugin": {func(in *KustomizationInput) {
			in.Files["app/base/kustomization.yaml"] = []byte("generators: [g.yaml]\n")
			in.Files["app/base/g.yaml"] = []byte("apiVersion: x/v1\nkind: Evil\nmetadata: {name: e}\n")
		}, "external plugins disabled"},
		"a chart": {func(in *KustomizationInput) {
			in.Files["app/base/kustomization.yaml"] = []byte("helmCharts: [{name: x, repo: 'https://example.com'}]\n")
		}, "must specify --enable-helm"},
		"a cycle": {func(in *KustomizationInput) {
			in.Files["app/base/kustomization.yaml"] = []byte("resources: [../prod]\n")
		}, "cycle detected"},
		"a file of this machine": {func(in *KustomizationInput) {
			in.Files["app/base/kustomization.yaml"] = []byte("configMapGenerator: [{name: x, files: [/etc/passwd]}]\n")
		}, "/etc/passwd"},
		"no kustomization at all": {func(in *KustomizationInput) { in.Dir = "none" }, "none"},
	} {
		in := overlay()
		c.change(&in)
		_, err := buildKustomization(in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		} else if strings.Contains(err.Error(), filesDir+"/") || strings.Contains(err.Error(), topDir+"/") {
			t.Errorf("%s: the error names a place in memory: %v", name, err)
		}
	}
}

// A field's order, an annotation of its own and a Pod: what is not a Deployment.
func TestOtherKinds(t *testing.T) {
	in := KustomizationInput{Dir: ".", Files: map[string][]byte{
		"kustomization.yaml": []byte("resources: [all.yaml]\n"),
		"all.yaml": []byte(`apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {config.kubernetes.io/origin: mine}}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: c}
spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}
`),
	}, Patches: []string{`{"target": {"kind": "Pod|CronJob"}, "patch": "- {op: add, path: /metadata/labels, value: {a: b}}"}`, `{"target": {"kind": "CronJob"}, "patch": "- {op: add, path: /spec/jobTemplate/spec/template/spec/nodeName, value: n}"}`}}
	out := kustomizationBuilt(t, in)
	if c := out.find(t, "CronJob").Changed; len(c) != 1 || c[0].Patch != 1 || !slices.Equal(c[0].Parts, []string{"nodeName"}) {
		t.Errorf("got %+v", c)
	}
	if p := out.find(t, "Pod"); len(p.Changed) > 0 || p.From != "all.yaml" || len(out.Unused) > 0 {
		t.Errorf("got %+v, unused %v", p, out.Unused)
	}
}
