package daytwo

// late.go judges the hooks that Helm runs before it upgrades a release: what they cannot start
// without, and what they clear away. A first installation does not run them. It must not know which deployer
// upgrades.

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// before is the event of the hooks that are judged here.
const before = "pre-upgrade"

var hookBeforeItsNeed = judge.Check{
	ID: "MX701", Name: "upgrade-hook-needs-new-object", Needs: judge.Rendered, Later: true, Gives: reason.UpgradeFailed,
	Lanes: func(o judge.Order) bool { return !o.AtOnce }, // else hooks are objects like all others
	Title: "A hook before an upgrade needs nothing that the upgrade creates after it",
	Why: "Helm runs pre-upgrade hooks before it creates the new objects of the same release (https://helm.sh/docs/topics/charts_hooks/). " +
		"A hook whose pod mounts a new ConfigMap, or runs as a new ServiceAccount, never starts. A first installation does not run these hooks, so that it passes.",
	Fix:  "Make what it needs a hook, too, of the same event and with a lower weight.",
	Says: "%s %s %s, which is new, and which the same release creates only after this hook (pre-upgrade)",
	Then: "%[4]s; edit: make %[5]s a hook, too (helm.sh/hook: pre-upgrade, with a lower helm.sh/hook-weight), in %[6]s",
	Run: func(s *judge.Scope) {
		if s.Delivery.Back {
			return
		}
		b := bundlesOf(s)
		for i := range b.Now.Expectation.Releases {
			r := &b.Now.Expectation.Releases[i]
			for j := range r.UpgradeHooks {
				hook := &r.UpgradeHooks[j]
				n, late := b.lacks(r, hook)
				if late == nil {
					continue
				}
				then := "a kubelet does not start the hook's pod, and the upgrade waits for it until its timeout"
				if n.Kind == "ServiceAccount" {
					then = "the API server rejects its pods, and the upgrade waits for them until its timeout"
				}
				s.Report(hook, "", n.How, n.Kind, infra.NamespacedName(hook.Object.GetNamespace(), n.Name), then, late.Ref(), late.Where("metadata")).SetBy(n.Name)
			}
		}
	},
}

// lacks is the first object that a hook of an upgrade cannot start without, and that comes too late; nil if there is none.
func (b Bundles) lacks(r *bundle.Release, hook *bundle.Object) (facts.Need, *bundle.Object) {
	template := problem.Template(hook)
	if template == nil || !b.upgrades(r) || !runsBefore(hook) {
		return facts.Need{}, nil
	}
	for _, n := range needsOf(&template.Spec) {
		if late := b.late(r, hook, n); late != nil {
			return n, late
		}
	}
	return facts.Need{}, nil
}

// upgrades reports whether a release was there before.
func (b Bundles) upgrades(r *bundle.Release) bool {
	for _, old := range b.Before.Expectation.Releases {
		if old.Name == r.Name && old.Namespace == r.Namespace {
			return true
		}
	}
	return false
}

func needsOf(spec *corev1.PodSpec) []facts.Need {
	all := facts.NeedsOf(spec)
	if account := spec.ServiceAccountName; account != "" && account != "default" {
		all = append(all, facts.Need{Kind: "ServiceAccount", Name: account, How: "runs as"})
	}
	return all
}

// late is what creates an object that a hook needs, if that is an ordinary object of its release, and neither
// what ran before nor an earlier hook has it; nil otherwise.
func (b Bundles) late(r *bundle.Release, hook *bundle.Object, n facts.Need) *bundle.Object {
	ref := result.Ref{Kind: n.Kind, Namespace: hook.Object.GetNamespace(), Name: n.Name}
	if o := b.Before.Expectation.Object(ref); o != nil && !o.Ephemeral {
		return nil
	}
	for i := range r.UpgradeHooks {
		if o := &r.UpgradeHooks[i]; o.Ref() == ref && runsBefore(o) && weight(o) <= weight(hook) {
			return nil
		}
	}
	if o := b.Now.Expectation.Object(ref); o != nil && !o.Hook && o.Release == r.Name {
		return o
	}
	return nil
}

// runsBefore reports whether Helm runs a hook before an upgrade. What Argo CD has annotations of its own for
// is left out.
func runsBefore(o *bundle.Object) bool {
	a := o.Object.GetAnnotations()
	own, _ := rendering.ArgoHooks(a)
	return !own && rendering.RunsInHelm(a, before)
}

func weight(o *bundle.Object) int {
	n, _ := strconv.Atoi(strings.TrimSpace(o.Object.GetAnnotations()[rendering.HelmHookWeight]))
	return n
}
