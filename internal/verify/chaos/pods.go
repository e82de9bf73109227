package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

func (a *killPods) name() string       { return "killPods" }
func (a *killPods) check(say complain) { checkPods(a.PodChoice, a.Count, say) }
func (a *failPods) name() string       { return "failPods" }
func (a *failPods) check(say complain) {
	if a.Delay == 0 {
		a.Delay = yamlx.Duration(time.Second) // KWOK reads no delay as its own default
	}
	if a.ExitCode == 0 {
		a.ExitCode = 1
	}
	if a.ExitCode < 1 || a.ExitCode > 255 {
		say("exitCode %d: want 1 to 255", a.ExitCode)
	}
	checkPods(a.PodChoice, a.Count, say)
}

// do deletes pods, as `kubectl delete pod` does.
func (a *killPods) do(ctx context.Context, r *Runner, p *picker) (did, error) {
	pods, err := p.pods(ctx, r, a.PodChoice, a.Count)
	if err != nil {
		return did{}, err
	}
	for _, pod := range pods {
		err := r.Clients.Kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return did{}, fmt.Errorf("delete pod %s: %w", observe.PodName(pod), err)
		}
	}
	return did{what: lists.Count(len(pods), "pod") + " killed", targets: podNames(pods)}, nil
}

// do has KWOK's stage make running pods fail, with an exit code.
func (a *failPods) do(ctx context.Context, r *Runner, p *picker) (did, error) {
	pods, err := p.pods(ctx, r, a.PodChoice, a.Count)
	if err != nil {
		return did{}, err
	}
	with := failStage + ".stage.kwok.x-k8s.io"
	annotations := map[string]any{with + "/delay": time.Duration(a.Delay).String(), with + "/jitter-delay": time.Duration(a.Delay).String(), with + "/exit-code": strconv.Itoa(a.ExitCode)}
	if a.Reason != "" {
		annotations[with+"/reason"] = a.Reason
	}
	if a.Message != "" {
		annotations[with+"/message"] = a.Message
	}
	for _, pod := range pods {
		err := r.patchPod(ctx, pod, map[string]any{"metadata": map[string]any{"labels": map[string]any{with: "true"}, "annotations": annotations}})
		if err != nil && !apierrors.IsNotFound(err) {
			return did{}, err
		}
	}
	err = wait.For(ctx, "the pods to fail", wait.Options{Budget: time.Duration(a.Delay) + controllersBudget}, func(ctx context.Context) wait.Result {
		for _, pod := range pods {
			if have := r.goesOn(ctx, pod); have != nil {
				return wait.NotYet("pod %s is %s", observe.PodName(pod), have.Status.Phase)
			}
		}
		return wait.Done()
	})
	return did{what: fmt.Sprintf("%s failed with exit code %d", lists.Count(len(pods), "pod"), a.ExitCode), targets: podNames(pods)}, err
}

func (r *Runner) patchPod(ctx context.Context, pod *corev1.Pod, patch map[string]any, sub ...string) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = r.Clients.Kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, raw, metav1.PatchOptions{FieldManager: infra.FieldManager}, sub...)
	if err != nil {
		return fmt.Errorf("change pod %s: %w", observe.PodName(pod), err)
	}
	return nil
}

// goesOn is the pod as it is now; nil if it has ended, is to be deleted, or cannot be read.
func (r *Runner) goesOn(ctx context.Context, pod *corev1.Pod) *corev1.Pod {
	have, err := r.Clients.Kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil || have.UID != pod.UID || have.DeletionTimestamp != nil || infra.PodEnded(have) {
		return nil
	}
	return have
}

func podNames(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, observe.PodName(p))
	}
	return all
}
