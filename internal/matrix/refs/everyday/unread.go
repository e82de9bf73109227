package everyday

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

// selectors are the fields of a Prometheus that choose objects of a kind, without their endings
// Selector and NamespaceSelector.
var selectors = map[string]string{"ServiceMonitor": "serviceMonitor", "PodMonitor": "podMonitor", "Probe": "probe", "ScrapeConfig": "scrapeConfig", "PrometheusRule": "rule"}

// selected warns of a monitor or rule that no Prometheus of the bundle selects. A cluster may have
// another one.
func (f *finder) selected(o *bundle.Object) {
	field := selectors[o.Object.GetKind()]
	var by []string
	for i := range f.e.Objects {
		p := &f.e.Objects[i]
		kind := p.Object.GetKind()
		if p.Object.GroupVersionKind().Group != o.Object.GroupVersionKind().Group || kind != "Prometheus" && kind != "PrometheusAgent" && kind != "ThanosRuler" {
			continue
		}
		if Chooses(p.Object, o.Object, field) {
			return
		}
		if kind == "Prometheus" {
			by = append(by, p.Ref().String())
		}
	}
	if len(by) == 0 {
		return
	}
	p := problem.Of(o)
	p.Text = fmt.Sprintf("is selected by no Prometheus of the recipe: not by %sSelector and %sNamespaceSelector of %s", field, field, strings.Join(by, ", "))
	p.Then = "unless the cluster has another one, it does nothing"
	f.found = append(f.found, p)
}

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

// outside warns of a webhook that fails closed and is served outside of the cluster: whether anything
// answers there was not looked at.
func (f *finder) outside(o *bundle.Object) {
	webhooks, _, _ := unstructured.NestedSlice(o.Object.Object, "webhooks")
	var seen []string
	for _, w := range webhooks {
		m, _ := w.(map[string]any)
		address, _, _ := unstructured.NestedString(m, "clientConfig", "url")
		at, err := url.Parse(address)
		if policy, _ := m["failurePolicy"].(string); address == "" || err != nil || policy == "Ignore" || egress.Loopback(at.Host) || slices.Contains(seen, at.Host) {
			continue
		}
		seen = append(seen, at.Host)
		p := problem.Of(o)
		p.Name = address
		p.Text = fmt.Sprintf("webhook %v calls %s, which is outside of the cluster, and was not called", m["name"], address)
		p.Then = "if nothing answers there, the API server refuses every request that it is for (failurePolicy Fail)"
		f.found = append(f.found, p)
	}
}
