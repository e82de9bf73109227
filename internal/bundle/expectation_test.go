package bundle

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
)

func TestExpectation(t *testing.T) {
	in := fixture()
	for i := range in.Components {
		in.Components[i].Registered = recipe.Origin{File: "registry.yaml", Line: i + 7}
	}
	e := mustBundle(t, helmDeployer{}, in).Expectation

	if e.DefinitionBytes != 618 { // the CRDs of web and gpu, as testdata/golden/helm-template has them, without separators and sources
		t.Errorf("got %d bytes of definitions", e.DefinitionBytes)
	}
	var releases []string
	for _, r := range e.Releases {
		releases = append(releases, fmt.Sprintf("%s/%s %s %s local=%t after %s", r.Namespace, r.Name, r.Chart, r.ChartVersion, r.Local, strings.Join(r.DependsOn, ",")))
	}
	wantReleases := []string{
		"web-system/web web v1.4.0 local=false after ",
		"monitoring/monitor monitor 82.8.0 local=false after web",
		"gpu/gpu gpu v25.10.1 local=false after monitor,web",
		"gpu/gpu-post gpu-post 0.1.0 local=true after gpu",
		"tuning/tuning tuning 0.1.0 local=true after gpu,gpu-post",
	}
	if !reflect.DeepEqual(releases, wantReleases) {
		t.Errorf("releases:\n%s", strings.Join(releases, "\n"))
	}

	var workloads []string
	for _, w := range e.Workloads {
		line := fmt.Sprintf("%s %s/%s pods=%d node=%s hook=%t ephemeral=%t %s", w.Kind, w.Namespace, w.Name, w.Replicas, w.Node, w.Hook, w.Ephemeral, w.Template)
		for _, p := range w.SelectorPaths {
			line += fmt.Sprintf(" selector:%s(%s %s)", p.Path, p.Node, p.Origin)
		}
		for _, p := range w.TolerationPaths {
			line += fmt.Sprintf(" toleration:%s(%s)", p.Path, p.Node)
		}
		if w.Operator != "" {
			line += " operator:" + w.Operator
		}
		workloads = append(workloads, line)
	}
	slices.Sort(workloads)
	wantWorkloads := []string{
		"DaemonSet gpu/gpu-plugin pods=-1 node=accelerated hook=false ephemeral=false gpu/templates/all.yaml selector:daemonsets.nodeSelector(accelerated recipes/overlays/base.yaml:30) toleration:daemonsets.tolerations(accelerated)",
		"DaemonSet monitoring/monitor-exporter pods=-1 node= hook=false ephemeral=false monitor/templates/prometheus.yaml toleration:exporter.tolerations(system)",
		"DaemonSet tuning/tuning pods=-1 node=accelerated hook=false ephemeral=false tuning/templates/application.yaml selector:acceleratedNodeSelector(accelerated recipes/overlays/base.yaml:44) toleration:acceleratedTolerations(accelerated)",
		"Deployment gpu/gpu-operator pods=1 node=system hook=false ephemeral=false gpu/templates/all.yaml selector:operator.nodeSelector(system recipes/overlays/base.yaml:30) toleration:operator.tolerations(system)",
		"Deployment web-system/web pods=3 node=system hook=false ephemeral=false web/templates/deployment.yaml selector:nodeSelector(system recipes/overlays/base.yaml:12) toleration:tolerations(system)",
		"Deployment web-system/web-webhook pods=1 node=system hook=false ephemeral=false web/templates/deployment.yaml selector:webhook.nodeSelector(system recipes/components/web/values.yaml:7) toleration:webhook.tolerations(system)",
		"Job web-system/web-check pods=2 node= hook=true ephemeral=true web/templates/hooks.yaml",
		"Job web-system/web-prepare pods=1 node= hook=true ephemeral=false web/templates/hooks.yaml",
		"StatefulSet monitoring/prometheus-monitor pods=1 node=system hook=false ephemeral=false monitor/templates/prometheus.yaml selector:prometheus.spec.nodeSelector(system recipes/overlays/base.yaml:20) toleration:prometheus.spec.tolerations(system) operator:Prometheus monitoring/monitor",
	}
	if !reflect.DeepEqual(workloads, wantWorkloads) {
		t.Errorf("workloads:\n%s\nwant:\n%s", strings.Join(workloads, "\n"), strings.Join(wantWorkloads, "\n"))
	}

	var objects []string
	for _, o := range e.Objects {
		objects = append(objects, fmt.Sprintf("%s: %s %s/%s", o.Release, o.Object.GetKind(), o.Object.GetNamespace(), o.Object.GetName()))
	}
	for _, want := range []string{
		"web: CustomResourceDefinition /widgets.example.com",
		"web: Widget /web", // cluster-scoped by its definition, and rendered only because the chart's own CRD is served
		"web: ClusterRole /web",
		"web: ConfigMap web-system/one",
		"web: ConfigMap elsewhere/two",
		"gpu-post: ConfigMap gpu/gpu-post",
		"monitor: Prometheus monitoring/monitor",
	} {
		if !slices.Contains(objects, want) {
			t.Errorf("no object %q in\n%s", want, strings.Join(objects, "\n"))
		}
	}
	for _, o := range objects {
		if strings.Contains(o, "web-test") || strings.Contains(o, "web-cleanup") || strings.Contains(o, "prometheus-monitor") {
			t.Errorf("%s is not made by an installation", o)
		}
	}

	wantWarnings := []string{
		"gpu: scheduling path unused.nodeSelector (system) reaches no object of chart gpu v25.10.1 and gpu-post 0.1.0; registry.yaml:9 has the component's paths",
		"web and gpu both own CustomResourceDefinition widgets.example.com (with different content)",
	}
	if !reflect.DeepEqual(e.Warnings, wantWarnings) {
		t.Errorf("warnings %q", e.Warnings)
	}
}

// A value has the same meaning in each deployer's bundle: null removes a default, text with braces
// is text, and numbers stay numbers.
func TestValues_SameInEveryDeployer(t *testing.T) {
	e := mustBundle(t, helmDeployer{}, fixture()).Expectation
	for _, o := range e.Objects {
		a := o.Object.GetAnnotations()
		switch o.Object.GetKind() + "/" + o.Object.GetName() {
		case "Deployment/web":
			if a["removed"] != "gone" {
				t.Errorf("a null left the chart's default: %q", a["removed"])
			}
			if a["text"] != "kept as {{ .Release.Name }}, and\nover two lines\n" {
				t.Errorf("text became %q", a["text"])
			}
		case "DaemonSet/tuning":
			if a["profile"] != "{{ not a template }}" {
				t.Errorf("text became %q", a["profile"])
			}
		}
	}
	for _, w := range e.Workloads {
		for key := range w.PodSpec.NodeSelector {
			if strings.HasPrefix(key, steeringPrefix) {
				t.Errorf("%s is expected with the tracer's key %s", w.Name, key)
			}
		}
		if w.Name == "web" && (w.PodSpec.NodeSelector[NodeTypeLabel] != "system" || w.PodSpec.NodeSelector["kubernetes.io/os"] != "linux") {
			t.Errorf("web's node selector is %v", w.PodSpec.NodeSelector)
		}
	}
}

func TestBundle_Empty(t *testing.T) {
	none := fixture()
	none.Components = nil
	disabled := fixture()
	for i := range disabled.Components {
		disabled.Components[i].Overrides = map[string]any{"enabled": false}
	}
	noWorkload := fixture()
	noWorkload.Components = []recipe.Component{{
		ComponentRef: recipe.ComponentRef{Name: "only-config", Namespace: "x"},
		Manifests:    []recipe.Manifest{{Path: "a.yaml", Content: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")}},
	}}
	for name, in := range map[string]Input{"no component": none, "all disabled": disabled, "no workload": noWorkload} {
		for _, d := range Deployers() {
			if _, err := d.Bundle(context.Background(), placed(d, in)); !errors.Is(err, errEmpty) {
				t.Errorf("%s, %s: got %v, want ErrEmpty", name, d.Name(), err)
			}
		}
	}
}

// chartFS is a chart source with one chart "c" of one template.
func chartFS(template, values string) catalog.Source {
	return catalog.FromFS(fstest.MapFS{
		"c/Chart.yaml":            {Data: []byte("{apiVersion: v2, name: c, version: 1.0.0}")},
		"c/values.yaml":           {Data: []byte(values)},
		"c/templates/thing.yaml":  {Data: []byte(template)},
		"c/templates/daemon.yaml": {Data: []byte("{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {template: {spec: {containers: []}}}}")},
	}, "test")
}

func oneComponent(charts catalog.Source, paths recipe.NodeScheduling) Input {
	in := fixture()
	in.Charts = charts
	in.Components = []recipe.Component{{
		ComponentRef:   recipe.ComponentRef{Name: "c", Namespace: "ns", Chart: "c", Source: "https://example.com", Version: "1.0.0", ValuesFile: "components/c/values.yaml"},
		NodeScheduling: paths,
		Declared:       recipe.Origin{File: "recipes/overlays/o.yaml", Line: 5},
	}}
	return in
}

func TestRenderErrors(t *testing.T) {
	for _, test := range []struct{ name, template, want string }{
		{"template", "a: 1\nb: {{ .Values.no.such }}\n", "c/templates/thing.yaml:2:"},
		{"required", `{{ required "foo is needed" .Values.foo }}`, "foo is needed"},
		{"yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n", "c/templates/thing.yaml"},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}\n", "c/templates/thing.yaml: an object without apiVersion or kind"},
		{"no name", "apiVersion: v1\nkind: ConfigMap\n", "c/templates/thing.yaml: ConfigMap without metadata.name"},
		{"a name that YAML reads as a boolean", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n", "ConfigMap whose metadata.name is no text, but true"},
		{"a number for text", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    port: 80\n", "c/templates/thing.yaml:6: ConfigMap a: metadata.annotations.port is no text, but 80: put it in quotes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := helmDeployer{}.Bundle(context.Background(), oneComponent(chartFS(test.template, ""), recipe.NodeScheduling{}))
			var re *RenderError
			if !errors.As(err, &re) {
				t.Fatalf("got %v, want a RenderError", err)
			}
			for _, want := range []string{test.want, "recipes/overlays/o.yaml:5", "component c", "chart c 1.0.0", "components/c/values.yaml"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestRenderError_Manifest(t *testing.T) {
	in := fixture()
	m := &in.Components[3].Manifests[0]
	m.File, m.Content = "recipes/components/tuning/manifests/application.yaml", []byte("apiVersion: v1\nkind: ConfigMap\n")
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: ConfigMap\n": m.File + ":1: component tuning: chart tuning 0.1.0 does not render: " + m.File + ": ConfigMap without metadata.name",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: ConfigMap\nmetadata: {name: b}\n": m.File + ":5: component tuning: chart tuning 0.1.0 does not render: " + m.File + ": an object without apiVersion or kind",
		"{{ if not (lookup \"v1\" \"Secret\" \"x\" \"y\") }}{{ fail \"no Secret\" }}{{ end }}\n":            "no Secret; templates are rendered without a cluster, as Argo CD renders them, so that lookup finds nothing: set a value",
		"apiVersion: v1\nkind: ConfigMap\na: {{ .Values.no.such }}\n":                                       m.File + ":3: component tuning: chart tuning 0.1.0 does not render: template: " + m.File + ":3:",
	} {
		m.Content = []byte(text)
		if _, err := (helmDeployer{}).Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestKubeVersion(t *testing.T) {
	in := fixture()
	in.KubeVersion = "v1.20.0"
	if _, err := (helmDeployer{}).Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), "1.25") {
		t.Errorf("a chart for >= 1.25 rendered for 1.20: %v", err)
	}
	in.KubeVersion = "no version"
	if _, err := (helmDeployer{}).Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), "no version") {
		t.Errorf("got %v", err)
	}
}

func TestTrace(t *testing.T) {
	pod := func(scheduling string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: []\n" + scheduling
	}
	both := recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"s"}}, Accelerated: recipe.SchedulingPaths{NodeSelectorPaths: []string{"a"}}}
	for _, test := range []struct {
		name, template, values string
		paths                  recipe.NodeScheduling
		node                   NodeKind
		warning                string
	}{
		{"both kinds", pod("  nodeSelector: {{ merge .Values.s .Values.a | toJson }}"), "{s: {}, a: {}}", both, NodeAny, "c: Pod ns/p is steered to system nodes by s and to accelerated nodes by a: either is accepted"},
		{"one of two", pod("  nodeSelector: {{ .Values.a | toJson }}"), "{s: {}, a: {}}", both, NodeAccelerated, "scheduling path s (system) reaches no object"},
		{"through affinity", pod("  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{{ range $k, $v := .Values.s }}{key: {{ $k }}, operator: Exists},{{ end }}]}]}}}"), "{s: {}}",
			recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"s"}}}, NodeSystem, ""},
		{"the manifest's own label", pod("  nodeSelector: {aicr.nvidia.com/node-type: accelerated}"), "{}", recipe.NodeScheduling{}, NodeAccelerated, ""},
		{"no path", pod(""), "{}", recipe.NodeScheduling{}, NodeAny, ""},
		{"into a custom resource", "{apiVersion: x.y/v1, kind: Policy, metadata: {name: q}, spec: {sel: {{ .Values.s | toJson }}}}\n---\n" + pod(""), "{s: {}}",
			recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"s"}}}, NodeAny, ""},
		{"a chart that refuses unknown labels", `{{ if gt (len .Values.s) 1 }}{{ fail "one label only" }}{{ end }}` + pod("  nodeSelector: {{ .Values.s | toJson }}"), "{s: {}}",
			recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"s"}}}, NodeSystem, "could not be followed through chart c 1.0.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := mustBundle(t, helmDeployer{}, oneComponent(chartFS(test.template, test.values), test.paths)).Expectation
			for _, w := range e.Workloads {
				if w.Name == "p" && w.Node != test.node {
					t.Errorf("node %q, want %q", w.Node, test.node)
				}
			}
			warnings := strings.Join(e.Warnings, "\n")
			if test.warning == "" && warnings != "" || !strings.Contains(warnings, test.warning) {
				t.Errorf("warnings %q, want %q", warnings, test.warning)
			}
		})
	}
}

func TestPods(t *testing.T) {
	for doc, want := range map[string]int{
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {}}":                                  1,
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 0}}":                       0,
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {replicas: 3}}":                      3,
		"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a}}":                                             -1,
		"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {parallelism: 4}}":                          4,
		"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {completions: 2, parallelism: 4}}":          2,
		"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {completions: 2, suspend: true}}":           0,
		"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '@daily', jobTemplate: {}}}": 0,
		"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}":                                              1,
	} {
		objs, err := rendering.ParseDocuments(doc)
		if err != nil {
			t.Fatal(err)
		}
		w, ok, warning := workloadOf(Object{Object: objs[0]})
		if !ok || warning != "" || w.Replicas != want {
			t.Errorf("%s: %d pods, want %d (%t %s)", doc, w.Replicas, want, ok, warning)
		}
	}
}

// An error about a value of the wrong type is placed at the line that sets it, and one about a
// manifest at the manifest's.
func TestRenderError_Value(t *testing.T) {
	for name, test := range map[string]struct{ template, path, want string }{
		"type":   {"a: {{ add 1 .Values.driver.version | int }}{{ .Values.driver.version.major }}\n", "driver.version", "recipes/components/c/values.yaml:7: component c: chart c 1.0.0 does not render with its value of driver.version: "},
		"above":  {"a: {{ .Values.driver.version.major }}\n", "driver", "recipes/components/c/values.yaml:7: component c: chart c 1.0.0 does not render with its value of driver: "},
		"others": {"a: {{ .Values.driver.version.major }}\n", "other", "recipes/overlays/o.yaml:5: "},
	} {
		in := oneComponent(chartFS(test.template, ""), recipe.NodeScheduling{})
		in.Components[0].Values = map[string]any{"driver": map[string]any{"version": "1"}, "other": "x"}
		in.Components[0].Origins = map[string]recipe.Origin{test.path: {File: "recipes/components/c/values.yaml", Line: 7}}
		if _, err := (helmDeployer{}).Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), ": "+test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	text := "values don't meet the specifications of the schema(s) in the following chart(s):\nc:\n- at '/driver/version': got number, want string\n"
	c := &recipe.Component{Origins: map[string]recipe.Origin{"driver.version": {File: "f", Line: 3}, "sub.image": {File: "f", Line: 9}}}
	if at, path := valueIn(c, text); path != "driver.version" || at.Line != 3 {
		t.Errorf("of a schema: got %q at %v", path, at)
	}
	text = `template: c/charts/sub/templates/a.yaml:3:14: executing "c/charts/sub/templates/a.yaml" at <.Values.image.tag>: can't evaluate field tag in type string`
	if at, path := valueIn(c, text); path != "sub.image" || at.Line != 9 {
		t.Errorf("of a chart's chart: got %q at %v", path, at)
	}
}

// What a manifest makes is named by the recipe's file, with the line of the object or of a field of
// it. A chart's template keeps the name that Helm gives it.
func TestManifestsAreNamed(t *testing.T) {
	in := fixture()
	m := &in.Components[3].Manifests[0]
	m.File = "recipes/components/tuning/manifests/application.yaml"
	b, err := helmDeployer{}.Bundle(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for i := range b.Expectation.Workloads {
		w := &b.Expectation.Workloads[i]
		at, ok := w.Origin("spec")
		if local := w.Component == "tuning"; local != ok || local != (w.Template == m.File) {
			t.Errorf("%s %s: template %s, at %v", w.Kind, w.Name, w.Template, at)
		}
		if ok {
			named++
			if line := strings.Split(string(m.Content), "\n")[at.Line-1]; !strings.Contains(line, "spec:") {
				t.Errorf("%s %s is at %s: %q", w.Kind, w.Name, at, line)
			}
		}
	}
	if named == 0 {
		t.Error("no workload of a manifest")
	}
}
