package bundle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// withManifest is the fixture with a component of one manifest, whose values are all on their own
// lines.
func withManifest(values map[string]any, origins map[string]recipe.Origin, spec string) Input {
	in := fixture()
	in.Components = []recipe.Component{{
		ComponentRef: recipe.ComponentRef{Name: "solo", Namespace: "solo"}, Values: values, Origins: origins,
		Manifests: []recipe.Manifest{{Path: "components/solo/d.yaml", Content: []byte(`{{- $v := index .Values "solo" }}
apiVersion: apps/v1
kind: Deployment
metadata: {name: solo}
spec:
  selector: {matchLabels: {app: solo}}
  template:
    metadata: {labels: {app: solo}}
    spec:
` + spec)}},
	}}
	in.Recipe.DeploymentOrder = []string{"solo"}
	return in
}

func sourcesOf(t *testing.T, in Input) []string {
	t.Helper()
	var lines []string
	for _, w := range mustBundle(t, helmDeployer{}, in).Expectation.Workloads {
		for _, v := range w.Values {
			lines = append(lines, fmt.Sprintf("%s %s %s=%s %s", w.Name, v.Field, v.Key, v.Path, v.Origin))
		}
	}
	return lines
}

// The values that decide where a pod may run are found in the rendering, not by their names.
func TestValueSources(t *testing.T) {
	values := map[string]any{
		"worker": map[string]any{
			"nodeSelector": map[string]any{"example.com/disk.type": "ssd", "zone": "a"},
			"resources":    map[string]any{"requests": map[string]any{"cpu": "100m"}, "limits": map[string]any{"nvidia.com/gpu": 16, "memory": "1Gi"}},
			"affinity": map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
				"nodeSelectorTerms": []any{map[string]any{"matchExpressions": []any{map[string]any{"key": "x", "operator": "Exists"}}}},
			}}},
		},
		"unused": map[string]any{"nodeSelector": map[string]any{"disk": "ssd"}},
		"gpus":   map[string]any{"limits": map[string]any{"count": 3}},
	}
	origins := map[string]recipe.Origin{}
	for i, path := range []string{
		"worker.nodeSelector.example.com/disk.type", "worker.resources.requests.cpu", "worker.resources.limits.nvidia.com/gpu", "worker.resources.limits.memory",
		"worker.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", "unused.nodeSelector.disk", "gpus.limits.count",
	} {
		origins[path] = recipe.Origin{File: "v.yaml", Line: i + 1}
	}
	in := withManifest(values, origins, `
      nodeSelector: {{ toYaml $v.worker.nodeSelector | nindent 8 }}
      affinity: {{ toYaml $v.worker.affinity | nindent 8 }}
      initContainers: [{name: i, image: x, resources: {limits: {example.com/chip: {{ $v.gpus.limits.count }}}}}]
      containers: [{name: c, image: x, resources: {{ toJson $v.worker.resources }}}]
`)
	want := []string{
		"solo limits example.com/chip=gpus.limits.count v.yaml:7",
		"solo affinity =worker.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms v.yaml:5",
		"solo nodeSelector example.com/disk.type=worker.nodeSelector.example.com/disk.type v.yaml:1", // zone has no origin: no file sets it
		"solo limits memory=worker.resources.limits.memory v.yaml:4",
		"solo limits nvidia.com/gpu=worker.resources.limits.nvidia.com/gpu v.yaml:3",
		"solo requests cpu=worker.resources.requests.cpu v.yaml:2",
	}
	if got := sourcesOf(t, in); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	w := mustBundle(t, helmDeployer{}, in).Expectation.Workloads[0]
	if gpu := w.PodSpec.Containers[0].Resources.Limits["nvidia.com/gpu"]; gpu.String() != "16" || w.PodSpec.NodeSelector["example.com/disk.type"] != "ssd" {
		t.Errorf("the expectation has marks: %+v", w.PodSpec)
	}
}

// For a chart that does not render with placeholders for values, the tracer keeps what the
// registry's paths show. It does not warn, since no verdict depends on the rest.
func TestValueSources_PlaceholderRejected(t *testing.T) {
	in := withManifest(map[string]any{"limits": map[string]any{"gpu": 4}}, map[string]recipe.Origin{"limits.gpu": {File: "v.yaml", Line: 1}}, `
      {{- if gt (int $v.limits.gpu) 8 }}{{ fail "too many" }}{{ end }}
      nodeSelector: {{ toYaml $v.nodeSelector | nindent 8 }}
      containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: {{ $v.limits.gpu }}}}}]
`)
	in.Components[0].NodeScheduling.System.NodeSelectorPaths = []string{"nodeSelector"}
	if got := sourcesOf(t, in); len(got) > 0 {
		t.Errorf("got %q", got)
	}
	e := mustBundle(t, helmDeployer{}, in).Expectation
	if w := e.Workloads[0]; w.Node != NodeSystem || len(w.SelectorPaths) != 1 || len(e.Warnings) > 0 {
		t.Errorf("got node %q, paths %v, warnings %q", w.Node, w.SelectorPaths, e.Warnings)
	}
}
