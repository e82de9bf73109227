package daytwo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

var tornDown = judge.Check{
	ID: "MX706", Name: "hook-torn-down", Needs: judge.Second,
	Title: "A hook stands for nothing that runs on",
	Why: "Helm deletes a hook before it creates it again (https://helm.sh/docs/topics/charts_hooks/#hook-deletion-policies), so that each delivery tears down a custom resource or a workload that is a hook, " +
		"and what its operator made of it, too. Jobs and pods do their work and end, and are left out.",
	Fix:  "Make it an ordinary object, in a component that comes later.",
	Says: "is torn down and built again by each delivery: it is a hook (%s; %s), so that it is deleted first, and what its operator made of it, too",
	Then: "make it an ordinary object, in a component that comes later%[3]s",
	Run: func(s *judge.Scope) {
		for _, ref := range s.Delivery.Replaced {
			o := s.Delivery.Now.Expectation.Object(ref)
			if o == nil || !o.Hook || s.Delivery.Back { // the upgrade has said it
				continue
			}
			untracked := ""
			if s.Order.ArgoCD {
				untracked = "; Argo CD does not count a hook as part of its Application either: if it is deleted that is no drift, and nothing makes it again before the next sync"
			}
			policy := cmp.Or(o.Object.GetAnnotations()[rendering.HelmHookPolicy], "before-hook-creation, the default")
			s.Report(o, "metadata.annotations", strings.TrimSpace(o.Object.GetAnnotations()[rendering.HelmHook]), policy, untracked)
		}
	},
}

// notRun says why a missing object is a hook that Helm did not run, or whose object it removed after it
// had: its release was there before.
func (b Bundles) notRun(ref *result.Ref) string {
	if ref == nil || b.Before == nil {
		return ""
	}
	o := b.Now.Expectation.Object(*ref)
	if was := b.Before.Expectation.Object(*ref); o != nil && o.Hook && was != nil && !was.Hook && was.Release == o.Release {
		return fmt.Sprintf("%s was an ordinary object of release %s and is a hook now (%s): Helm runs the hook, and then removes what the release has no more, which is the same object; give the hook another name, or make it an ordinary object, in %s",
			ref, o.Release, o.Object.GetAnnotations()[rendering.HelmHook], place(b.Now, o, ""))
	}
	if o == nil || !o.Hook || rendering.RunsInHelm(o.Object.GetAnnotations(), "pre-upgrade", "post-upgrade") || namespaceOf(b.Before, o.Release) == "" {
		return ""
	}
	return fmt.Sprintf("%s is a hook that runs at installation only (%s), and release %s was installed before it had it; add post-upgrade in %s, or make it an ordinary object",
		ref, o.Object.GetAnnotations()[rendering.HelmHook], o.Release, place(b.Now, o, ""))
}

// Outlived makes the bundle that is delivered take the Jobs as such that may be gone which were ordinary
// objects of their release and are hooks before its upgrade now: Helm runs the hook, and then removes what
// the release has no more, which is the Job of that name. It has done its work by then. It returns a note
// for each. Argo CD has its own rules.
func (b Bundles) Outlived(env *lane.Env, byArgo bool) (notes []string) {
	if byArgo {
		return nil
	}
	ran := map[result.Ref]bool{}
	for i := range b.Now.Expectation.Objects {
		o := &b.Now.Expectation.Objects[i]
		if !o.Hook || o.Ephemeral || o.Object.GetKind() != "Job" || !rendering.RunsInHelm(o.Object.GetAnnotations(), "pre-upgrade") {
			continue
		}
		if was := b.Before.Expectation.Object(o.Ref()); was != nil && !was.Hook && was.Release == o.Release {
			ran[o.Ref()] = true
			notes = append(notes, fmt.Sprintf("%s was an ordinary object of release %s and is a hook before its upgrade now, so that Helm removes it once it has run: it may be gone (component %s, %s)", o.Ref(), o.Release, o.Component, place(b.Now, o, "")))
		}
	}
	if len(ran) == 0 {
		return nil
	}
	changed := *b.Now
	changed.Expectation.Objects, changed.Expectation.Workloads = slices.Clone(b.Now.Expectation.Objects), slices.Clone(b.Now.Expectation.Workloads)
	for i := range changed.Expectation.Objects {
		o := &changed.Expectation.Objects[i]
		o.Ephemeral = o.Ephemeral || ran[o.Ref()]
	}
	for i := range changed.Expectation.Workloads {
		w := &changed.Expectation.Workloads[i]
		w.Ephemeral = w.Ephemeral || ran[result.Ref{Group: "batch", Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}]
	}
	env.Bundle = &changed
	return notes
}
