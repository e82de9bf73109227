package refs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/refs/chartversions"
	"github.com/nvidia/aicr-action/internal/matrix/refs/healthchecks"
	"github.com/nvidia/aicr-action/internal/matrix/refs/idle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/needs"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Deadlocks finds what a deployer can never finish: workloads that need an object which it creates
// only once they are ready, hooks that never go, releases of hooks only, claims of an attributes
// class that does not exist or that no pod uses, or of a volume that is another's, certificates of an issuer that does not exist, pods for
// a node by its name, objects of an owner that does not exist, definitions whose conversion cannot be called, releases that a webhook of
// their own refuses. No cluster is needed: what comes when is in the bundle. An object that
// something else may create at run time is left out.
func Deadlocks(e *bundle.Expectation, components []recipe.Component, d lane.Order) Report {
	c := newChecker(e, components, nil)
	c.attributes()
	c.rendered()
	for i := range e.Objects {
		c.owned(&e.Objects[i])
		c.conversion(&e.Objects[i])
		c.request(&e.Objects[i])
	}
	c.volumeNames()
	for i := range e.Workloads {
		c.nodeName(&e.Workloads[i])
		c.refused(&e.Workloads[i])
		c.lacks(&e.Workloads[i])
	}
	for _, d := range e.Doomed {
		c.fail(reason.DeployFailed, reference{from: d.Of, text: d.Text, then: d.Then, at: result.Place{File: d.At.File, Line: d.At.Line}, cause: "doomed " + d.Of.String() + d.Text})
	}
	c.problems(chartversions.Find(e))
	c.problems(healthchecks.Find(e, order{checker: c, delivery: d}.dependsOn))
	if !d.AtOnce {
		o := order{checker: c, delivery: d}
		if d.ArgoCD {
			o.hooksOnly()
			c.problems(idle.Late(e, o.after))
		}
		for i := range e.Objects {
			o.finalizers(&e.Objects[i])
			o.endless(&e.Objects[i])
			o.patience(&e.Objects[i])
			o.unbound(&e.Objects[i])
			o.refusesItself(&e.Objects[i])
		}
		for i := range e.Workloads {
			if w := &e.Workloads[i]; starts(w) && w.Operator == "" {
				o.workload(w)
			}
		}
	}
	return c.Report()
}

type order struct {
	*checker
	delivery lane.Order
}

func (c order) workload(w *bundle.Workload) {
	user := c.find(w.Kind, w.Namespace, w.Name, w.Release)
	if user == nil {
		return
	}
	r := reference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template}
	all := needs.Of(&w.PodSpec)
	if account := w.PodSpec.ServiceAccountName; account != "" && account != "default" {
		all = append(all, needs.Need{Kind: "ServiceAccount", Name: account, How: "runs as"})
	}
	for _, n := range all {
		if !w.Hook && c.deleted(user, n) && c.maker(n.Kind, w.Namespace, n.Name, r.from) == nil {
			c.takenAway(r, n, infra.NamespacedName(w.Namespace, n.Name))
			continue
		}
		late := c.late(user, n)
		if late == nil || c.maker(n.Kind, w.Namespace, n.Name, r.from) != nil {
			continue
		}
		r.name, r.cause = n.Name, "later "+n.Kind+w.Namespace+"/"+n.Name
		r.text = fmt.Sprintf("%s %s %s, which %s creates only later (%s), once this %s is ready", n.How, n.Kind, infra.NamespacedName(w.Namespace, n.Name), releaseOf(late, user), late.Template, w.Kind)
		r.then = "each waits for the other"
		if w.Hook {
			r.text = strings.TrimSuffix(r.text, "is ready") + "has finished; it is a hook"
			r.then += ": a kubelet does not start the hook's pod, so that nothing after it is installed"
		}
		if n.Kind == "ServiceAccount" {
			r.then = "the API server rejects its pods until then, and each waits for the other"
		}
		c.fail(reason.WorkloadFailed, r)
	}
}

func releaseOf(late, user *bundle.Object) string {
	if late.Release == user.Release {
		return "the same release"
	}
	return "release " + late.Release
}

// find returns an object of a release; nil if there is none.
func (c *checker) find(kind, namespace, name, release string) *bundle.Object {
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if o.Release == release && o.Object.GetKind() == kind && o.Object.GetNamespace() == namespace && o.Object.GetName() == name {
			return o
		}
	}
	return nil
}

// late returns what creates an object that is needed, if that comes only after its user is ready;
// nil if one comes in time, or none at all.
func (c order) late(user *bundle.Object, n needs.Need) *bundle.Object {
	var late *bundle.Object
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if o.Object.GetKind() != n.Kind || o.Object.GroupVersionKind().Group != "" || o.Object.GetNamespace() != user.Object.GetNamespace() || o.Object.GetName() != n.Name {
			continue
		}
		if !c.after(o, user) {
			return nil
		}
		late = o
	}
	return late
}

// deleted reports whether all that creates an object which is needed are hooks that run before the
// workload and are deleted then.
func (c order) deleted(user *bundle.Object, n needs.Need) (gone bool) {
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if o.Object.GetKind() != n.Kind || o.Object.GroupVersionKind().Group != "" || o.Object.GetNamespace() != user.Object.GetNamespace() || o.Object.GetName() != n.Name {
			continue
		}
		if !o.Hook || !o.Ephemeral || o.Release != user.Release || momentOf(o.Object, c.delivery.ArgoCD).phase != beforeAll {
			return false
		}
		gone = true
	}
	return gone
}

// after reports whether an object comes only once another is ready.
func (c order) after(o, user *bundle.Object) bool {
	hook := momentOf(user.Object, c.delivery.ArgoCD)
	switch {
	case o.Release == user.Release:
		return (hook.phase != ordinary || c.delivery.Ready && c.awaits(user.Release)) && momentOf(o.Object, c.delivery.ArgoCD).compare(hook) > 0
	case c.delivery.InOrder:
		return hook.phase != ordinary && c.position(o.Release) > c.position(user.Release)
	case c.delivery.Needs:
		return (hook.phase != ordinary || c.awaits(user.Release)) && c.needs(o.Release, user.Release)
	}
	return c.delivery.Releases && c.awaits(user.Release) && c.dependsOn(o.Release, user.Release)
}

// awaits reports whether the deployer waits for the objects of a release, where it waits for any.
func (c order) awaits(release string) bool {
	i := c.position(release)
	return i < 0 || !c.expectation.Releases[i].Given.Unawaited
}

// needs reports whether a release depends on another, which helmfile installs before.
func (c order) needs(release, on string) bool {
	return leadsTo(release, func(name string) []string {
		if i := c.position(name); i >= 0 {
			return c.expectation.Releases[i].DependsOn
		}
		return nil
	}, func(name string) bool { return name == on })
}

func (c order) position(release string) int {
	for i, r := range c.expectation.Releases {
		if r.Name == release {
			return i
		}
	}
	return -1
}

// dependsOn reports whether the deployer was told to deliver a release after another.
func (c order) dependsOn(release, on string) bool {
	return leadsTo(release, func(name string) (before []string) {
		for _, d := range c.expectation.Delivered {
			if d.Name != name || d.Kind != "HelmRelease" && d.Kind != "Application" {
				continue
			}
			for _, ref := range d.DependsOn {
				if ref.Kind == d.Kind {
					before = append(before, ref.Name)
				}
			}
		}
		return before
	}, func(name string) bool { return name == on })
}

// leadsTo reports whether the way from a name over what comes before it, step by step, leads to one
// that is wanted.
func leadsTo(from string, before func(string) []string, wanted func(string) bool) bool {
	seen, open := map[string]bool{from: true}, before(from)
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		if wanted(name) {
			return true
		}
		if !seen[name] {
			seen[name] = true
			open = append(open, before(name)...)
		}
	}
	return false
}

// The phases of an installation.
const (
	beforeAll = iota
	ordinary
	afterAll
)

// moment is when an object is installed, within its release: a phase, and a step in it.
type moment struct{ phase, step int }

func (m moment) compare(other moment) int {
	return cmp.Or(cmp.Compare(m.phase, other.phase), cmp.Compare(m.step, other.step))
}

// momentOf reads Helm's annotations for hooks, and for Argo CD its own, which it prefers. Argo CD runs
// the hooks of upgrades when it installs, too.
func momentOf(o *unstructured.Unstructured, argocd bool) moment {
	m, a := moment{phase: ordinary}, o.GetAnnotations()
	switch {
	case rendering.RunsInHelm(a, "pre-install", "crd-install"), argocd && rendering.RunsInHelm(a, "pre-upgrade"):
		m.phase = beforeAll
	case rendering.RunsInHelm(a, "post-install"), argocd && rendering.RunsInHelm(a, "post-upgrade"):
		m.phase = afterAll
	}
	if m.phase != ordinary {
		m.step, _ = strconv.Atoi(strings.TrimSpace(a[rendering.HelmHookWeight]))
	}
	if !argocd {
		return m
	}
	if own, _ := rendering.ArgoHooks(a); own {
		phases := rendering.PhasesInArgoCD(a)
		switch {
		case slices.Contains(phases, "PreSync"):
			m.phase = beforeAll
		case slices.Contains(phases, "PostSync"):
			m.phase = afterAll
		default:
			m.phase = ordinary
		}
	}
	if wave, err := strconv.Atoi(a["argocd.argoproj.io/sync-wave"]); err == nil {
		m.step = wave
	}
	return m
}
