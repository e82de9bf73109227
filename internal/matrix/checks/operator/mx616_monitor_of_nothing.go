package operator

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

var scrapers = judge.KindsOf(monitoring, "ServiceMonitor", "PodMonitor")

var monitorOfNothing = judge.Check{
	ID: "MX616", Name: "monitor-of-nothing", Needs: judge.Rendered, Until: judge.Settled, Kinds: scrapers,
	Title: "A ServiceMonitor or PodMonitor selects what exists",
	Why: "prometheus-operator makes of a monitor the targets that its selector takes, and says nothing where there are none (https://prometheus-operator.dev/docs/developer/getting-started/#using-servicemonitors). " +
		"What only the cluster itself or an operator has is a note.",
	Fix:  "Correct selector, or namespaceSelector: without one a monitor looks in its own namespace.",
	Says: "is for %s with %s, and there are none", Then: "nothing is scraped",
	Others: map[string]judge.Message{
		"cluster":  {Says: "is for %s of the cluster itself (%s), which a simulated cluster does not have", Then: "whether there are any is not verified"},
		"made":     {Says: "is for %s with %s that %s makes at run time", Then: "whether it does is not verified"},
		"operator": {Says: "is for %s with %s, which nothing but an operator can make: its release has %s", Then: "whether it does is not verified"},
	},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(scrapers...) {
			set := problem.Selector(o, "spec", "selector")
			if set == nil {
				continue
			}
			in := scrapesIn(o)
			what := "pods"
			if o.Object.GetKind() == "ServiceMonitor" {
				what = "Services"
				if len(monitored(s, o)) > 0 || s.Live == nil && s.MayMake(schema.GroupKind{Kind: "Service"}, "") {
					continue
				}
			} else if !s.NoPod(set, in) {
				continue
			}
			const path = "spec.selector"
			if in(metav1.NamespaceSystem) && facts.OfTheCluster(set) {
				s.ReportAs("cluster", o, path, what, set).Note()
			} else if by := kubeletService(s, set, in); by != "" && what == "Services" {
				s.ReportAs("made", o, path, what, set, by).Note()
			} else if by := s.Operated(o); by != nil {
				s.ReportAs("operator", o, path, what, set, by.Ref()).Note()
			} else {
				s.Report(o, path, what, set)
			}
		}
	},
}

// scrapesIn reports whether a monitor looks in a namespace.
func scrapesIn(o *bundle.Object) func(namespace string) bool {
	spaces, _, _ := unstructured.NestedStringSlice(o.Object.Object, "spec", "namespaceSelector", "matchNames")
	everywhere, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "namespaceSelector", "any")
	if len(spaces) == 0 {
		spaces = []string{o.Object.GetNamespace()}
	}
	return func(namespace string) bool { return everywhere || slices.Contains(spaces, namespace) }
}

// kubeletService is the prometheus-operator that creates the kubelets' Service, by its flag
// --kubelet-service=NAMESPACE/NAME, with labels of its own; empty if none does.
func kubeletService(s *judge.Scope, set labels.Selector, in func(namespace string) bool) string {
	own := labels.Set{"k8s-app": "kubelet", "app.kubernetes.io/name": "kubelet", "app.kubernetes.io/managed-by": "prometheus-operator"}
	for _, p := range s.Pods() {
		for _, c := range p.Containers() {
			for _, arg := range c.Args {
				full, ok := strings.CutPrefix(arg, "--kubelet-service=")
				if namespace, name, _ := strings.Cut(full, "/"); ok && in(namespace) && name != "" && set.Matches(own) {
					return fmt.Sprintf("%s (%s)", p.Object.Ref(), p.Object.Component)
				}
			}
		}
	}
	return ""
}
