package daytwo

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

// rolling are the workloads whose controllers replace pods when their template changes, and only then.
var rolling = judge.KindsOf(appsv1.GroupName, "Deployment", "StatefulSet", "DaemonSet")

var configReachesNoPod = judge.Check{
	ID: "MX729", Name: "config-reaches-no-pod", Needs: judge.Second, Later: true, Kinds: rolling,
	Title: "What an upgrade changes in a ConfigMap reaches the pods that read it when they start",
	Why: "Variables, and files that are mounted one by one (subPath), are what they were when the container started (https://kubernetes.io/docs/concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically). " +
		"If the pod template stays as it was, no pod is replaced, and the old values hold until one is by chance. Of a chart's own Secrets this is not said: their values are often made anew with each rendering.",
	Fix:  "Put a checksum of the ConfigMap into an annotation of the pod template (https://helm.sh/docs/howto/charts_tips_and_tricks/#automatically-roll-deployments), give it a new name with each change (Kustomize's generators do), or run a controller that replaces the pods.",
	Says: "%s %s, and the upgrade changes %s there without a change to the pod template", Then: "its pods run on with the old values",
	Run: func(s *judge.Scope) {
		if s.Delivery.Back { // the pods are new, and have what the older bundle says
			return
		}
		b := bundlesOf(s)
		for _, p := range s.Pods() {
			o := p.Object
			if !slices.Contains(rolling, o.Object.GroupVersionKind().GroupKind()) || b.Before.Expectation.Object(o.Ref()) == nil || b.changesTemplate(o) || replacedByController(o) {
				continue
			}
			for _, need := range facts.NeedsOf(&p.Template.Spec) {
				if !need.Once {
					continue
				}
				config := s.Find(schema.GroupKind{Kind: need.Kind}, o.Object.GetNamespace(), need.Name)
				if config == nil || config.Manifest == nil && need.Kind == facts.NeedSecret {
					continue
				}
				if keys := b.changedKeys(config, need.Keys); len(keys) > 0 {
					s.Report(o, p.Path(), need.How, result.Ref{Kind: need.Kind, Namespace: o.Object.GetNamespace(), Name: need.Name}, strings.Join(keys, ", "))
					break // one restart mends them all
				}
			}
		}
	},
}

// replacedByController reports whether a controller replaces the pods of a workload when its configuration changes:
// Reloader and Wave are told so by annotations of theirs.
func replacedByController(o *bundle.Object) bool {
	for key := range o.Object.GetAnnotations() {
		if strings.Contains(key, "reloader.stakater.com/") || strings.HasPrefix(key, "wave.pusher.com/") {
			return true
		}
	}
	return false
}

// changedKeys are those of an object's data, or of these keys of it, that a delivery gives another value.
func (b Bundles) changedKeys(now *bundle.Object, only []string) (keys []string) {
	old := b.Before.Expectation.Object(now.Ref())
	if old == nil {
		return nil
	}
	for _, field := range []string{"data", "binaryData", "stringData"} {
		was, _, _ := unstructured.NestedMap(old.Object.Object, field)
		is, _, _ := unstructured.NestedMap(now.Object.Object, field)
		all := maps.Clone(is)
		if all == nil {
			all = map[string]any{}
		}
		maps.Copy(all, was)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if (len(only) == 0 || slices.Contains(only, key)) && !reflect.DeepEqual(was[key], is[key]) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
