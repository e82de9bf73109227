package refs

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// readinessGates checks the conditions that something other than a kubelet has to set before a pod
// is ready. The simulated kubelet reports each pod as ready.
func (c *checker) readinessGates(w *bundle.Workload) {
	r := reference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template, then: "its pods never become ready"}
	for _, gate := range w.PodSpec.ReadinessGates {
		name := string(gate.ConditionType)
		by := c.setsPodStatus()
		if provider := providerOfGate(name); provider != "" {
			by = provider
		}
		if by != "" {
			c.unverified("readiness gate "+name, "may be set by "+by, r.from, "never becomes ready", "never become ready")
			continue
		}
		r.name, r.cause = name, "readiness gate "+name
		r.text = "has the readiness gate " + name + ", and nothing in the recipe may change the status of pods"
		c.fail(reason.WorkloadFailed, r)
	}
}

// providerOfGate returns the provider's controller that sets a condition of pods; empty if it is not
// known.
func providerOfGate(name string) string {
	switch {
	case strings.HasPrefix(name, "cloud.google.com/"):
		return "GKE's load balancer controller"
	case strings.HasPrefix(name, "target-health."):
		return "the AWS Load Balancer Controller"
	}
	return ""
}

// setsPodStatus returns a role of the bundle that allows changes to the status of pods; empty if
// there is none.
func (c *checker) setsPodStatus() string {
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if kind := o.Object.GetKind(); kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		if !problem.Read(o, &role) {
			continue
		}
		if slices.ContainsFunc(role.Rules, func(p rbacv1.PolicyRule) bool {
			return anyOf(p.APIGroups, "", "*") && anyOf(p.Resources, "pods/status", "*/status", "*") && anyOf(p.Verbs, "patch", "update", "*")
		}) {
			return fmt.Sprintf("a program with %s (%s)", o.Ref(), o.Component)
		}
	}
	return ""
}

func anyOf(have []string, want ...string) bool {
	return slices.ContainsFunc(have, func(s string) bool { return slices.Contains(want, s) })
}

// system checks that the pods of a workload are on nodes of the operating system that they are for.
// The scheduler does not look at spec.os; a kubelet rejects the pod (PodOSNotSupported).
func (c *checker) system(w *bundle.Workload) {
	if w.PodSpec.OS == nil {
		return
	}
	want := string(w.PodSpec.OS.Name)
	for i := range c.have.View.Nodes {
		n := &c.have.View.Nodes[i]
		has := n.Labels[corev1.LabelOSStable]
		if has == "" || has == want || !c.runsOn(w, n.Name) {
			continue
		}
		c.fail(reason.WorkloadFailed, reference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template,
			name: want, cause: "operating system of " + w.Kind + w.Namespace + w.Name, then: "a kubelet rejects its pods (PodOSNotSupported)",
			text: fmt.Sprintf("is for %s (spec.os), and its pods were placed on node %s, which has %s", want, n.Name, has)})
		return
	}
}

// runsOn reports whether a pod of the workload is on the node.
func (c *checker) runsOn(w *bundle.Workload, node string) bool {
	return slices.ContainsFunc(c.podsOf(w), func(p *corev1.Pod) bool { return p.Spec.NodeName == node })
}

// node checks a Node that a chart contains: no machine belongs to it.
func (c *checker) node(o *bundle.Object, r reference) {
	r.name, r.cause, r.then = o.Object.GetName(), "Node "+o.Object.GetName(), "no kubelet reports that it is ready, so that no pod starts there"
	r.text = "is a Node that a template creates; no machine belongs to it"
	for i := range c.have.View.Pods {
		if p := &c.have.View.Pods[i]; p.Spec.NodeName == o.Object.GetName() {
			r.text += fmt.Sprintf(", and pod %s/%s is on it", p.Namespace, p.Name)
			c.fail(reason.WorkloadFailed, r)
			return
		}
	}
	c.warn(r)
}
