// Package refs checks what the workloads and objects of a bundle refer to by name or by labels. A
// simulated kubelet starts every pod, a simulated provisioner creates every volume, and no process
// serves a webhook: so nothing else in the cluster notices a reference that leads nowhere. The
// checks read nothing: they compare the expectation with lists that were read once
// (docs/how-it-works.md, References).
package refs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Report is what the checks found.
type Report = judge.Report

// checkAll compares an expectation with what the cluster has. The components are the recipe's: their
// values show which line set a name.
func checkAll(e *bundle.Expectation, components []recipe.Component, have *facts.Live) Report {
	r, _ := CheckWith(e, components, have, func(*facts.Index) ([]problem.Problem, error) { return nil, nil })
	return r
}

// CheckWith is Check with what judge finds besides: the checks that have left this package.
func CheckWith(e *bundle.Expectation, components []recipe.Component, have *facts.Live, judge func(*facts.Index) ([]problem.Problem, error)) (Report, error) {
	c := newChecker(e, components, have)
	c.addTransient()
	for i := range e.Workloads {
		w := &e.Workloads[i]
		c.podNeeds(w)
		c.admission(w)
		c.volumes(w)
		c.criticalPods(w)
		c.refused(w)
		if !starts(w) {
			c.template(w)
		}
	}
	c.claims()
	c.volumeNames()
	c.sharedDisks()
	c.deviceClasses()
	c.problems(ofAgents(e, have.Devices.Claims))
	for i := range e.Objects {
		c.object(&e.Objects[i])
	}
	found, err := judge(c.index)
	c.problems(found)
	return c.Report(), err
}

// problems adds what packages of their own have found.
func (c *checker) problems(all []problem.Problem) {
	for _, p := range all {
		c.Add(p)
	}
}

// refused adds what a kubelet refuses by the template alone.
func (c *checker) refused(w *bundle.Workload) {
	for _, p := range slices.Concat(KubeletRefusals(&w.PodSpec), kubeletPaths(&w.PodSpec, c.around(w)), kubeletNamed(w.Kind, w.Namespace, w.Name, &w.PodSpec)) {
		r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template, name: p.Name, text: p.Text, then: p.Then, cause: w.Component + w.Template + p.Text}
		if p.Harmless {
			c.warn(r)
			continue
		}
		c.fail(reason.WorkloadFailed, r)
	}
}

// starts reports whether a workload has pods without a further action, so that the scheduler and
// the gate have judged one.
func starts(w *bundle.Workload) bool { return w.Kind != "CronJob" && w.Replicas != 0 }

type checker struct {
	*judge.Docket
	index       *facts.Index
	expectation *bundle.Expectation
	components  []recipe.Component
	have        *facts.Live
	// transient are the Secrets and ConfigMaps that only hooks found.
	transient map[string]bool
	// unorderedPairs are the components, each with that of a webhook for its objects, of which a
	// warning has said that nothing orders them.
	unorderedPairs map[[2]string]bool
}

// newChecker returns one that has found nothing; have is nil before there is a cluster.
func newChecker(e *bundle.Expectation, components []recipe.Component, have *facts.Live) *checker {
	var nodes []corev1.Node
	if have != nil && have.View != nil {
		nodes = have.View.Nodes
	}
	x := facts.New(e, components, nodes, have)
	return &checker{Docket: judge.NewDocket(x), index: x, expectation: e, components: components, have: have, unorderedPairs: map[[2]string]bool{}}
}

// maker is what will create an object at run time; nil if nothing in the bundle seems to.
func (c *checker) maker(kind, namespace, name string, from result.Ref) *facts.Maker {
	return c.index.MadeAtRunTime(kind, namespace, name, from)
}

// refsReference is one reference from an object to another.
type refsReference struct {
	from      result.Ref
	component string
	template  string
	// text says what it does, e.g. "mounts Secret a/b, which does not exist".
	text string
	// name is the name that the recipe sets, if one of its values does.
	name string
	// cause distinguishes faults of different causes.
	cause string
	// then says what would happen on a real cluster.
	then string
	// at is the place, if it is known already.
	at result.Place
}

// problem is the reference, as one that leads nowhere.
func (r refsReference) problem() problem.Problem {
	return problem.Problem{From: r.from, Component: r.component, Template: r.template, Text: r.text, Then: r.then, Name: r.name, Cause: r.cause, At: r.at}
}

func (c *checker) fail(why reason.Reason, r refsReference) {
	p := r.problem()
	p.Reason = why
	c.Add(p)
}

func (c *checker) warn(r refsReference) { c.Add(r.problem()) }

func (c *checker) note(format string, args ...any) { c.Note(fmt.Sprintf(format, args...)) }

// unverified notes that an object which exists only if operators and Jobs do their work could not
// be checked.
func (c *checker) unverified(what, how string, user result.Ref, one, many string) {
	c.Unverified(what, how, user, one, many)
}
