// Package refs checks what the workloads and objects of a bundle refer to by name or by labels. A
// simulated kubelet starts every pod, a simulated provisioner creates every volume, and no process
// serves a webhook: so nothing else in the cluster notices a reference that leads nowhere. The
// checks read nothing: they compare the expectation with lists that were read once
// (docs/how-it-works.md, References).
package refs

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/chartversions"
	"github.com/nvidia/aicr-action/internal/matrix/refs/customrefs"
	"github.com/nvidia/aicr-action/internal/matrix/refs/everyday"
	"github.com/nvidia/aicr-action/internal/matrix/refs/features"
	"github.com/nvidia/aicr-action/internal/matrix/refs/gateways"
	"github.com/nvidia/aicr-action/internal/matrix/refs/jobsets"
	"github.com/nvidia/aicr-action/internal/matrix/refs/kubelet"
	"github.com/nvidia/aicr-action/internal/matrix/refs/kubeversions"
	"github.com/nvidia/aicr-action/internal/matrix/refs/monitoring"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/matrix/refs/rehook"
	"github.com/nvidia/aicr-action/internal/matrix/refs/topologies"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Report is what the checks found.
type Report struct {
	// Faults make the recipe fail. Warnings may be intended. Notes say what was not verified, and
	// why.
	Faults          []Fault
	Warnings, Notes []string
}

// Fault is a reference that makes the recipe fail.
type Fault struct {
	Reason  reason.Reason
	Finding result.Finding
}

// Err returns the faults as a cell's failure; nil without faults. Its reason is the first fault's.
func (r *Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	f := &result.Failure{}
	for i := range r.Faults {
		f.Findings = append(f.Findings, r.Faults[i].Finding)
	}
	return &reason.Error{Reason: r.Faults[0].Reason, Err: f}
}

// Check compares an expectation with what the cluster has. The components are the recipe's: their
// values show which line set a name.
func Check(e *bundle.Expectation, components []recipe.Component, have *Cluster) Report {
	c := &checker{expectation: e, components: components, have: have, merged: map[string]*result.Finding{}, unorderedPairs: map[[2]string]bool{}}
	c.addTransient()
	for i := range e.Workloads {
		w := &e.Workloads[i]
		c.podNeeds(w)
		c.admission(w)
		c.volumes(w)
		c.readinessGates(w)
		c.system(w)
		c.criticalPods(w)
		c.duplicates(w)
		c.refused(w)
		if !starts(w) {
			c.template(w)
		}
	}
	c.claims()
	c.volumeNames()
	c.sharedDisks()
	c.deviceClasses()
	c.problems(topologies.Find(e, have.View.Nodes))
	c.problems(rehook.Find(e))
	c.problems(chartversions.Find(e)) // a fault where it is one: Deadlocks
	c.problems(customrefs.Find(e))
	c.problems(features.Find(e))
	c.problems(monitoring.Find(e)) // faults where they are some: Impossible
	c.problems(jobsets.Find(e))
	c.problems(kubeversions.Find(e, have.View.Nodes, have.Version, false)) // a fault where it is one: Impossible
	c.problems(gateways.Find(e, have.Services))
	c.problems(ofAgents(e, have.Devices.Claims))
	c.problems(everyday.Find(e, everyday.Cluster{Secrets: have.Secrets, Services: have.Services, Provisioners: have.Provisioners, ClaimSpecs: have.ClaimSpecs, Volumes: have.Volumes, Nodes: have.View.Nodes, Pods: c.podsOf}))
	for i := range e.Objects {
		c.object(&e.Objects[i])
	}
	return c.report()
}

// problems adds what packages of their own have found.
func (c *checker) problems(all []problem.Problem) {
	for _, p := range all {
		r := reference{from: p.From, component: p.Component, template: p.Template, name: p.Name, text: p.Text, then: p.Then, cause: p.Cause, at: p.At}
		if m := p.Missing; m.Name != "" {
			if made := c.maker(m.Kind, m.Namespace, m.Name, p.From); made != nil {
				c.note("%s, which %s (%s) names, is made at run time by %s", m, p.From, p.Component, made.by)
				continue
			}
		}
		switch {
		case p.Note:
			c.note("%s %s; %s", r.subject(), r.text, r.then)
			continue
		case p.Reason == "":
			c.warn(r)
			continue
		}
		c.fail(p.Reason, r)
	}
}

// refused adds what a kubelet refuses by the template alone.
func (c *checker) refused(w *bundle.Workload) {
	for _, p := range slices.Concat(kubelet.Refusals(&w.PodSpec), kubelet.Paths(&w.PodSpec, c.around(w)), kubelet.Named(w.Kind, w.Namespace, w.Name, &w.PodSpec)) {
		r := reference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template, name: p.Name, text: p.Text, then: p.Then, cause: w.Component + w.Template + p.Text}
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
	expectation *bundle.Expectation
	components  []recipe.Component
	have        *Cluster
	// transient are the Secrets and ConfigMaps that only hooks found.
	transient map[string]bool

	faults   []*fault
	warnings []string
	notes    []string
	// merged are the findings by what is missing: one cause, whatever the number of references.
	merged map[string]*result.Finding
	later  []*later
	// unorderedPairs are the components, each with that of a webhook for its objects, of which a
	// warning has said that nothing orders them.
	unorderedPairs map[[2]string]bool
}

// later is an object that is created at run time, with those that need it.
type later struct {
	what, how, one, many string
	users                []string
}

type fault struct {
	reason  reason.Reason
	finding *result.Finding
}

// reference is one reference from an object to another.
type reference struct {
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

// subject is the object, with its component if it has one.
func (r reference) subject() string {
	if r.component == "" {
		return r.from.String()
	}
	return fmt.Sprintf("%s (%s)", r.from, r.component)
}

func (c *checker) fail(why reason.Reason, r reference) {
	if f := c.merged[r.cause]; f != nil && r.cause != "" {
		if *f.Object != r.from && !slices.Contains(f.Others, r.from) {
			f.Others = append(f.Others, r.from)
			f.Story = append(f.Story, "so does "+r.from.String())
		}
		return
	}
	place, where := c.place(r)
	f := &result.Finding{Cause: r.subject() + ": " + r.text, Object: &r.from, Component: r.component, Place: place}
	f.Story = append(f.Story, f.Cause, "  "+r.then, "  "+where)
	c.merged[r.cause] = f
	c.faults = append(c.faults, &fault{why, f})
}

func (c *checker) warn(r reference) {
	_, where := c.place(r)
	c.warnings = append(c.warnings, fmt.Sprintf("%s: %s; %s (%s)", r.subject(), r.text, r.then, where))
}

func (c *checker) note(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(c.notes, line) {
		c.notes = append(c.notes, line)
	}
}

// unverified notes that an object which exists only if operators and Jobs do their work could not
// be checked.
func (c *checker) unverified(what, how string, user result.Ref, one, many string) {
	i := slices.IndexFunc(c.later, func(l *later) bool { return l.what == what && l.how == how && l.one == one })
	if i < 0 {
		i = len(c.later)
		c.later = append(c.later, &later{what: what, how: how, one: one, many: many})
	}
	if l := c.later[i]; !slices.Contains(l.users, user.String()) {
		l.users = append(l.users, user.String())
	}
}

func (l *later) String() string {
	if len(l.users) == 1 {
		return fmt.Sprintf("%s %s; without it %s %s", l.what, l.how, l.users[0], l.one)
	}
	return fmt.Sprintf("%s %s; without it %s and %d more %s", l.what, l.how, l.users[0], len(l.users)-1, l.many)
}

func (c *checker) report() Report {
	for _, l := range c.later {
		c.notes = append(c.notes, l.String())
	}
	r := Report{Warnings: c.warnings, Notes: c.notes}
	for _, f := range c.faults {
		r.Faults = append(r.Faults, Fault{f.reason, *f.finding})
	}
	return r
}
