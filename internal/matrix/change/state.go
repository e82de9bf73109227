// Package change compares what is in a cluster before and after the recipe was changed: which
// workloads roll, and which objects, images and CustomResourceDefinitions differ. It decides no
// verdict.
package change

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// State is what was in a cluster at one time, or what a rendering says will be in it.
type State struct {
	objects    map[string]*object // by key
	pods       map[string][]pod   // by the key of their workload; nil for a rendering
	components map[string]string  // by release
	versions   map[string]string  // of charts, by component
	rendered   bool
	used       map[string]bool // images, once they were asked for
	// passing are the hooks with pods that are deleted once they have succeeded, as they are rendered.
	passing map[string]*object
}

// object is an object without what is large: of a definition there is only a summary.
type object struct {
	ref       lane.Object
	component string
	uid       types.UID
	// expected: the recipe renders it, or the deployer counts it as its own. Otherwise it is only
	// known from an earlier state.
	expected        bool
	mayBeGone, hook bool
	// keeps: its deployer is asked never to remove it. Argo CD lists it as its own even then.
	keeps      bool
	claimOf    string // key of the StatefulSet that a claim is of
	content    *unstructured.Unstructured
	definition *definition // of a CustomResourceDefinition, which then has no content
}

// pod is a pod of a workload.
type pod struct {
	uid  types.UID
	node string
}

// Reading takes a state while the objects are read for the comparison, so that each is read once: the
// expectation's, and those that the deployer counts as its own.
type Reading struct {
	Env *lane.Env
	Own []lane.Object
	// Before is the state before a change, if there is one: what is left of its objects is read too,
	// since some may belong to the recipe no more.
	Before *State
	// State is the result of Done.
	State *State
}

// Also begins the state, and says what is to be read for it. It may be called again.
func (r *Reading) Also() *compare.Also {
	if r == nil {
		return nil
	}
	s, counted := newState(r.Env.Bundle.Expectation), map[string]bool{} // counted as its own by the deployer
	r.State = s
	for _, ref := range r.Own {
		counted[ref.Key()] = true
		ref.Namespace = "" // a cluster-scoped object may be listed with one
		counted[ref.Key()] = true
	}
	claims := map[string]string{}
	also := &compare.Also{Objects: r.Own, Take: func(live compare.Live) {
		o := s.add(live)
		o.claimOf = claims[o.ref.Key()]
		o.expected = live.Component != "" || o.claimOf != "" || counted[o.ref.Key()] && !r.Before.keeps(o.ref.Key())
	}}
	for claim, set := range claimsOf(r.Env.Bundle.Expectation) {
		claims[claim.Key()] = set
		also.Objects = append(also.Objects, claim)
	}
	if r.Before != nil {
		for _, o := range r.Before.objects {
			also.Objects = append(also.Objects, o.ref)
		}
	}
	return also
}

// Done adds the pods to the state, once all objects have been read.
func (r *Reading) Done(ctx context.Context) (err error) {
	if r != nil {
		r.State.pods, err = podsOf(ctx, r.Env)
	}
	return err
}

// keeps reports whether an object of this state was rendered to be kept.
func (s *State) keeps(key string) bool {
	return s != nil && s.objects[key] != nil && s.objects[key].component != "" && s.objects[key].keeps
}

// UID is that of an object; empty if it was not there. A nil state has none.
func (s *State) UID(ref result.Ref) types.UID {
	if s != nil {
		for _, o := range s.objects {
			if o.ref.Ref() == ref {
				return o.uid
			}
		}
	}
	return ""
}

func newState(e bundle.Expectation) *State {
	s := &State{objects: map[string]*object{}, components: map[string]string{}, versions: map[string]string{}, passing: map[string]*object{}}
	for _, o := range e.Objects {
		if _, ok := podspec.Of(o.Object); ok && o.Hook && o.Ephemeral {
			ref := lane.Object{GVK: o.Object.GroupVersionKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName(), Release: o.Release}
			s.passing[ref.Key()] = &object{ref: ref, component: o.Component, content: o.Object}
		}
	}
	for _, r := range e.Releases {
		s.components[r.Name] = r.Component
		if e.Main(r) {
			s.versions[r.Component] = r.ChartVersion
		}
	}
	return s
}

func (s *State) add(live compare.Live) *object {
	o := &object{ref: live.Ref, component: live.Component, uid: live.UID, mayBeGone: live.MayBeGone, hook: live.Hook, keeps: compare.Keeps(live.Object), content: live.Object}
	if o.component == "" {
		o.component = s.components[live.Ref.Release]
	}
	if o.component == "" {
		o.component = live.Ref.Release
	}
	if o.ref.GVK.Kind == "CustomResourceDefinition" {
		o.definition, o.content = define(live.Object, live.Stored), nil
	}
	s.objects[o.ref.Key()] = o
	return o
}

// podsOf lists the pods of the cluster by workload. Those that are being deleted do not count.
func podsOf(ctx context.Context, env *lane.Env) (map[string][]pod, error) {
	list, err := observe.OwnedPods(ctx, env.Clients.Kube)
	if err != nil {
		return nil, fmt.Errorf("see which workloads roll: %w", err)
	}
	found := map[string][]pod{}
	for _, p := range list {
		if p.Pod.DeletionTimestamp != nil || p.Pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		key := lane.Object{GVK: schema.FromAPIVersionAndKind(p.Owner.APIVersion, p.Owner.Kind), Namespace: p.Pod.Namespace, Name: p.Owner.Name}.Key()
		found[key] = append(found[key], pod{p.Pod.UID, p.Pod.Spec.NodeName})
	}
	return found, nil
}

// rendering is the state that a rendering promises.
func rendering(e bundle.Expectation) (*State, error) {
	s := newState(e)
	s.rendered = true
	all, err := compare.Rendering(e)
	if err != nil {
		return nil, fmt.Errorf("read the rendered objects: %w", err)
	}
	for _, live := range all {
		s.add(live).expected = true
	}
	return s, nil
}
