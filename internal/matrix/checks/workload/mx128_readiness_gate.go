package workload

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var readinessGate = judge.Check{
	ID: "MX128", Name: "readiness-gate-of-nobody", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "Something sets the conditions that a pod waits for",
	Why: "A pod with readinessGates is ready once something other than a kubelet has set their conditions in its status (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate). " +
		"That takes a role for pods/status, and the recipe has none. A simulated kubelet reports each pod as ready.",
	Fix:  "Add the controller with its role, or remove the gate.",
	Says: "has the readiness gate %s, and nothing in the recipe may change the status of pods", Then: "its pods never become ready",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, gate := range p.Template.Spec.ReadinessGates {
				name := string(gate.ConditionType)
				by := providerOfGate(name)
				if by == "" {
					by = setsPodStatus(s)
				}
				if by != "" {
					s.Unverified(p.Object, "readiness gate "+name, "may be set by "+by, "never becomes ready", "never become ready")
				} else {
					s.Report(p.Object, fmt.Sprintf("%s.readinessGates[%d].conditionType", p.Path(), i), name).OneCause(name)
				}
			}
		}
	},
}

// providerOfGate is the provider's controller that sets a condition of pods; empty if it is not known.
func providerOfGate(name string) string {
	switch {
	case strings.HasPrefix(name, "cloud.google.com/"):
		return "GKE's load balancer controller"
	case strings.HasPrefix(name, "target-health."):
		return "the AWS Load Balancer Controller"
	}
	return ""
}

// setsPodStatus is a role of the bundle that allows changes to the status of pods; empty if there is none.
func setsPodStatus(s *judge.Scope) string {
	for _, o := range s.Rendered(judge.KindsOf(rbacv1.GroupName, "Role", "ClusterRole")...) {
		role := facts.As[rbacv1.ClusterRole](s.Index, o) // which a Role looks like
		if role != nil && slices.ContainsFunc(role.Rules, func(p rbacv1.PolicyRule) bool {
			return problem.Covers(p.APIGroups, "") && (problem.Covers(p.Resources, "pods/status") || slices.Contains(p.Resources, "*/status")) &&
				(problem.Covers(p.Verbs, "patch") || slices.Contains(p.Verbs, "update"))
		}) {
			return fmt.Sprintf("a program with %s (%s)", o.Ref(), o.Component)
		}
	}
	return ""
}
