package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// controllersBudget is how long Kubernetes' own controllers have to react to a node that stops or
// starts again. The node controller polls every 5 s.
const controllersBudget = time.Minute

func (a *stopNodes) name() string          { return "stopNodes" }
func (a *stopNodes) check(say complain)    { a.NodeChoice.check(say) }
func (a *restoreNodes) name() string       { return "restoreNodes" }
func (a *restoreNodes) check(say complain) { a.NodeChoice.check(say) }
func (a *drain) name() string              { return "drain" }
func (a *drain) check(say complain) {
	if a.Timeout == 0 {
		a.Timeout = yamlx.Duration(defaultDrain)
	}
	a.NodeChoice.check(say)
}
func (a *loseGPUs) name() string { return "loseGPUs" }
func (a *loseGPUs) check(say complain) {
	if a.GPUs < 1 {
		say("gpus %d: want how many GPUs each node loses, 1 or more", a.GPUs)
	}
	a.NodeChoice.check(say)
}

// do stops the kubelet of nodes. Kubernetes then evicts pods by their own tolerations, after 300 s
// by default: that time is set to 0, so that what would happen in five minutes happens now. Pods
// that tolerate it for ever stay, as those of DaemonSets do.
func (a *stopNodes) do(ctx context.Context, r *Runner, p *picker) (did, error) {
	nodes, err := p.nodes(ctx, r, a.NodeChoice, func(n *corev1.Node) bool { return n.Labels[stoppedLabel] == "" })
	if err != nil {
		return did{}, err
	}
	var hurried, staying []*corev1.Pod
	for _, n := range nodes {
		pods, err := r.podsOn(ctx, n.Name)
		if err != nil {
			return did{}, err
		}
		for i := range pods {
			evicted, err := r.abandon(ctx, &pods[i])
			if err != nil {
				return did{}, err
			}
			if evicted {
				hurried = append(hurried, &pods[i])
			} else {
				staying = append(staying, &pods[i])
			}
		}
		if err := r.patchNode(ctx, n.Name, map[string]any{"metadata": map[string]any{"labels": map[string]any{stoppedLabel: "true"}}}); err != nil {
			return did{}, err
		}
	}
	what := lists.Count(len(nodes), "node") + " stopped; Kubernetes evicts " + lists.Count(len(hurried), "pod")
	err = wait.For(ctx, "the stopped nodes to be tainted and left", wait.Options{Budget: controllersBudget}, func(ctx context.Context) wait.Result {
		for _, n := range nodes {
			have, err := r.Clients.Kube.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil {
				return wait.NotYet("%v", err)
			}
			if !slices.ContainsFunc(have.Spec.Taints, func(t corev1.Taint) bool {
				return t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoExecute
			}) {
				return wait.NotYet("node %s has no taint %s:NoExecute%s", n.Name, corev1.TaintNodeNotReady, r.withheld(ctx))
			}
		}
		for _, pod := range hurried {
			if r.goesOn(ctx, pod) != nil {
				return wait.NotYet("pod %s is not evicted", observe.PodName(pod))
			}
		}
		return wait.Done()
	})
	for _, pod := range staying { // the node controller does so for a node that it has not heard of
		if err == nil {
			err = r.setReady(ctx, pod, corev1.ConditionFalse)
		}
	}
	return did{what: what, targets: names(nodes)}, err
}

// setReady sets the condition Ready of a running pod, as a kubelet or the node controller does.
func (r *Runner) setReady(ctx context.Context, pod *corev1.Pod, status corev1.ConditionStatus) error {
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	err := r.patchPod(ctx, pod, map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": corev1.PodReady, "status": status, "lastTransitionTime": metav1.Now()},
	}}}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// abandon marks a pod of a node whose kubelet stops, and takes the delay out of its eviction. It
// reports whether Kubernetes will evict the pod.
func (r *Runner) abandon(ctx context.Context, pod *corev1.Pod) (bool, error) {
	evicted := true
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		api := r.Clients.Kube.CoreV1().Pods(pod.Namespace)
		have, err := api.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		evicted = true
		none := int64(0)
		for i := range have.Spec.Tolerations {
			t := &have.Spec.Tolerations[i]
			if t.Effect != "" && t.Effect != corev1.TaintEffectNoExecute || t.Key != "" && t.Key != corev1.TaintNodeNotReady && t.Key != corev1.TaintNodeUnreachable {
				continue
			}
			if t.TolerationSeconds != nil {
				t.TolerationSeconds = &none
			} else if t.Key != corev1.TaintNodeUnreachable {
				evicted = false
			}
		}
		if have.Annotations == nil {
			have.Annotations = map[string]string{}
		}
		have.Annotations[kubelet] = stopped
		_, err = api.Update(ctx, have, metav1.UpdateOptions{FieldManager: infra.FieldManager})
		return err
	})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("mark pod %s: %w", observe.PodName(pod), err)
	}
	return evicted, nil
}

// do undoes what other steps did to nodes: their kubelets run again, they take pods, and have all
// of their GPUs.
func (a *restoreNodes) do(ctx context.Context, r *Runner, p *picker) (did, error) {
	nodes, err := p.nodes(ctx, r, a.NodeChoice, func(n *corev1.Node) bool {
		return n.Labels[stoppedLabel] != "" || n.Spec.Unschedulable || n.Annotations[gpusBefore] != ""
	})
	if err != nil {
		return did{}, err
	}
	for _, n := range nodes {
		if err := r.restore(ctx, n); err != nil {
			return did{}, err
		}
	}
	err = wait.For(ctx, "the nodes to be Ready", wait.Options{Budget: controllersBudget}, func(ctx context.Context) wait.Result {
		for _, n := range nodes {
			have, err := r.Clients.Kube.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil || !infra.NodeReady(have) {
				return wait.NotYet("node %s is not Ready", n.Name)
			}
		}
		return wait.Done()
	})
	return did{what: lists.Count(len(nodes), "node") + " restored", targets: names(nodes)}, err
}

func (r *Runner) restore(ctx context.Context, n *corev1.Node) error {
	if before := n.Annotations[gpusBefore]; before != "" {
		if err := r.patchGPUs(ctx, n, before); err != nil {
			return err
		}
	}
	err := r.patchNode(ctx, n.Name, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{stoppedLabel: nil}, "annotations": map[string]any{gpusBefore: nil}},
		"spec":     map[string]any{"unschedulable": nil},
	})
	if err != nil || n.Labels[stoppedLabel] == "" {
		return err
	}
	pods, err := r.podsOn(ctx, n.Name)
	if err != nil {
		return err
	}
	for i := range pods {
		if err := r.adopt(ctx, &pods[i]); err != nil {
			return err
		}
	}
	return nil
}

// adopt does what a kubelet does that comes back: a pod that stayed is ready again, and one that
// was deleted meanwhile ends (KWOK's stage).
func (r *Runner) adopt(ctx context.Context, pod *corev1.Pod) error {
	if err := r.setReady(ctx, pod, corev1.ConditionTrue); err != nil {
		return err
	}
	err := r.patchPod(ctx, pod, map[string]any{"metadata": map[string]any{"annotations": map[string]any{kubelet: nil}}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// do cordons nodes and evicts their pods as `kubectl drain --ignore-daemonsets
// --delete-emptydir-data` does: through the Eviction API, which respects PodDisruptionBudgets,
// until all are deleted or the time is over.
func (a *drain) do(ctx context.Context, r *Runner, p *picker) (did, error) {
	nodes, err := p.nodes(ctx, r, a.NodeChoice, func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	if err != nil {
		return did{}, err
	}
	for _, n := range nodes {
		if err := r.patchNode(ctx, n.Name, map[string]any{"spec": map[string]any{"unschedulable": true}}); err != nil {
			return did{}, err
		}
	}
	var left []corev1.Pod
	unmanaged := 0
	for _, n := range nodes {
		pods, err := r.podsOn(ctx, n.Name)
		if err != nil {
			return did{}, err
		}
		for _, pod := range pods {
			owner := metav1.GetControllerOf(&pod)
			switch {
			case pod.DeletionTimestamp != nil, infra.PodEnded(&pod), pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
			case owner != nil && owner.Kind == "DaemonSet":
			case owner == nil && !a.Force:
				unmanaged++
			default:
				left = append(left, pod)
			}
		}
	}
	all, blocked := len(left), ""
	err = wait.For(ctx, "the pods to be evicted", wait.Options{Budget: time.Duration(a.Timeout), Interval: 500 * time.Millisecond, Changed: r.Tell}, func(ctx context.Context) wait.Result {
		var failed error
		left = slices.DeleteFunc(left, func(pod corev1.Pod) bool {
			err := r.Clients.Kube.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
				ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
			})
			switch {
			case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err): // conflict: the name is another pod's by now
				return true
			case apierrors.IsTooManyRequests(err):
				if ctx.Err() == nil {
					blocked = observe.PodName(&pod) + ": " + budgetText(err)
				}
			case failed == nil:
				failed = fmt.Errorf("evict pod %s: %w", observe.PodName(&pod), err)
			}
			return false
		})
		switch {
		case failed != nil && ctx.Err() == nil:
			return wait.Never(failed)
		case len(left) == 0:
			return wait.Done()
		}
		return wait.NotYet("%s not evicted, e.g. %s", lists.Count(len(left), "pod"), blocked)
	})
	what := fmt.Sprintf("%s cordoned, %s evicted", lists.Count(len(nodes), "node"), lists.Count(all-len(left), "pod"))
	if unmanaged > 0 {
		what += fmt.Sprintf(", %s without a controller left (force: true evicts them)", lists.Count(unmanaged, "pod"))
	}
	if wait.IsTimeout(err) { // what a PodDisruptionBudget protects is a result, and no mistake
		what += fmt.Sprintf(", %s not evicted within %s: %s", lists.Count(len(left), "pod"), time.Duration(a.Timeout), blocked)
		err = nil
	}
	return did{what: what, targets: names(nodes)}, err
}

// budgetText is why the API server refused an eviction: the message, with the budget's name and
// counts from its details.
func budgetText(err error) string {
	text := err.Error()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				text += " " + cause.Message
			}
		}
	}
	return text
}

// do takes GPUs away from nodes: capacity and allocatable shrink. Pods that hold them go on, as on
// a node whose device plugin reports a GPU as unhealthy; the next pods find fewer.
func (a *loseGPUs) do(ctx context.Context, r *Runner, p *picker) (did, error) {
	nodes, err := p.nodes(ctx, r, a.NodeChoice, func(n *corev1.Node) bool { return infra.NodeGPUs(n) > 0 })
	if err != nil {
		return did{}, err
	}
	lost, over := 0, 0
	for _, n := range nodes {
		had := infra.NodeGPUs(n)
		left := max(0, had-a.GPUs)
		lost += had - left
		if n.Annotations[gpusBefore] == "" {
			if err := r.patchNode(ctx, n.Name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{gpusBefore: strconv.Itoa(had)}}}); err != nil {
				return did{}, err
			}
		}
		if err := r.patchGPUs(ctx, n, strconv.Itoa(left)); err != nil {
			return did{}, err
		}
		pods, err := r.podsOn(ctx, n.Name)
		if err != nil {
			return did{}, err
		}
		held := 0
		for i := range pods {
			if !infra.PodEnded(&pods[i]) {
				held += infra.PodGPUs(&pods[i])
			}
		}
		over += max(0, held-left)
	}
	what := fmt.Sprintf("%s lost %s", lists.Count(len(nodes), "node"), lists.Count(lost, "GPU"))
	if over > 0 {
		what += fmt.Sprintf("; running pods hold %d more than there are now", over)
	}
	return did{what: what, targets: names(nodes)}, nil
}

func (r *Runner) patchGPUs(ctx context.Context, n *corev1.Node, count string) error {
	has := map[string]any{infra.GPUResource: count}
	return r.patchNode(ctx, n.Name, map[string]any{"status": map[string]any{"capacity": has, "allocatable": has}}, "status")
}

func (r *Runner) patchNode(ctx context.Context, name string, patch map[string]any, sub ...string) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	if _, err := r.Clients.Kube.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, raw, metav1.PatchOptions{FieldManager: infra.FieldManager}, sub...); err != nil {
		return fmt.Errorf("change node %s: %w", name, err)
	}
	return nil
}

// podsOn are the pods of a node, sorted by name.
func (r *Runner) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	list, err := r.Clients.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
	if err != nil {
		return nil, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	return list.Items, nil
}

func names(nodes []*corev1.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}
