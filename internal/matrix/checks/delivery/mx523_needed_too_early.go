package delivery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const laterSays = "%s %s, which %s creates only later (%s), once this %s"

var neededTooEarly = judge.Check{
	ID: "MX523", Name: "needed-before-it-is-there", Needs: judge.Rendered, First: true, Gives: reason.WorkloadFailed,
	Lanes: func(o judge.Order) bool { return !o.AtOnce },
	Title: "What a workload needs is there before the deployer waits for the workload",
	Why: "Helm runs a hook before what comes after it, Argo CD waits for each sync wave (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/), Flux for each release that others depend on " +
		"(https://fluxcd.io/flux/components/helm/helmreleases/#dependencies). A Secret, a ConfigMap or a ServiceAccount that comes only then makes each wait for the other. A hook that is deleted before the workload comes is gone.",
	Fix:  "Create it earlier: a hook before the installation, an earlier wave, an earlier release; or leave the hook annotations out.",
	Says: laterSays, Then: "%[6]s",
	Others: map[string]judge.Message{
		"made": {Says: "%s %s, which only %s of %s makes (%s), and that runs once this %s",
			Then: "each waits for the other: let it run before (helm.sh/hook: pre-install, or an earlier sync wave), or as an ordinary object"},
		"gone": {Says: "%s %s, a hook that is deleted once it has succeeded (helm.sh/hook-delete-policy)", Then: "%[3]s"},
	},
	Run: func(s *judge.Scope) {
		q := lane.Sequence{Order: s.Order, Expectation: s.Expectation}
		for i := range s.Expectation.Workloads {
			w := &s.Expectation.Workloads[i]
			user := s.RenderedOf(w)
			if user == nil || w.Operator != "" || w.Kind == "CronJob" || w.Replicas == 0 {
				continue
			}
			all := facts.NeedsOf(&w.PodSpec)
			if account := w.PodSpec.ServiceAccountName; account != "" && account != "default" {
				all = append(all, facts.Need{Kind: "ServiceAccount", Name: account, How: "runs as"})
			}
			for _, n := range all {
				early{s, q, w, user, n}.report()
			}
		}
	},
}

// early is a need of a workload.
type early struct {
	*judge.Scope
	q    lane.Sequence
	w    *bundle.Workload
	user *bundle.Object
	n    facts.Need
}

func (e early) report() {
	full := infra.NamespacedName(e.w.Namespace, e.n.Name)
	what, path := e.n.Kind+" "+full, facts.PodPath(e.w.Kind)
	if e.n.Kind == "ServiceAccount" {
		path += ".serviceAccountName"
	}
	if e.MadeAtRunTime(e.n.Kind, e.w.Namespace, e.n.Name, e.user.Ref()) != nil {
		e.madeLate(path, what)
		return
	}
	if !e.w.Hook && e.deleted() {
		then := "a kubelet starts none of its containers without it"
		if e.n.Kind == "ServiceAccount" {
			then = "the API server rejects its pods"
		}
		e.ReportAs("gone", e.user, path, e.n.How, what, then).SetBy(e.n.Name).OneCause("gone " + what)
		return
	}
	late := e.late()
	if late == nil {
		return
	}
	once, then := e.w.Kind+" is ready", "each waits for the other"
	if e.w.Hook {
		once, then = e.w.Kind+" has finished; it is a hook", then+": a kubelet does not start the hook's pod, so that nothing after it is installed"
	}
	if e.n.Kind == "ServiceAccount" {
		then = "the API server rejects its pods until then, and each waits for the other"
	}
	e.Report(e.user, path, e.n.How, what, releaseOf(late, e.user), late.Template, once, then).SetBy(e.n.Name).OneCause("later " + what)
}

// madeLate reports what only programs make at run time, each of which comes once the workload is ready: a hook after the
// installation, a later sync wave, a release that depends on this one.
func (e early) madeLate(path, what string) {
	if e.w.Namespace == metav1.NamespaceSystem || e.n.Then != "" || e.inTime() {
		return
	}
	var by *bundle.Object
	for o := range e.Makers(e.n.Kind, e.w.Namespace, e.n.Name, e.user.Ref()) {
		if !e.q.After(o, e.user) {
			return
		}
		if by == nil {
			by = o
		}
	}
	text, once := what, e.w.Kind+" is ready"
	if len(e.n.Keys) > 0 && slices.ContainsFunc(e.named(), func(o *bundle.Object) bool { return o.Release == e.w.Release }) {
		text = "key " + strings.Join(e.n.Keys, ", ") + " of " + what
	}
	if e.w.Hook {
		once = e.w.Kind + " has finished"
	}
	e.ReportAs("made", e.user, path, e.n.How, text, by.Ref(), releaseOf(by, e.user), by.Template, once).SetBy(e.n.Name).OneCause("made later " + what)
}

// named are the bundle's objects that are needed.
func (e early) named() []*bundle.Object {
	return slices.DeleteFunc(e.Rendered(schema.GroupKind{Kind: e.n.Kind}), func(o *bundle.Object) bool {
		return o.Object.GetNamespace() != e.w.Namespace || o.Object.GetName() != e.n.Name
	})
}

// inTime reports whether the bundle has what is needed, with its keys, before its user is ready.
func (e early) inTime() bool {
	have, keys := false, map[string]bool{}
	for _, o := range e.named() {
		if !e.q.After(o, e.user) {
			have = true
			maps.Copy(keys, facts.Keys(o))
		}
	}
	return have && !slices.ContainsFunc(e.n.Keys, func(k string) bool { return !keys[k] })
}

// late is what creates an object that is needed, if that comes only after its user is ready; nil if one comes in time, or
// none at all.
func (e early) late() (late *bundle.Object) {
	for _, o := range e.named() {
		if !e.q.After(o, e.user) {
			return nil
		}
		late = o
	}
	return late
}

// deleted reports whether all that creates an object which is needed are hooks that run before the workload and are
// deleted then.
func (e early) deleted() bool {
	all := e.named()
	return len(all) > 0 && !slices.ContainsFunc(all, func(o *bundle.Object) bool {
		return !o.Hook || !o.Ephemeral || o.Release != e.w.Release || lane.MomentOf(o.Object, e.Order.ArgoCD).Phase != lane.BeforeAll
	})
}

func releaseOf(late, user *bundle.Object) string {
	if late.Release == user.Release {
		return "the same release"
	}
	return fmt.Sprintf("release %s", late.Release)
}
