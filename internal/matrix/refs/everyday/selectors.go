package everyday

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// overlaps warns of a workload whose selector is for the pods of another one of its namespace, too.
// Controllers leave each other's pods alone, and whatever selects pods does not.
func (f *finder) overlaps(o *bundle.Object) {
	selector := selectorOf(o)
	if selector == nil {
		return
	}
	for i := range f.e.Objects {
		other := &f.e.Objects[i]
		if other == o {
			return // of two, the later one is told
		}
		if other.Object.GetKind() != o.Object.GetKind() || other.Object.GetNamespace() != o.Object.GetNamespace() || other.Ref() == o.Ref() || selectorOf(other) == nil {
			continue
		}
		theirs, _, _ := unstructured.NestedStringMap(other.Object.Object, "spec", "template", "metadata", "labels")
		if selector.Matches(labels.Set(theirs)) {
			p := problem.Of(o)
			p.Name = "matchLabels"
			p.Text = fmt.Sprintf("selects pods with %s, and those of %s are among them", selector, other.Ref())
			p.Then = "what looks for pods by these labels, e.g. an autoscaler, takes the others for its own"
			f.found = append(f.found, p)
			return
		}
	}
}

// adopted warns of a Pod of its own with the labels that a controller of the bundle selects: the controller takes it for
// one of its pods, and deletes it where it has too many. The pods of a Deployment and of a Job have a label besides, which
// a Pod of its own lacks.
func (f *finder) adopted(o *bundle.Object) {
	if gvk := o.Object.GroupVersionKind(); gvk.Kind != "Pod" || gvk.Group != "" || len(o.Object.GetOwnerReferences()) > 0 {
		return
	}
	for i := range f.e.Objects {
		c := &f.e.Objects[i]
		var selector labels.Selector
		switch gvk := c.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
		case "apps/StatefulSet": // which adopts a pod with the name of one of its own alone
			if number, ok := strings.CutPrefix(o.Object.GetName(), c.Object.GetName()+"-"); ok && strings.Trim(number, "0123456789") == "" {
				selector = problem.Selector(c, "spec", "selector")
			}
		case "apps/DaemonSet", "apps/ReplicaSet":
			selector = problem.Selector(c, "spec", "selector")
		case "batch/Job":
			if manual, _, _ := unstructured.NestedBool(c.Object.Object, "spec", "manualSelector"); manual {
				selector = problem.Selector(c, "spec", "selector")
			}
		case "/ReplicationController":
			if set, _, _ := unstructured.NestedStringMap(c.Object.Object, "spec", "selector"); len(set) > 0 {
				selector = labels.SelectorFromSet(set)
			}
		}
		if selector == nil || c.Object.GetNamespace() != o.Object.GetNamespace() || !selector.Matches(labels.Set(o.Object.GetLabels())) {
			continue
		}
		p := problem.Of(o)
		p.Name = "labels"
		p.Text = fmt.Sprintf("has labels that %s selects (%s), and no owner", c.Ref(), selector)
		p.Then = "the controller adopts it as one of its pods, makes one less of its own, and deletes it where it has too many"
		f.found = append(f.found, p)
		return
	}
}

// selectorOf is the selector of a workload's pods; nil for other objects.
func selectorOf(o *bundle.Object) labels.Selector {
	switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet":
	default:
		return nil
	}
	return problem.Selector(o, "spec", "selector")
}

// aggregates warns of a role that is made of others, of which the bundle has none. Kubernetes' own
// have labels of its group.
func (f *finder) aggregates(o *bundle.Object) {
	var role rbacv1.ClusterRole
	if !problem.Read(o, &role) || role.AggregationRule == nil || len(role.AggregationRule.ClusterRoleSelectors) == 0 {
		return
	}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil || selector.Empty() || selector.Matches(labels.Set{"kubernetes.io/bootstrapping": "rbac-defaults"}) || ofKubernetes(&role.AggregationRule.ClusterRoleSelectors[i]) {
			return
		}
		for j := range f.e.Objects {
			if other := &f.e.Objects[j]; other.Object.GetKind() == "ClusterRole" && other != o && selector.Matches(labels.Set(other.Object.GetLabels())) {
				return
			}
		}
	}
	p := problem.Of(o)
	p.Name, p.Text, p.Then = "clusterRoleSelectors", "is made of ClusterRoles by their labels (aggregationRule), and the recipe has none of these", "it allows nothing until something else installs one"
	f.found = append(f.found, p)
}

// ofKubernetes reports whether a selector has a label of Kubernetes' own roles.
func ofKubernetes(s *metav1.LabelSelector) bool {
	for key := range s.MatchLabels {
		if strings.HasPrefix(key, "rbac.authorization.k8s.io/") {
			return true
		}
	}
	return false
}
