package daytwo

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// standoff makes UPGRADE_FAILED of new pods that no node or quota has room for, where each would have room
// if the old pods of its own workload were gone, and the rolling update removes none of them before a
// new one is ready: the two wait for each other for ever. A first installation has no old pods. What
// else cannot be scheduled, or is rejected, keeps its reason.
func standoff(what string, err error, b Bundles, view *observe.View) error {
	if view == nil || b.Before == nil {
		return err
	}
	var waits map[result.Ref]string
	report := observe.CheckWorkloads(b.Now.Expectation.Workloads, view)
	switch reason.Of(err) {
	case reason.SchedulingFailed:
		waits = b.roomless(report, view)
	case reason.WorkloadFailed:
		waits = quotaless(report, view)
	}
	if len(waits) == 0 {
		return err
	}
	v := result.VerdictOf(err)
	findings := slices.Clone(v.Findings)
	for i := range findings {
		f := &findings[i]
		if f.Object == nil || waits[*f.Object] == "" {
			continue
		}
		// Not the type Recreate: server-side apply does not take it over a rollingUpdate that is there.
		edit := "edit: strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"
		if f.Object.Kind == "DaemonSet" {
			edit = "edit: updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"
		}
		if left := b.strays(*f.Object, report, view); left != nil {
			edit = "edit: " + removalOf(left)
		} else if o := find(b.Now, f.Object.Kind, f.Object.Name); o != nil {
			edit += " in " + b.place(o, "spec")
		}
		f.Check, f.Severity = rolloutDeadlock.ID, ""
		f.Cause = strings.TrimRight(f.Cause, ".") + "; " + waits[*f.Object]
		f.Story = append([]string{edit}, f.Story...)
	}
	if len(findings) > 0 {
		findings[0].Cause = what + ": " + findings[0].Cause
	}
	return &reason.Error{Reason: reason.UpgradeFailed, Component: v.Component, Err: &result.Failure{Findings: findings, Stage: v.Stage}}
}

// roomless says which workloads wait for the room of their own old pods, or of what the new bundle has no
// more; nil if another one waits for something else.
func (b Bundles) roomless(report observe.WorkloadReport, view *observe.View) map[result.Ref]string {
	if len(report.Wrong) > 0 {
		return nil
	}
	waits := map[result.Ref]string{}
	for _, p := range report.Pending {
		ref := observe.WorkloadRef(p.Workload.Kind, p.Workload.Namespace, p.Workload.Name)
		live := view.Live[observe.WorkloadKey(p.Workload.Kind, p.Workload.Namespace, p.Workload.Name)]
		old := olderPods(p.Pod, view.PodsOf[live.UID])
		if live.Surge != "" && len(old) > 0 && why.FitsWithout(p.Pod, old, view) {
			waits[ref] = waitsFor(live, "room", old)
		} else if left := b.strays(ref, report, view); left != nil {
			waits[ref] = fmt.Sprintf("%s has the room: the new bundle has it no more (component %s, %s), and the deployer leaves it where it is", left.Ref(), left.Component, place(b.Before, left, "spec"))
		} else {
			return nil
		}
	}
	return waits
}

// strays is the workload that the new bundle has no more and whose pods keep those of another one from all
// nodes; nil if there is none.
func (b Bundles) strays(ref result.Ref, report observe.WorkloadReport, view *observe.View) *bundle.Object {
	for _, p := range report.Pending {
		if observe.WorkloadRef(p.Workload.Kind, p.Workload.Namespace, p.Workload.Name) != ref {
			continue
		}
		for _, w := range b.Before.Expectation.Workloads {
			old := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
			left, pods := b.Before.Expectation.Object(old), view.PodsOf[view.Live[observe.WorkloadKey(w.Kind, w.Namespace, w.Name)].UID]
			if left != nil && b.Now.Expectation.Object(old) == nil && len(pods) > 0 && !why.FitsWithout(p.Pod, nil, view) && why.FitsWithout(p.Pod, pods, view) {
				return left
			}
		}
	}
	return nil
}

// removalOf is how a workload goes that the new bundle has no more: with its release, if that has gone.
func removalOf(left *bundle.Object) string {
	return fmt.Sprintf("before the upgrade, helm uninstall %s, or kubectl delete %s %s --namespace %s if release %[1]s stays", left.Release, strings.ToLower(left.Object.GetKind()), left.Object.GetName(), left.Object.GetNamespace())
}

// waitsFor says of a rolling update that its new pods wait for what its old pods have.
func waitsFor(live observe.LiveWorkload, what string, old []*corev1.Pod) string {
	return fmt.Sprintf("its rolling update (%s) removes no old pod before a new one is ready, and the new one waits for the %s of %s", live.Surge, what, strings.Join(lists.AtMost(names(old), 3), ", "))
}

// olderPods are the pods of the same workload that have a node and another template.
func olderPods(pod *corev1.Pod, all []*corev1.Pod) []*corev1.Pod {
	template := func(p *corev1.Pod) string {
		return p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] + p.Labels[appsv1.ControllerRevisionHashLabelKey]
	}
	var old []*corev1.Pod
	for _, p := range all {
		if p.Spec.NodeName != "" && template(p) != template(pod) {
			old = append(old, p)
		}
	}
	return old
}

func names(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, observe.PodName(p))
	}
	return all
}
