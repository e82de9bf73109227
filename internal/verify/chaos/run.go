package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Runner takes a plan's steps in one cluster, all of whose simulated nodes and pods may be broken:
// it must be the run's own. KWOK there needs Stages.
type Runner struct {
	Clients *infra.Clients
	// Tell, if set, gets the condition that a step waits for.
	Tell func(string)
	// Begin, if set, is called with the name of a step at its start. The returned function is
	// called at the step's end.
	Begin func(step string) func(end string)
	// TaskPassed waits until the task of a workflow has passed; nil where there are no tasks.
	TaskPassed func(ctx context.Context, id string) error

	survey survey
}

// action is what a step does.
type action interface {
	name() string
	// check says what is wrong with the action, and fills in defaults.
	check(complain)
	do(context.Context, *Runner, *picker) (did, error)
}

// did is what an action did, in a few words, and the nodes or pods that were chosen.
type did struct {
	what    string
	targets []string
}

// Run takes the steps in order, until the last or until ctx ends. A step that cannot be done is in
// the result with its error, and the next one follows. If the workloads cannot be polled before the
// first step, that step has the error and no step is taken: what was broken before could not be
// distinguished from what chaos breaks.
func (r *Runner) Run(ctx context.Context, p *Plan) *result.Chaos {
	if r.Tell == nil {
		r.Tell = func(string) {}
	}
	out := &result.Chaos{File: p.File, Seed: p.Seed}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, result.ChaosStep{Name: s.Name, Action: s.action.name(), Line: s.Line, Status: result.StepNotRun})
	}
	begun := time.Now()
	v, err := observe.Poll(ctx, r.Clients.Kube)
	if err != nil {
		if ctx.Err() == nil && len(out.Steps) > 0 {
			first := &out.Steps[0]
			first.Status, first.Error = result.StepFailed, fmt.Sprintf("poll the workloads before the first step: %v; no step was taken, since what was broken before is not known", err)
		}
		return out
	}
	r.survey.begin(v)
	out.Workloads = len(r.survey.known)
	last := begun
	for i := range p.Steps {
		step, one := &p.Steps[i], &out.Steps[i]
		if err := r.await(ctx, step, begun, last); err != nil {
			if ctx.Err() != nil {
				break
			}
			one.Status, one.Error, one.Started = result.StepFailed, err.Error(), time.Since(begun).Milliseconds()
			continue
		}
		r.take(ctx, p, step, one, begun)
		last = time.Now()
		if ctx.Err() != nil {
			break
		}
	}
	return out
}

// await waits until a step may start.
func (r *Runner) await(ctx context.Context, s *Step, begun, last time.Time) error {
	until := begun.Add(s.At)
	if s.Wait > 0 {
		until = last.Add(s.Wait)
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.AfterTask != "" {
		if err := r.TaskPassed(ctx, s.AfterTask); err != nil {
			return err
		}
	}
	if s.When == nil {
		return ctx.Err()
	}
	what := fmt.Sprintf("%s to be %s", lists.Count(s.When.Pods, "pod"), s.When.Phase)
	return wait.For(ctx, what, wait.Options{Budget: time.Duration(s.When.Timeout), Interval: 500 * time.Millisecond, Changed: r.Tell}, func(ctx context.Context) wait.Result {
		list, err := r.Clients.Kube.CoreV1().Pods(s.When.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(s.When.Labels).String()})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		n := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodPhase(s.When.Phase) {
				n++
			}
		}
		if n < s.When.Pods {
			return wait.NotYet("%d of %d", n, s.When.Pods)
		}
		return wait.Done()
	})
}

// take does one step, and polls the workloads before and after it. Without the poll before it the
// step is not done: a workload that changed since the last poll would count as the step's victim.
func (r *Runner) take(ctx context.Context, p *Plan, s *Step, one *result.ChaosStep, begun time.Time) {
	start := time.Now()
	one.Started = start.Sub(begun).Milliseconds()
	end := func(string) {}
	if r.Begin != nil {
		end = r.Begin(s.Name)
	}
	defer func() { one.Took = time.Since(start).Milliseconds(); end(one.Did + one.Error) }()
	v, err := observe.Poll(ctx, r.Clients.Kube)
	if err != nil {
		if ctx.Err() == nil {
			one.Status, one.Error = result.StepFailed, fmt.Sprintf("poll the workloads before the step: %v; the step was not taken", err)
		}
		return
	}
	r.survey.see(v)
	done, err := s.action.do(ctx, r, newPicker(p.Seed, s.index))
	one.Status, one.Did, one.Targets = result.StepPassed, done.what, done.targets
	if err != nil {
		one.Status, one.Error = result.StepFailed, err.Error()
		if len(done.targets) == 0 {
			return // nothing was done
		}
	}
	one.Unsettled = r.settle(ctx, s.Settle)
	one.Whole, one.Hurt = r.survey.standing()
}

const (
	// quiet is the time without a change after which workloads count as settled: by then the
	// controllers that saw the last change have reacted to it, or have started to.
	quiet    = time.Second
	interval = 250 * time.Millisecond
)

// settle waits until workloads have settled. If the time is over before, it returns what still
// changes.
func (r *Runner) settle(ctx context.Context, budget time.Duration) string {
	if budget == 0 {
		budget = interval
	}
	last, since := "", time.Time{}
	err := wait.For(ctx, "the workloads to be at rest", wait.Options{Budget: budget, Interval: interval, Changed: r.Tell}, func(ctx context.Context) wait.Result {
		v, err := observe.Poll(ctx, r.Clients.Kube)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		r.survey.see(v)
		if why := r.survey.restless(); why != "" {
			since = time.Time{}
			return wait.NotYet("%s", why)
		}
		print := fingerprint(r.survey.last)
		if since.IsZero() || print != last {
			last, since = print, time.Now()
		}
		if time.Since(since) < quiet {
			return wait.NotYet("watching whether they stay so")
		}
		return wait.Done()
	})
	if err == nil {
		return ""
	}
	return err.Error()
}

// fingerprint changes when a workload does.
func fingerprint(all []observe.Workload) string {
	var b strings.Builder
	for i := range all {
		s := &all[i]
		fmt.Fprintf(&b, "%s %d %d %t %s\n", s.Ref, s.Want, s.Ready, s.Done, s.Failed)
		var pods []string
		for _, p := range s.Pods {
			pods = append(pods, string(p.UID)+string(p.Status.Phase)+p.Spec.NodeName)
		}
		slices.Sort(pods)
		b.WriteString(strings.Join(pods, " ") + "\n")
	}
	return b.String()
}
