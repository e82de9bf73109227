package facts

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Chooses reports whether a Prometheus may select an object: without a selector it selects none, and
// without one for namespaces those of its own. What labels a namespace has is not known.
func Chooses(prometheus, o *unstructured.Unstructured, field string) bool {
	raw, given, _ := unstructured.NestedMap(prometheus.Object, "spec", field+"Selector")
	var selector metav1.LabelSelector
	if !given || runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector) != nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil || !s.Matches(labels.Set(o.GetLabels())) {
		return err != nil // the operator's to say
	}
	_, everywhere, _ := unstructured.NestedMap(prometheus.Object, "spec", field+"NamespaceSelector")
	return everywhere || prometheus.GetNamespace() == o.GetNamespace()
}
