package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
)

// render makes a chart of this repository into objects.
func render(chart, release, namespace, values string) ([]*unstructured.Unstructured, error) {
	ch, err := loader.LoadDir(filepath.Join(repository, "charts", chart))
	if err != nil {
		return nil, err
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(ch, given, chartutil.ReleaseOptions{Name: release, Namespace: namespace}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(ch, all)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(files)) {
		objs, err := infra.DecodeObjects([]byte(files[name]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, o := range objs {
			rendering.CustomScopes{}.FillNamespace(o, namespace)
			objects = append(objects, o)
		}
	}
	return objects, nil
}

func mapOf(entries ...string) string {
	return "gpuScheduling:\n  schedulingMap:\n  - {" + strings.Join(entries, "}\n  - {") + "}\n"
}

// A map of another form is rejected when the chart is rendered: what it says becomes part of an
// expression in the API server.
func TestCharts_Invalid(t *testing.T) {
	const right = `podIndex: 0, nodeName: node1, gpuDevices: "0,1"`
	for values, want := range map[string]string{
		"":                                    "schedulingMap",
		mapOf(`podIndex: 0, nodeName: node1`): "gpuDevices",
		mapOf(`podIndex: 0, gpuDevices: "0"`): "nodeName",
		mapOf(`nodeName: node1, gpuDevices: "0"`):                            "podIndex",
		mapOf(`podIndex: -1, nodeName: node1, gpuDevices: "0"`):              "podIndex",
		mapOf(`podIndex: "0", nodeName: node1, gpuDevices: "0"`):             "podIndex",
		mapOf(`podIndex: 0, nodeName: node1, gpuDevices: 0`):                 "gpuDevices",
		mapOf(`podIndex: 0, nodeName: node1, gpuDevices: "0,"`):              "gpuDevices",
		mapOf(`podIndex: 0, nodeName: node1, gpuDevices: "00"`):              "gpuDevices",
		mapOf(`podIndex: 0, nodeName: node1, gpuDevices: "0'} + {'0': '1"`):  "gpuDevices",
		mapOf(`podIndex: 0, nodeName: "node1\nkey: value", gpuDevices: "0"`): "nodeName",
		mapOf(right + `, gpus: 1`):                                           "gpus",
		mapOf(right) + "schedulerName: \"x' || true || 'x\"\n":               "schedulerName",
	} {
		for _, chart := range []string{"gpu-scheduler-chart", "gpu-scheduler-check-chart"} {
			if _, err := render(chart, "r", "ns", values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %q: got %v, want %q", chart, values, err, want)
			}
		}
	}
	if _, err := render("gpu-scheduler-check-chart", "r", "ns", mapOf(right, `podIndex: 2, nodeName: node1, gpuDevices: "2"`)); err == nil || !strings.Contains(err.Error(), "podIndex 2 is beyond the 2 pods of its 2 entries") {
		t.Errorf("an index without a pod: got %v", err)
	}
}

// The AppProject permits the kinds of the charts, and no others.
func TestProject_PermitsCharts(t *testing.T) {
	kinds := map[bool]map[string]bool{true: {"/Namespace": true}, false: {}}
	for _, chart := range []string{"gpu-scheduler-chart", "gpu-scheduler-check-chart"} {
		objects, err := render(chart, "r", "ns", mapOf(`podIndex: 0, nodeName: node1, gpuDevices: "0,1"`))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			gk := o.GroupVersionKind().GroupKind()
			kinds[o.GetNamespace() == ""][gk.Group+"/"+gk.Kind] = true
		}
	}
	project, err := infra.DecodeObjects([]byte(stackTest{t: t}.file("argocd/gpu-scheduler-project.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]map[string]bool{"clusterResourceWhitelist": kinds[true], "namespaceResourceWhitelist": kinds[false]} {
		list, _, _ := unstructured.NestedSlice(project[0].Object, "spec", field)
		got := map[string]bool{}
		for _, e := range list {
			m, _ := e.(map[string]any)
			got[fmt.Sprintf("%s/%s", m["group"], m["kind"])] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", field, got, want)
		}
	}
}
