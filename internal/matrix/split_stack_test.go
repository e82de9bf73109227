package matrix

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Of a split recipe nothing orders the halves: ops begins at once, its sync fails while a kind of core is not there, and
// its retry succeeds when core has installed the kind.
func TestSplit(t *testing.T) {
	t.Parallel()
	splitSeed().run(t, *stackRunner(t), bundle.ArgoCDOCI)
}

// splitSeed is a recipe whose component of ops has an object of a kind that core installs after a hook, which completes
// only when ops has failed to sync.
func splitSeed() seed {
	return seed{
		recipe: splitRecipe, runner: func(r *Runner) { r.Split = true; stage(neverCompletes)(r) },
		deployed: func(ctx context.Context, env *lane.Env) error {
			if err := opsRetries(ctx, env); err != nil {
				return err
			}
			return completeHook(ctx, env)
		},
		want: outcomeWanted{check: func(t *testing.T, res result.Result) {
			if !slices.ContainsFunc(res.Overrides, func(s string) bool {
				return strings.Contains(s, "2 components of core by Application nvidia-stack-core and 1 of ops by nvidia-stack-ops")
			}) {
				t.Errorf("the result does not say that it was split: %q", res.Overrides)
			}
		}},
	}
}

func splitRecipe(r *tinyRecipe) {
	r.part("a").add("crd.yaml", widgetCRD)
	r.part("a").add("hook.yaml", strings.NewReplacer("{name: {{ .Release.Name }}-job}", "{name: early, annotations: {helm.sh/hook: pre-install}}", "LABEL", "never-completes").Replace(jobTemplate))
	r.part("b").add("widget.yaml", widget)
	r.part("b").class = "ops"
}

// opsRetries waits until the Application of ops is to be synced again, while core's kind is not there: it was synced
// before.
func opsRetries(ctx context.Context, env *lane.Env) error {
	return wait.For(ctx, "a second sync of ops", wait.Options{Budget: stretched(90 * time.Second), Interval: 200 * time.Millisecond}, func(ctx context.Context) wait.Result {
		app, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).Get(ctx, "b", metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase")
		text, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "message")
		if phase != "Running" || !strings.Contains(text, "Retrying attempt") {
			return wait.NotYet("Application b: %s, %s", phase, text)
		}
		_, err = env.Clients.Dynamic.Resource(infra.CRDResource).Get(ctx, "widgets.faults.example.com", metav1.GetOptions{})
		if err == nil {
			return wait.Never(errors.New("core's kind is there already"))
		}
		return wait.Done()
	})
}

// completeHook completes the pod of core's hook, once it runs, until the Job has seen that: a stage may write its status, too.
func completeHook(ctx context.Context, env *lane.Env) error {
	pods := env.Clients.Kube.CoreV1().Pods("a")
	return wait.For(ctx, "the end of core's hook", wait.Options{Budget: stretched(time.Minute), Interval: 200 * time.Millisecond}, func(ctx context.Context) wait.Result {
		if job, err := env.Clients.Kube.BatchV1().Jobs("a").Get(ctx, "early", metav1.GetOptions{}); err == nil && job.Status.Succeeded > 0 {
			return wait.Done()
		}
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "faults=never-completes"})
		if err != nil || len(list.Items) != 1 || list.Items[0].Status.Phase == corev1.PodPending {
			return wait.NotYet("%d pods, %v", len(list.Items), err)
		}
		pod := &list.Items[0]
		pod.Status.Phase = corev1.PodSucceeded
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return wait.NotYet("%v", err)
	})
}
