package daytwo

// late.go judges the hooks that Helm runs before it upgrades a release: what they cannot start
// without, and what they clear away. A first installation does not run them. It must not know which deployer
// upgrades.

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// before is the event of the hooks that are judged here.
const before = "pre-upgrade"

// HookBundles are the one that runs, and the one that is delivered.
type HookBundles struct{ Before, Now *bundle.Bundle }

// Late returns the hooks that need what only the new bundle has, as an ordinary object: Helm creates it once
// the hook has finished, and a kubelet does not start the hook without it. What is the upgrade, for people.
// Reason: UPGRADE_FAILED.
func (b HookBundles) Late(what string) error {
	var found []result.Finding
	for i := range b.Now.Expectation.Releases {
		r := &b.Now.Expectation.Releases[i]
		if !b.upgrades(r) {
			continue
		}
		for j := range r.UpgradeHooks {
			hook := &r.UpgradeHooks[j]
			template := problem.Template(hook)
			if template == nil || !runsBefore(hook) {
				continue
			}
			for _, n := range needsOf(&template.Spec) {
				late := b.late(r, hook, n)
				if late == nil {
					continue
				}
				then := "a kubelet does not start the hook's pod, and the upgrade waits for it until its timeout"
				if n.Kind == "ServiceAccount" {
					then = "the API server rejects its pods, and the upgrade waits for them until its timeout"
				}
				ref := hook.Ref()
				f := result.Finding{Object: &ref, Component: hook.Component, Cause: fmt.Sprintf("%s (%s): %s %s %s, which is new, and which the same release creates only after this hook (%s)", ref, hook.Component, n.How, n.Kind, infra.NamespacedName(ref.Namespace, n.Name), before), Story: []string{
					then, fmt.Sprintf("edit: make %s a hook, too (helm.sh/hook: %s, with a lower helm.sh/hook-weight), in %s", late.Ref(), before, late.Where("metadata")), "set in " + hook.Where("spec"),
				}}
				if len(found) == 0 {
					f.Cause = what + ": " + f.Cause
				}
				found = append(found, f)
				break
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &reason.Error{Reason: reason.UpgradeFailed, Component: found[0].Component, Err: &result.Failure{Findings: found, Stage: result.StageHealth}}
}

// upgrades reports whether a release was there before.
func (b HookBundles) upgrades(r *bundle.Release) bool {
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
func (b HookBundles) late(r *bundle.Release, hook *bundle.Object, n facts.Need) *bundle.Object {
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
