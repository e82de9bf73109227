package operator

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var keyMissing = judge.Check{
	ID: "MX656", Name: "prometheus-operator-reads-missing-key", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Kinds: judge.KindsOf(monitoring, slices.Concat(withPods, leftOut)...),
	Title: "What prometheus-operator reads for a resource exists: a key of a Secret or ConfigMap",
	Why: "prometheus-operator reads the credentials and certificates that its resources name (https://prometheus-operator.dev/docs/api-reference/api/). It makes no pods of a Prometheus or an Alertmanager that run without them, and leaves a monitor out. " +
		"An object without keys is filled at run time. A warning where the bundle has no prometheus-operator.",
	Fix:  "Make the Secret or ConfigMap in the recipe, with that key.",
	Says: "reads the key %s of %s %s/%s (%s), which has no such key", Then: "%[6]s",
	Others: map[string]judge.Message{"nothing": {Says: "reads the key %s of %s %s/%s (%s), which nothing in the recipe makes", Then: "%[6]s"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(monitoring, withPods...)...) {
			if found := lacksKey(s, o, "prometheus-operator makes no pods of it that run"); found != nil {
				operated(s, found, reason.WorkloadFailed)
			}
		}
		for _, o := range s.OfKind(judge.KindsOf(monitoring, leftOut...)...) {
			if found := lacksKey(s, o, "prometheus-operator leaves the object out"); found != nil {
				found.Warning()
			}
		}
	},
}

// withPods are the kinds of which prometheus-operator makes pods, and leftOut those that it reads for them.
var (
	withPods = []string{"Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler"}
	leftOut  = []string{"ServiceMonitor", "PodMonitor", "AlertmanagerConfig", "Probe", "ScrapeConfig"}
)

// lacksKey reports the first key that a resource has the operator read, or a sidecar of its pods, and that nothing in
// the bundle has.
func lacksKey(s *judge.Scope, o *bundle.Object, then string) *judge.Found {
	namespace := o.Object.GetNamespace()
	for _, r := range reads(o.Object) {
		made, has := hasKey(s, r, namespace)
		if has {
			continue
		}
		cause := r.kind + " " + r.name + " " + r.key + " " + o.Ref().String()
		if made {
			return s.Report(o, r.path, r.key, r.kind, namespace, r.name, r.path, then).SetBy(r.name).OneCause(cause)
		}
		return s.ReportAs("nothing", o, r.path, r.key, r.kind, namespace, r.name, r.path, then).SetBy(r.name).OneCause(cause).
			Missing(result.Ref{Kind: r.kind, Namespace: namespace, Name: r.name})
	}
	return nil
}

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

// hasKey reports whether an object is in the bundle, and whether it has a key. One without keys is filled at run time.
func hasKey(s *judge.Scope, r read, namespace string) (made, has bool) {
	for i := range s.Expectation.Objects {
		o := s.Expectation.Objects[i].Object
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
