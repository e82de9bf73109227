package lane

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// Sequence is what comes when, where a deployer with this order delivers a bundle.
type Sequence struct {
	Order       Order
	Expectation *bundle.Expectation
}

// After reports whether an object comes only once another is ready.
func (q Sequence) After(o, user *bundle.Object) bool {
	hook := MomentOf(user.Object, q.Order.ArgoCD)
	switch {
	case o.Release == user.Release:
		return (hook.Phase != ordinary || q.Order.Ready && q.Awaits(user.Release)) && MomentOf(o.Object, q.Order.ArgoCD).Compare(hook) > 0
	case q.Order.InOrder:
		return hook.Phase != ordinary && q.Position(o.Release) > q.Position(user.Release)
	case q.Order.Needs:
		return (hook.Phase != ordinary || q.Awaits(user.Release)) && q.needs(o.Release, user.Release)
	}
	return q.Order.Releases && q.Awaits(user.Release) && q.DependsOn(o.Release, user.Release)
}

// Awaits reports whether the deployer waits for the objects of a release, where it waits for any.
func (q Sequence) Awaits(release string) bool {
	i := q.Position(release)
	return i < 0 || !q.Expectation.Releases[i].Given.Unawaited
}

// needs reports whether a release depends on another, which helmfile installs before.
func (q Sequence) needs(release, on string) bool {
	return LeadsTo(release, func(name string) []string {
		if i := q.Position(name); i >= 0 {
			return q.Expectation.Releases[i].DependsOn
		}
		return nil
	}, func(name string) bool { return name == on })
}

// Within is how long the deployer waits for a release; 0 if it does not, or does not give up.
func (q Sequence) Within(release string) time.Duration {
	if i := q.Position(release); i >= 0 {
		if g := q.Expectation.Releases[i].Given; g.Within > 0 || g.Unawaited {
			return g.Within
		}
	}
	return q.Order.Within
}

// Position is the index of a release in the bundle; -1 without it.
func (q Sequence) Position(release string) int {
	for i, r := range q.Expectation.Releases {
		if r.Name == release {
			return i
		}
	}
	return -1
}

// DependsOn reports whether the deployer was told to deliver a release after another.
func (q Sequence) DependsOn(release, on string) bool {
	return LeadsTo(release, func(name string) (before []string) {
		for _, d := range q.Expectation.Delivered {
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

// LeadsTo reports whether the way from a name over what comes before it, step by step, leads to one
// that is wanted.
func LeadsTo(from string, before func(string) []string, wanted func(string) bool) bool {
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
	BeforeAll = iota
	ordinary
	afterAll
)

// Moment is when an object is installed, within its release: a phase, and a step in it.
type Moment struct{ Phase, Step int }

// Compare is as cmp.Compare.
func (m Moment) Compare(other Moment) int {
	return cmp.Or(cmp.Compare(m.Phase, other.Phase), cmp.Compare(m.Step, other.Step))
}

// MomentOf reads Helm's annotations for hooks, and for Argo CD its own, which it prefers. Argo CD runs
// the hooks of upgrades when it installs, too.
func MomentOf(o *unstructured.Unstructured, argocd bool) Moment {
	m, a := Moment{Phase: ordinary}, o.GetAnnotations()
	switch {
	case rendering.RunsInHelm(a, "pre-install", "crd-install"), argocd && rendering.RunsInHelm(a, "pre-upgrade"):
		m.Phase = BeforeAll
	case rendering.RunsInHelm(a, "post-install"), argocd && rendering.RunsInHelm(a, "post-upgrade"):
		m.Phase = afterAll
	}
	if m.Phase != ordinary {
		m.Step, _ = strconv.Atoi(strings.TrimSpace(a[rendering.HelmHookWeight]))
	}
	if !argocd {
		return m
	}
	if own, _ := rendering.ArgoHooks(a); own {
		phases := rendering.PhasesInArgoCD(a)
		switch {
		case slices.Contains(phases, "PreSync"):
			m.Phase = BeforeAll
		case slices.Contains(phases, "PostSync"):
			m.Phase = afterAll
		default:
			m.Phase = ordinary
		}
	}
	if wave, err := strconv.Atoi(a["argocd.argoproj.io/sync-wave"]); err == nil {
		m.Step = wave
	}
	return m
}

// IsArgoHook reports whether Argo CD takes an object for a hook.
func IsArgoHook(o *unstructured.Unstructured) bool {
	if own, ok := o.GetAnnotations()[rendering.ArgoHook]; ok {
		return own != "Skip"
	}
	hook, ok := o.GetAnnotations()[rendering.HelmHook]
	return ok && hook != "crd-install"
}
