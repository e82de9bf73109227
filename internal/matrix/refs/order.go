package refs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
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
		c.fail(reason.DeployFailed, refsReference{from: d.Of, text: d.Text, then: d.Then, at: result.Place{File: d.At.File, Line: d.At.Line}, cause: "doomed " + d.Of.String() + d.Text})
	}
	c.problems(ofAgents(e, nil))
	if !d.AtOnce {
		o := c.in(d)
		if d.ArgoCD {
			o.hooksOnly()
		}
		o.sameRelease()
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

// sameRelease finds releases that are one to Helm, by name and namespace: each installation or upgrade of one replaces the
// other's objects, and Flux does that in turns for ever. To Argo CD a release's name is a word for the templates.
func (c order) sameRelease() {
	if c.Order.ArgoCD {
		return
	}
	seen := map[string]string{}
	for i := range c.expectation.Releases {
		r := &c.expectation.Releases[i]
		key := infra.NamespacedName(r.Namespace, r.InHelm())
		first, twice := seen[key]
		if !twice {
			seen[key] = r.Name
			continue
		}
		from := result.Ref{Kind: "Release", Name: r.Name}
		if c.Order.Flux {
			from = result.Ref{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Name: r.Name}
		}
		c.fail(reason.DeployFailed, refsReference{from: from, component: r.Component, name: r.InHelm(), cause: "release " + key,
			text: fmt.Sprintf("installs Helm release %s in namespace %s, and so does %s", r.InHelm(), r.Namespace, first),
			then: "each installation of one replaces the objects of the other, with Flux for ever: give one of them another name (releaseName) or namespace"})
	}
}

// ForOthers notes hooks that only another deployer knows: Argo CD's annotations where it is not the one that delivers.
func ForOthers(e *bundle.Expectation, d lane.Order) []string {
	if d.ArgoCD {
		return nil
	}
	var all []string
	for i := range e.Objects {
		o := &e.Objects[i]
		if own, _ := rendering.ArgoHooks(o.Object.GetAnnotations()); own && !o.Hook {
			all = append(all, fmt.Sprintf("%s (%s)", o.Ref(), o.Component))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: only Argo CD reads the annotation %s of these; in this lane they are ordinary objects, which come with all others and stay: %s", lists.Count(len(all), "hook"), rendering.ArgoHook, strings.Join(lists.AtMost(all, 5), ", "))}
}

type order struct {
	*checker
	lane.Sequence
}

func (c *checker) in(d lane.Order) order {
	return order{c, lane.Sequence{Order: d, Expectation: c.expectation}}
}

func (c order) workload(w *bundle.Workload) {
	user := c.find(w.Kind, w.Namespace, w.Name, w.Release)
	if user == nil {
		return
	}
	r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template}
	all := facts.NeedsOf(&w.PodSpec)
	if account := w.PodSpec.ServiceAccountName; account != "" && account != "default" {
		all = append(all, facts.Need{Kind: "ServiceAccount", Name: account, How: "runs as"})
	}
	for _, n := range all {
		if !w.Hook && c.deleted(user, n) && c.maker(n.Kind, w.Namespace, n.Name, r.from) == nil {
			c.takenAway(r, n, infra.NamespacedName(w.Namespace, n.Name))
			continue
		}
		late, made := c.late(user, n), c.maker(n.Kind, w.Namespace, n.Name, r.from)
		if made != nil {
			c.madeLate(w, user, n)
			continue
		}
		if late == nil {
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

// madeLate fails a workload that needs what only programs make at run time, each of which comes once the workload is
// ready: a hook after the installation, a later sync wave, a release that depends on this one.
func (c order) madeLate(w *bundle.Workload, user *bundle.Object, n facts.Need) {
	if w.Namespace == metav1.NamespaceSystem || n.Then != "" || c.inTime(user, n) {
		return
	}
	r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template, name: n.Name}
	var by *bundle.Object
	for o := range c.index.Makers(n.Kind, w.Namespace, n.Name, r.from) {
		if !c.After(o, user) {
			return
		}
		if by == nil {
			by = o
		}
	}
	full := infra.NamespacedName(w.Namespace, n.Name)
	what := n.Kind + " " + full
	if len(n.Keys) > 0 && c.find(n.Kind, w.Namespace, n.Name, w.Release) != nil {
		what = "key " + strings.Join(n.Keys, ", ") + " of " + what
	}
	once := w.Kind + " is ready"
	if w.Hook {
		once = w.Kind + " has finished"
	}
	r.cause = "made later " + n.Kind + full
	r.text = fmt.Sprintf("%s %s, which only %s of %s makes (%s), and that runs once this %s", n.How, what, by.Ref(), releaseOf(by, user), by.Template, once)
	r.then = "each waits for the other: let it run before (helm.sh/hook: pre-install, or an earlier sync wave), or as an ordinary object"
	c.fail(reason.WorkloadFailed, r)
}

// inTime reports whether the bundle has what is needed, with its keys, before its user is ready.
func (c order) inTime(user *bundle.Object, n facts.Need) bool {
	have, keys := false, map[string]bool{}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if o.Object.GetKind() == n.Kind && o.Object.GroupVersionKind().Group == "" && o.Object.GetNamespace() == user.Object.GetNamespace() && o.Object.GetName() == n.Name && !c.After(o, user) {
			have = true
			maps.Copy(keys, renderedKeys(o))
		}
	}
	return have && !slices.ContainsFunc(n.Keys, func(k string) bool { return !keys[k] })
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
func (c order) late(user *bundle.Object, n facts.Need) *bundle.Object {
	var late *bundle.Object
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if o.Object.GetKind() != n.Kind || o.Object.GroupVersionKind().Group != "" || o.Object.GetNamespace() != user.Object.GetNamespace() || o.Object.GetName() != n.Name {
			continue
		}
		if !c.After(o, user) {
			return nil
		}
		late = o
	}
	return late
}

// deleted reports whether all that creates an object which is needed are hooks that run before the
// workload and are deleted then.
func (c order) deleted(user *bundle.Object, n facts.Need) (gone bool) {
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if o.Object.GetKind() != n.Kind || o.Object.GroupVersionKind().Group != "" || o.Object.GetNamespace() != user.Object.GetNamespace() || o.Object.GetName() != n.Name {
			continue
		}
		if !o.Hook || !o.Ephemeral || o.Release != user.Release || lane.MomentOf(o.Object, c.Order.ArgoCD).Phase != lane.BeforeAll {
			return false
		}
		gone = true
	}
	return gone
}
