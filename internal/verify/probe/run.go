package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Namespace is where the objects of probes are. A run makes it, and removes it.
const Namespace = "aicr-probes"

// Phase is that of probes among the checks of a result.
const Phase = "probes"

// stuckAfter is how long nothing may change while the scheduler refuses a pod, before the probe has
// failed: an autoscaler would not come.
const stuckAfter = 10 * time.Second

// cleanBudget is how long removing what probes made may take.
const cleanBudget = time.Minute

// Run is the probes of one cell, on its cluster.
type Run struct {
	Clients *infra.Clients
	Probes  []*Probe
	// Nodes and their GPUs are those that the recipe's cluster is meant to have, not those that it
	// has.
	Values Values
	// Played are the schedulers that kube-scheduler simulates, since their own pods do not run.
	Played []string
	// Running are those of programs that run, besides kube-scheduler (--program).
	Running []string
	// Made names the real controller that creates the pods of an API group's objects, e.g. "JobSet
	// v0.10.1 (the real one)". For these no controller is simulated.
	Made map[string]string
	// Origin says where the recipe has an object from; nil if it has none of that kind and name.
	// May be nil itself: nothing is known then.
	Origin func(result.Ref) *Origin
	// Tell says what a probe waits for. May be nil.
	Tell func(string)

	mapper  meta.RESTMapper
	objects []object
	// namespaced: the namespace is there, and is the run's.
	namespaced bool
	overrides  []string
}

// Overrides are what was set in the jobs besides what their files say, a line each.
func (r *Run) Overrides() []string { return slices.Clone(r.overrides) }

// Origin is where an object of the cluster is from.
type Origin struct {
	// Component of the recipe, and the line that decides (result.Finding has the rule).
	Component string
	Place     result.Place
	// Where is the chart's template and that line, for people.
	Where string
}

// object is one that a probe made.
type object struct {
	resource dynamic.ResourceInterface
	what     string
	name     string
}

// Run runs the probes one after the other, and stops at the first that fails. Its objects stay
// until Clean, so that they are in the debug artifacts. Later probes are in the list as skipped.
// The failure is nil if all passed; an error is the cluster's, with a reason.
func (r *Run) Run(ctx context.Context) (list []result.Check, failure *result.Failure, err error) {
	if err := r.prepare(ctx); err != nil {
		return nil, nil, err
	}
	for i, p := range r.Probes {
		check := result.Check{Phase: Phase, Name: p.Name, Place: result.Place{File: p.File, Line: p.Line}, Started: time.Now()}
		var said string
		said, failure, err = r.run(ctx, p)
		check.Duration = time.Since(check.Started)
		switch {
		case err != nil:
			return list, nil, fmt.Errorf("probe %s: %w", p.Name, err)
		case failure == nil:
			check.Status, check.Message = result.StepPassed, said
			list = append(list, check)
			continue
		}
		check.Status, check.Message, check.Details = result.StepFailed, failure.Cause(), failure.Details()
		list = append(list, check)
		for _, rest := range r.Probes[i+1:] {
			list = append(list, result.Check{Phase: Phase, Name: rest.Name, Status: result.StepSkipped, Message: "not run, since probe " + p.Name + " failed", Place: result.Place{File: rest.File, Line: rest.Line}})
		}
		return list, failure, nil
	}
	return list, nil, nil
}

// prepare makes the namespace, and waits for its ServiceAccount, without which no pod can be
// created.
func (r *Run) prepare(ctx context.Context) error {
	namespaces := r.Clients.Kube.CoreV1().Namespaces()
	_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return reason.New(reason.Usage, "make namespace %s for the probes: it exists, and nothing in it is the run's; let no component use that name", Namespace)
	case err != nil:
		return reason.New(reason.ClusterFailed, "make namespace %s for the probes: %w", Namespace, err)
	}
	r.namespaced = true
	if r.mapper, err = r.Clients.Mapper(); err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	return reason.Wrap(reason.ClusterFailed, wait.For(ctx, "the ServiceAccount of namespace "+Namespace, wait.Options{Budget: time.Minute}, func(ctx context.Context) wait.Result {
		if _, err := r.Clients.Kube.CoreV1().ServiceAccounts(Namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	}))
}

// run runs one probe, and removes what it made if it passes.
func (r *Run) run(ctx context.Context, p *Probe) (said string, failure *result.Failure, err error) {
	objects, pods, err := p.renderOnce(ctx, r.Values)
	if err != nil {
		return "", nil, &reason.Error{Reason: reason.Usage, Err: err}
	}
	for _, o := range objects {
		if err := r.tolerate(ctx, p, o); err != nil {
			return "", nil, err
		}
		failure, err := r.create(ctx, p, o)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if failure != nil || err != nil {
			return "", failure, err
		}
	}
	notes := []string{}
	for _, o := range objects {
		if r.made(o) != "" {
			continue
		}
		note, failure := r.play(ctx, p, o)
		if failure != nil {
			return "", failure, contextError(ctx)
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	if pods == 0 {
		said = "accepted by the API server: " + listOf(objects)
		if len(notes) == 0 {
			notes = append(notes, "the operator that would make pods of it is simulated, so none were placed")
		}
	} else {
		if said, failure, err = r.place(ctx, p, pods); failure != nil || err != nil {
			return "", failure, err
		}
	}
	if err := r.removeObjects(ctx); err != nil {
		return "", nil, err
	}
	return strings.Join(append([]string{said}, notes...), "; "), nil, nil
}

func listOf(objects []rendered) string {
	var all []string
	for _, o := range objects {
		all = append(all, o.String())
	}
	return strings.Join(lists.AtMost(all, 4), ", ")
}

// contextError is the cause if the context has ended: what failed then is no finding.
func contextError(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// create makes one object. It must be new: nothing that was there before is touched.
func (r *Run) create(ctx context.Context, p *Probe, o rendered) (*result.Failure, error) {
	gvk := o.object.GroupVersionKind()
	mapping, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return p.fails(o.line, fmt.Sprintf("%s: the cluster has no kind %s of %s", o, gvk.Kind, gvk.GroupVersion()), nil, "No component of the recipe installs its CRD, or not in this version."), nil
	}
	resource := dynamic.ResourceInterface(r.Clients.Dynamic.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		o.object.SetNamespace(Namespace)
		resource = r.Clients.Dynamic.Resource(mapping.Resource).Namespace(Namespace)
	}
	err = r.submit(ctx, p, o, resource)
	switch {
	case r.made(o) != "" && apierrors.IsInternalError(err):
		return nil, reason.New(reason.SchedulerFailed, "create %s: the webhooks of %s: %w", o, r.made(o), err)
	case err != nil:
		return p.fails(o.line, fmt.Sprintf("%s: the API server rejects it: %v", o, err), nil), nil
	}
	r.objects = append(r.objects, object{resource, o.String(), o.object.GetName()})
	return nil, nil
}

// fails is the failure of a probe.
func (p *Probe) fails(line int, what string, pods []string, story ...string) *result.Failure {
	return result.NewFailure(result.Finding{
		Cause: "probe " + p.Name + ": " + what, Place: result.Place{File: p.File, Line: line}, Pods: pods,
		Story: append([]string{fmt.Sprintf("probe %s (%s:%d): %s", p.Name, p.File, line, p.Spec.Description)}, story...),
	})
}

// place waits until all pods have a node with GPUs.
func (r *Run) place(ctx context.Context, p *Probe, want int) (string, *result.Failure, error) {
	by, ok := r.schedulerIs(p.Spec.Scheduler)
	if !ok {
		return "", p.fails(p.Line, fmt.Sprintf("no scheduler %s runs: no component of the recipe installs it", p.Spec.Scheduler), nil), nil
	}
	runs := r.real(p)
	var held admission
	var seen *sight
	var changed time.Time
	last := ""
	err := wait.For(ctx, "the pods of probe "+p.Name, wait.Options{Budget: p.Spec.timeout, Changed: r.Tell}, func(ctx context.Context) wait.Result {
		now, err := r.see(ctx)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		seen = now
		if len(now.pods) == now.ended {
			if held, err = r.admission(ctx); err != nil {
				return wait.NotYet("%v", err)
			}
		}
		if now.placed() >= want && len(now.waiting) == 0 {
			return wait.Done()
		}
		if text := now.line(want) + held.line(); text != last || changed.IsZero() {
			last, changed = text, time.Now()
		}
		if now.stuck(time.Since(changed), held.undecided(runs)) {
			return wait.Never(errStuck)
		}
		return wait.NotYet("%s", last)
	})
	if ctx.Err() != nil {
		return "", nil, context.Cause(ctx)
	}
	if seen == nil {
		return "", nil, reason.New(reason.ClusterFailed, "read the pods of namespace %s: %w", Namespace, err)
	}
	if err != nil {
		return "", r.notPlaced(ctx, p, seen, want, by, held.refusals), nil
	}
	if failure := seen.wrongly(p); failure != nil {
		return "", failure, nil
	}
	queues, failure, err := r.judgeQueues(ctx, p, seen.pods)
	if ctx.Err() != nil {
		return "", nil, context.Cause(ctx)
	}
	if failure != nil || err != nil {
		return "", failure, err
	}
	if err := exclusive(p, seen.pods); err != nil {
		return "", nil, err
	}
	said := fmt.Sprintf("%s on %s, by %s", lists.Count(seen.placed(), "pod"), lists.Count(len(seen.nodes), "node"), by)
	return strings.Join(append(append([]string{said}, queues...), r.chain(p, seen.pods)...), "; "), nil, nil
}

var errStuck = errors.New("the scheduler refuses a pod, and nothing changes")

// schedulerIs says how a scheduler runs in this cluster; false if it does not.
func (r *Run) schedulerIs(name string) (string, bool) {
	switch {
	case name == corev1.DefaultSchedulerName:
		return name + " (the real one)", true
	case slices.Contains(r.Played, name):
		return name + ", simulated by kube-scheduler with its own rules", true
	case slices.Contains(r.Running, name):
		return name + " (its own program)", true
	}
	return "", false
}

// notPlaced tells of the pods that have no node, in the scheduler's words, or else in those of what
// should have made them.
func (r *Run) notPlaced(ctx context.Context, p *Probe, s *sight, want int, by string, held []string) *result.Failure {
	what := s.line(want)
	story := []string{"Scheduler: " + by + "."}
	var pods []string
	for _, w := range s.waiting {
		pods = append(pods, infra.NamespacedName(w.pod.Namespace, w.pod.Name))
	}
	story = append(story, s.words()...)
	if len(s.waiting) == 0 {
		if said := append(slices.Clone(held), r.refusals(ctx, p)...); len(said) > 0 {
			story = append(story, said...)
			what += ": " + said[0]
		}
	} else {
		first := s.waiting[0]
		what += fmt.Sprintf("; pod %s: %s", pods[0], first.why)
	}
	return p.fails(p.Line, what, pods, story...)
}

// refusals are the events about pods that could not be created, newest last; of controllers that
// run for real, all that are warnings.
func (r *Run) refusals(ctx context.Context, p *Probe) []string {
	selector := "reason=FailedCreate"
	if r.real(p) {
		selector = "type=" + corev1.EventTypeWarning
	}
	events, err := r.Clients.Kube.CoreV1().Events(Namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil
	}
	var all []string
	for i := range events.Items {
		e := &events.Items[i]
		all = append(all, fmt.Sprintf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message))
	}
	return slices.Compact(all)
}

// removeObjects removes the objects of the last probe, and waits until its pods are deleted, since
// the next probe needs their GPUs.
func (r *Run) removeObjects(ctx context.Context) error {
	policy := metav1.DeletePropagationBackground
	for i := len(r.objects) - 1; i >= 0; i-- {
		m := r.objects[i]
		if err := m.resource.Delete(ctx, m.name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil && !apierrors.IsNotFound(err) {
			return reason.New(reason.ClusterFailed, "remove %s: %w", m.what, err)
		}
		r.objects = r.objects[:i]
	}
	if err := r.removeMade(ctx); err != nil {
		return err
	}
	return reason.Wrap(reason.ClusterFailed, wait.For(ctx, "the pods of a probe to be gone", wait.Options{Budget: cleanBudget}, func(ctx context.Context) wait.Result {
		pods, err := r.Clients.Kube.CoreV1().Pods(Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if n := len(pods.Items); n > 0 {
			return wait.NotYet("%s left", lists.Count(n, "pod"))
		}
		return wait.Done()
	}))
}

// Clean removes everything that the run made, within a minute.
func (r *Run) Clean(ctx context.Context) error {
	if !r.namespaced {
		return nil
	}
	if err := r.removeObjects(ctx); err != nil {
		return err
	}
	namespaces := r.Clients.Kube.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, Namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return reason.New(reason.ClusterFailed, "remove namespace %s: %w", Namespace, err)
	}
	err := wait.For(ctx, "namespace "+Namespace+" to be gone", wait.Options{Budget: cleanBudget}, func(ctx context.Context) wait.Result {
		_, err := namespaces.Get(ctx, Namespace, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return wait.Done()
		case err != nil:
			return wait.NotYet("%v", err)
		}
		return wait.NotYet("it is there")
	})
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	r.namespaced = false
	return nil
}
