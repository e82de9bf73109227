package monitoring

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// read is what a resource has the operator read: a key of a Secret or of a ConfigMap.
type read struct{ kind, name, key, path string }

// podFields are fields of a resource for its pods. A kubelet reads what they name.
var podFields = []string{"containers", "initContainers", "volumes", "volumeMounts", "affinity", "tolerations", "topologySpreadConstraints"}

// reads are the keys that the spec of a resource names.
func reads(o *unstructured.Unstructured) []read {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	var all []read
	var walk func(v any, path, kind string)
	walk = func(v any, path, kind string) {
		switch v := v.(type) {
		case []any:
			for i, item := range v {
				walk(item, fmt.Sprintf("%s[%d]", path, i), kind)
			}
		case map[string]any:
			name, _ := v["name"].(string)
			key, _ := v["key"].(string)
			if optional, _ := v["optional"].(bool); name != "" && key != "" {
				if !optional {
					all = append(all, read{kind, name, key, path})
				}
				return
			}
			for _, field := range slices.Sorted(maps.Keys(v)) {
				of := "Secret"
				if field == "configMap" {
					of = "ConfigMap"
				}
				if path != "spec" || !slices.Contains(podFields, field) {
					walk(v[field], path+"."+field, of)
				}
			}
		}
	}
	walk(spec, "spec", "Secret")
	return all
}

// missing finds the first key that a resource has the operator read, or a sidecar of its pods, and that nothing in
// the bundle has. A Prometheus or an Alertmanager gets no pods that run without it; a monitor is left out.
func (f *finder) missing(o *bundle.Object, fault bool, then string) {
	for _, r := range reads(o.Object) {
		made, has := f.has(r, o.Object.GetNamespace())
		if has {
			continue
		}
		p := problem.Of(o)
		p.Name, p.Then, p.Cause = r.name, then, "monitoring "+r.kind+" "+r.name+" "+r.key+" "+o.Ref().String()
		what := fmt.Sprintf("reads the key %s of %s %s/%s (%s), which ", r.key, r.kind, o.Object.GetNamespace(), r.name, r.path)
		if made {
			p.Text = what + "has no such key"
		} else {
			p.Text = what + "nothing in the recipe makes"
			p.Missing = result.Ref{Kind: r.kind, Namespace: o.Object.GetNamespace(), Name: r.name}
		}
		if fault && f.operated {
			p.Reason = reason.WorkloadFailed
		}
		f.found = append(f.found, p)
		return
	}
}

// has reports whether an object is in the bundle, and whether it has a key. One without keys is filled at run time.
func (f *finder) has(r read, namespace string) (made, has bool) {
	for i := range f.e.Objects {
		o := f.e.Objects[i].Object
		if o.GetKind() != r.kind || o.GetName() != r.name || o.GetNamespace() != namespace {
			continue
		}
		made = true
		keys := 0
		for _, field := range []string{"data", "stringData", "binaryData"} {
			data, _, _ := unstructured.NestedMap(o.Object, field)
			keys += len(data)
			if _, ok := data[r.key]; ok {
				return true, true
			}
		}
		if keys == 0 {
			return true, true
		}
	}
	return made, false
}
