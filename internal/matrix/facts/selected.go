package facts

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// LabelsItself is an object whose pods lack only labels that none has from the start, and whose ServiceAccount may
// change pods: which of several is the leader, say, they find out when they run. Nil if there is none.
func (x *Index) LabelsItself(selector labels.Selector, namespace string) *bundle.Object {
	requirements, _ := selector.Requirements()
	for _, p := range x.pods {
		if x.IsMade(p.Object) || p.Object.Object.GetNamespace() != namespace || !TextMay(x.Expectation, namespace, p.Template.Spec.ServiceAccountName, "", "pods", "update", "patch") {
			continue
		}
		fits, lacks := 0, false
		for _, q := range requirements {
			switch set := labels.Set(p.Template.Labels); {
			case q.Matches(set):
				fits++
			case set.Has(q.Key()):
				lacks = true
			}
		}
		if fits > 0 && !lacks {
			return p.Object
		}
	}
	return nil
}

// OfTheCluster reports whether a selector is for a cluster's own pods: its DNS, proxies and control plane.
func OfTheCluster(selector labels.Selector) bool {
	own := []string{"kube-dns", "kube-proxy", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "control-plane"}
	requirements, _ := selector.Requirements()
	return slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return slices.Contains([]string{"k8s-app", "component", "tier"}, r.Key()) &&
			slices.ContainsFunc(r.Values().List(), func(v string) bool { return slices.Contains(own, v) })
	})
}

// Operated is a custom resource of an object's component whose operator may create pods that no stand-in simulates; nil
// if there is none.
func (x *Index) Operated(by *bundle.Object) *bundle.Object {
	for i := range x.Expectation.Objects {
		o := &x.Expectation.Objects[i]
		group := o.Object.GroupVersionKind().Group
		if o.Component != by.Component || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
			continue
		}
		if group != "monitoring.coreos.com" && group != "cert-manager.io" { // the expectation has what the operators of these create
			return o
		}
	}
	return nil
}
