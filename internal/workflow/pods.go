package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// named is how many pods a reason for waiting lists; the others are counted.
const named = 3

// checkPods waits until each object's podCount pods have been seen in the phase, on nodes with the
// labels. A pod counts from then on, even if it ends meanwhile: a short job passes Running while
// others are still starting.
func (e *Engine) checkPods(ctx context.Context, s *submission, p *checkPodParams, line infra.Task) (string, error) {
	want := 0
	for _, o := range s.objects {
		want += o.pods
	}
	reached := map[string]bool{}
	var last podPoll
	what := fmt.Sprintf("%d pods of %s", want, s.task.ID)
	if p.Status != "" {
		what += " to be " + p.Status
	}
	if len(p.NodeLabels) > 0 {
		what += " on nodes with " + labelText(p.NodeLabels)
	}
	err := until(ctx, what, p.Timeout, line, func(context.Context) wait.Result {
		last = e.look(s, p, reached)
		if last.wrong != nil {
			return wait.Never(last.wrong)
		}
		if last.short == 0 {
			return wait.Done()
		}
		return wait.NotYet("%d of %d; %s", want-last.short, want, last.why())
	})
	if wait.IsTimeout(err) && len(last.unseen) > 0 {
		err = &reason.Error{Reason: reason.SchedulerMissing, Err: err}
	}
	return fmt.Sprintf("%d pods", want), err
}

// podPoll is one poll of the pods of a submission.
type podPoll struct {
	short   int      // pods that have not been seen in the phase
	lacking []string // the reasons of a few of them
	unseen  []string // pods that ask for a scheduler that has not looked at them
	others  []string // pods of the namespace that no podNameFormat matches, if some are missing
	wrong   error    // no amount of time would help
}

func (l podPoll) why() string {
	all := append(slices.Clone(l.unseen), l.lacking...)
	if len(l.others) > 0 {
		all = append(all, "pods there that podNameFormat does not match: "+strings.Join(lists.AtMost(l.others, named), ", "))
	}
	return strings.Join(all, "; ")
}

func (e *Engine) look(s *submission, p *checkPodParams, reached map[string]bool) podPoll {
	var l podPoll
	byNamespace := map[string][]*corev1.Pod{}
	for _, o := range s.objects {
		namespace := o.namespace()
		if _, ok := byNamespace[namespace]; !ok {
			pods := e.observer.Pods(namespace)
			slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
			byNamespace[namespace] = pods
		}
	}
	matched := map[*corev1.Pod]bool{}
	for _, o := range s.objects {
		found, done := 0, 0
		for _, pod := range byNamespace[o.namespace()] {
			if matched[pod] || !o.podName.MatchString(pod.Name) {
				continue
			}
			matched[pod] = true
			found++
			if l.judge(e, p, pod, reached) {
				done++
			}
			if l.wrong != nil {
				return l
			}
		}
		l.short += max(0, o.pods-done)
		if found < o.pods && len(l.lacking) < named {
			l.lacking = append(l.lacking, fmt.Sprintf("%s has %d pods, want %d", o.name, found, o.pods))
			for _, pod := range byNamespace[o.namespace()] {
				if !matched[pod] {
					l.others = append(l.others, pod.Name)
				}
			}
		}
	}
	return l
}

// judge reports whether a pod is as expected, and records why not.
func (l *podPoll) judge(e *Engine, p *checkPodParams, pod *corev1.Pod, reached map[string]bool) bool {
	key := string(pod.UID)
	if reached[key] {
		return true
	}
	name := infra.NamespacedName(pod.Namespace, pod.Name)
	if p.Status != "" && string(pod.Status.Phase) != p.Status {
		if why := l.waiting(pod, name); why != "" && len(l.lacking) < named {
			l.lacking = append(l.lacking, why)
		}
		return false
	}
	if len(p.NodeLabels) > 0 {
		if pod.Spec.NodeName == "" {
			return false
		}
		have := e.observer.NodeLabels(pod.Spec.NodeName)
		for key, value := range p.NodeLabels {
			if have[key] != value {
				l.wrong = fmt.Errorf("pod %s is on node %s, which has %s=%q, want %q", name, pod.Spec.NodeName, key, have[key], value)
				return false
			}
		}
	}
	reached[key] = true
	return true
}

// waiting returns why a pod is not in its phase.
func (l *podPoll) waiting(pod *corev1.Pod, name string) string {
	text := fmt.Sprintf("%s is %s", name, pod.Status.Phase)
	if pod.Spec.NodeName != "" || pod.Status.Phase != corev1.PodPending {
		return text
	}
	if why := placement.Unplaced(pod); why != "" {
		return text + ": " + why
	}
	if scheduler := pod.Spec.SchedulerName; scheduler != corev1.DefaultSchedulerName {
		if len(l.unseen) == 0 {
			l.unseen = append(l.unseen, fmt.Sprintf("%s: no scheduler has looked at it. It asks for %q; does that run in this cluster?", text, scheduler))
		}
		return ""
	}
	return text + ": no scheduler has looked at it yet"
}

func labelText(labels map[string]string) string {
	var all []string
	for k, v := range labels {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// waitPods waits after the last task until every pod of every job has ended, so that the result is
// complete.
func (e *Engine) waitPods(ctx context.Context) {
	jobs := e.Submitted()
	line := e.Progress.Begin("waiting until all pods have ended")
	err := wait.For(ctx, "all pods of the jobs to end", wait.Options{Budget: e.WaitPods, Interval: 500 * time.Millisecond, Changed: line.Update}, func(context.Context) wait.Result {
		if left := e.observer.Unfinished(jobs); left > 0 {
			return wait.NotYet("%d have not ended", left)
		}
		return wait.Done()
	})
	if err != nil {
		e.notes = append(e.notes, err.Error())
	}
	line.End("", nil)
}
