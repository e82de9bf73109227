package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// rejectedAfter is how long an operator that runs has to say that it leaves an object out, once
// nothing has changed that it reads. It reads an object within a second of its creation here.
const rejectedAfter = 2 * time.Second

// checkRejected checks that no operator that runs leaves an object out of what it makes: a rule that
// is none, a monitor with a pattern that is none. No deployer looks at that, the object has no status,
// and only an event says it. An operator that misses what something may still make, e.g. a Secret,
// is no failure: a hook that makes it is simulated. False: the gate is not to go on.
func (g *Gate) checkRejected(ctx context.Context) (r wait.Result, ok bool) {
	read := slices.DeleteFunc(slices.Clone(g.Awaited), func(a infra.Awaited) bool { return a.Rejects == "" })
	if len(read) == 0 {
		return wait.Done(), true
	}
	if !g.lasts("rejected", rejectedAfter) {
		since, err := g.unchangedSince(ctx)
		if err != nil {
			return g.readFailed(ctx, err), false
		}
		if time.Since(since) < g.stretched(rejectedAfter, since) {
			return wait.NotYet("the operator is still to read %s", read[len(read)-1].Object.Ref()), false
		}
	}
	events, err := g.Env.Clients.Kube.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
	if err != nil {
		return g.readFailed(ctx, err), false
	}
	g.leftOut = nil
	for _, a := range read {
		for i := range events.Items {
			e := &events.Items[i]
			if e.Type != corev1.EventTypeWarning || e.Reason != a.Rejects || !about(e, a.Object.Object) {
				continue
			}
			ref := a.Object.Ref()
			live, err := g.Env.Clients.Dynamic.Resource(infra.ResourceFor(a.Object.Object.GroupVersionKind())).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
			if err != nil {
				return g.readFailed(ctx, err), false
			}
			if changed(live).After(last(e)) {
				continue // it was about an object that has been replaced
			}
			text := fmt.Sprintf("%s is left out by its operator: %s", ref, e.Message)
			if strings.Contains(e.Message, "not found") {
				g.leftOut = append(g.leftOut, text)
				break
			}
			return wait.Never(&reason.Error{Reason: reason.DeployFailed, Err: result.NewFailure(result.Finding{Cause: text, Object: &ref, Component: a.Component})}), false
		}
	}
	return wait.Done(), true
}

// unchangedSince is when the last of what operators read was changed, and they were ready: each of
// these times is to the second, so that it may have been a second later.
func (g *Gate) unchangedSince(ctx context.Context) (time.Time, error) {
	var latest time.Time
	see := func(at time.Time) {
		if at = at.Add(time.Second); at.After(latest) {
			latest = at
		}
	}
	for _, a := range g.Awaited {
		ref := a.Object.Ref()
		live, err := g.Env.Clients.Dynamic.Resource(infra.ResourceFor(a.Object.Object.GroupVersionKind())).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return latest, err
		}
		if err == nil {
			see(changed(live))
		}
	}
	if g.View == nil {
		return latest, nil
	}
	for i := range g.View.Pods {
		p := &g.View.Pods[i]
		runs := func(c corev1.Container) bool {
			return slices.ContainsFunc(g.Awaited, func(a infra.Awaited) bool { return a.Operator == c.Image })
		}
		if !slices.ContainsFunc(p.Spec.Containers, runs) {
			continue
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady {
				see(c.LastTransitionTime.Time)
			}
		}
	}
	return latest, nil
}

// about reports whether an event is about an object.
func about(e *corev1.Event, o *unstructured.Unstructured) bool {
	of := e.InvolvedObject
	group, _, _ := strings.Cut(of.APIVersion, "/")
	return of.Kind == o.GetKind() && of.Name == o.GetName() && of.Namespace == o.GetNamespace() && (of.APIVersion == "" || group == o.GroupVersionKind().Group)
}

// last is when an event was seen last.
func last(e *corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	for _, t := range []time.Time{e.EventTime.Time, e.CreationTimestamp.Time} {
		if t.After(at) {
			at = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}

// changed is when an object was changed last, to the second.
func changed(o *unstructured.Unstructured) time.Time {
	at := o.GetCreationTimestamp().Time
	for _, m := range o.GetManagedFields() {
		if m.Time != nil && m.Subresource == "" && m.Time.After(at) {
			at = m.Time.Time
		}
	}
	return at
}
