package workflow

import (
	_ "embed"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/infra"
)

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	const root = "charts/virtual-nodes"
	var files []*loader.BufferedFile
	err := fs.WalkDir(aicraction.VirtualNodes, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := aicraction.VirtualNodes.ReadFile(path)
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(path, root+"/"), Data: raw})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func renderChart(t *testing.T, values string) (string, error) {
	t.Helper()
	v, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	c := loadChart(t)
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "virtual-nodes", Namespace: "default"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.Render(c, all)
	return out["virtual-nodes/templates/nodes.yaml"], err
}

//go:embed testdata/objects/example.yaml
var example string

// The chart and this package make the same nodes of the same values.
func TestChart(t *testing.T) {
	shipped, err := aicraction.VirtualNodes.ReadFile("charts/virtual-nodes/values-example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]string{"all fields": example, "values-example.yaml": string(shipped)} {
		text, err := renderChart(t, values)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := infra.DecodeObjects([]byte(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		var v virtualNodesValues
		if err := yaml.Unmarshal([]byte(values), &v); err != nil {
			t.Fatal(err)
		}
		if problems := checkVirtualNodes(v.Nodes); len(problems) > 0 {
			t.Fatal(problems)
		}
		want := VirtualNodes(v.Nodes)
		if len(objects) != len(want) {
			t.Fatalf("%s: the chart makes %d nodes, want %d", name, len(objects), len(want))
		}
		for i, o := range objects {
			var got corev1.Node
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &got); err != nil {
				t.Fatal(err)
			}
			if got.Name != want[i].Name || !reflect.DeepEqual(got.Labels, want[i].Labels) || !reflect.DeepEqual(got.Annotations, want[i].Annotations) ||
				!reflect.DeepEqual(got.Status.Conditions, want[i].Status.Conditions) || got.Status.NodeInfo != want[i].Status.NodeInfo {
				t.Errorf("%s: node %d: the chart has\n%+v\nwant\n%+v", name, i, got, want[i])
			}
			for _, list := range []corev1.ResourceList{got.Status.Capacity, got.Status.Allocatable} {
				for key, q := range want[i].Status.Capacity {
					if have := list[key]; have.Cmp(q) != 0 || len(list) != len(want[i].Status.Capacity) {
						t.Errorf("%s: node %s: %s is %s in the chart, want %s", name, got.Name, key, have.String(), q.String())
					}
				}
			}
		}
	}
}

// What the chart refuses, Check refuses too, with the line.
func TestBadValues(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		line   int
		want   string
		both   bool // the chart refuses it as well
	}{
		"no type":               {"nodes:\n- count: 1\n", 2, "type is required", true},
		"no count":              {"nodes:\n- type: dgxa100.80g\n", 2, "count is required", true},
		"no resources":          {"nodes:\n- {type: dgxa100.80g, count: 1}\n- {type: cpu.x86, count: 1}\n", 3, `type "cpu.x86" is none of dgxa100.40g, dgxa100.80g, dgxh100.80g, so that it needs resources`, true},
		"fixed resources":       {"nodes:\n- {type: dgxa100.80g, count: 1, resources: {cpu: 1}}\n", 2, "are fixed", true},
		"no quantity":           {"nodes:\n- {type: x, count: 1, resources: {cpu: lots}}\n", 2, `"lots" is no quantity`, false},
		"a count below zero":    {"nodes:\n- {type: dgxa100.80g, count: -1}\n", 2, "count -1", false},
		"too many":              {"nodes:\n- {type: dgxa100.80g, count: 999999}\n", 2, "at most 20000", false},
		"a type that is a path": {"nodes:\n- {type: ../x, count: 1, resources: {cpu: 1}}\n", 2, "lower-case letters", false},
		"a condition's status":  {"nodes:\n- {type: dgxa100.80g, count: 1, conditions: [{type: A, status: maybe}]}\n", 2, "True, False or Unknown", false},
		"the condition Ready":   {"nodes:\n- {type: dgxa100.80g, count: 1, conditions: [{type: Ready, status: \"False\"}]}\n", 2, "KWOK's to write", false},
		"a label":               {"nodes:\n- {type: dgxa100.80g, count: 1, labels: {a/b/c: x}}\n", 2, "label a/b/c", false},
		"an unknown field":      {"nodes:\n- type: dgxa100.80g\n  cuont: 1\n", 3, `unknown field "cuont"`, false},
		"none":                  {"nodes: []\n", 1, "there are none", false},
		"no YAML":               {"nodes: [\n", 2, "did not find expected", false},
		"not a mapping":         {"- a\n", 1, "want one document", false},
	} {
		file := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(file, []byte(c.values), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(file)
		if at := file + ":" + string(rune('0'+c.line)) + ": "; err == nil || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s… %q", name, err, at, c.want)
		}
		if !c.both {
			continue
		}
		if _, err := renderChart(t, c.values); err == nil {
			t.Errorf("%s: the chart took it", name)
		}
	}
}

func TestPredefinedTypes(t *testing.T) {
	for kind, want := range map[string][2]string{"dgxa100.40g": {"256", "1Ti"}, "dgxa100.80g": {"256", "2Ti"}, "dgxh100.80g": {"224", "2Ti"}} {
		got := predefined()[kind]
		if got["cpu"] != want[0] || got["memory"] != want[1] || got["nvidia.com/gpu"] != "8" || got["nvidia.com/mlnxnics"] != "16" || got["pods"] != "110" {
			t.Errorf("%s: got %v", kind, got)
		}
	}
}
