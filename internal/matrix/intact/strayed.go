package intact

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// The kinds of admission policies that change objects, and of bindings of those that deny them.
const (
	mutating          = "MutatingAdmissionPolicy"
	validatingBinding = "ValidatingAdmissionPolicyBinding"
)

// steered reports whether a policy of the recipe may change pods.
func steered(e *bundle.Expectation) bool {
	return slices.ContainsFunc(e.Objects, func(o bundle.Object) bool { return o.Object.GetKind() == mutating })
}

// strayed is the finding for a pod that is on a node now, and that no node would admit if it were
// created again, for what a policy of the recipe then changes; false if some node would.
func strayed(e *bundle.Expectation, t trial, now, next *corev1.Pod, nodes []corev1.Node) (result.Finding, bool) {
	again := now.Spec.DeepCopy()
	again.NodeName = ""
	if len(observe.EligibleNodes(again, nodes)) == 0 || len(observe.EligibleNodes(&next.Spec, nodes)) > 0 {
		return result.Finding{}, false
	}
	by := "a " + mutating + " of the recipe"
	var story []string
	for i := range e.Objects {
		if o := &e.Objects[i]; o.Object.GetKind() == mutating {
			by = mutating + " " + o.Object.GetName()
			story = append(story, fmt.Sprintf("  %s %s (%s) is set in %s", mutating, o.Object.GetName(), o.Component, o.Template))
		}
	}
	if len(story) > 1 {
		by = "a " + mutating + " of the recipe"
	}
	f := deniedFinding(e, t, "")
	f.Check = podStrays.ID
	f.Cause = fmt.Sprintf("%s (%s): no node would admit its next pod, to which %s gives %s", f.Object, f.Component, by, given(&now.Spec, &next.Spec))
	f.Story = append([]string{f.Cause, "  what it has was created before the policy was in force: once that is deleted, e.g. with its node, nothing takes its place"}, story...)
	return f, true
}

// given says what a pod has that decides about its nodes, and the one before it had not.
func given(now, next *corev1.PodSpec) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(next.NodeSelector)) {
		if now.NodeSelector[k] != next.NodeSelector[k] {
			parts = append(parts, fmt.Sprintf("the nodeSelector %s=%s", k, next.NodeSelector[k]))
		}
	}
	if len(parts) == 0 {
		return "another affinity or other tolerations"
	}
	return strings.Join(parts, " and ")
}
