package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// awaitedFor is how long an operator that runs may take once all pods are ready. An operator does
// its work within seconds here; it tries again after a failure.
const awaitedFor = 30 * time.Second

// checkAwaited checks that the operators that run have done their work. A deployer may not look:
// Helm does not, and others count an object without a status as healthy. False: the gate is not to
// go on.
func (g *Gate) checkAwaited(ctx context.Context) (r wait.Result, ok bool) {
	late, err := g.late(ctx)
	if err != nil {
		return g.readFailed(ctx, err), false
	}
	return g.judgeLate(late)
}

// judgeLate fails once an object that names no other one has been late for too long.
func (g *Gate) judgeLate(late []lateObject) (r wait.Result, ok bool) {
	seen, over := map[string]bool{}, map[result.Ref]bool{}
	for _, l := range late {
		key := "awaited " + l.ref.String()
		seen[key], over[l.ref] = true, g.lasts(key, awaitedFor)
	}
	g.keepOnly("awaited ", seen)
	if len(late) == 0 {
		return wait.Done(), true
	}
	first := causeOfLate(late)
	if !over[first.ref] {
		return wait.NotYet("%s", first.text), false
	}
	f := result.Finding{Cause: first.text, Object: &first.ref, Component: first.component}
	for _, l := range late {
		if l.ref != first.ref {
			f.Story = append(f.Story, l.text)
		}
	}
	return wait.Never(&reason.Error{Reason: reason.DeployFailed, Err: result.NewFailure(f)}), false
}

// failedAwaited is checkAwaited while the deployer itself waits for these objects, and nothing else is
// late: it would until its budget is over. False: the gate is not to go on.
func (g *Gate) failedAwaited(ctx context.Context, state lane.State, report observe.WorkloadReport) (r wait.Result, ok bool) {
	open := slices.DeleteFunc(slices.Clone(state.Items), func(it lane.Item) bool { return it.State == lane.ItemGood || it.State == lane.ItemAccepted })
	if len(g.Awaited) == 0 || len(open) == 0 && len(report.Waiting) == 0 {
		return wait.Done(), true // checkObjects asks
	}
	late, err := g.late(ctx)
	if err != nil {
		return g.readFailed(ctx, err), false
	}
	in := map[string]bool{}
	for _, l := range late {
		in[l.component] = true
	}
	if len(report.Waiting) > 0 || !g.explained(open, in) {
		g.keepOnly("awaited ", nil)
		return wait.Done(), true
	}
	g.gotAnswer()
	return g.judgeLate(late)
}

// lateObject is one on which its operator has not reported as it should.
type lateObject struct {
	ref             result.Ref
	component, text string
	spec            string
}

// late are the awaited objects that are in the cluster and not as they should be.
func (g *Gate) late(ctx context.Context) ([]lateObject, error) {
	var all []lateObject
	for _, a := range g.Awaited {
		if a.Condition == "" {
			continue
		}
		ref := a.Object.Ref()
		client := g.Env.Clients.Dynamic.Resource(infra.ResourceFor(a.Object.Object.GroupVersionKind()))
		live, err := client.Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue // checkObjects has its own word for it
		}
		if err != nil {
			return nil, err
		}
		status, said := infra.Condition(live, a.Condition)
		if status == string(metav1.ConditionTrue) {
			continue
		}
		text := fmt.Sprintf("%s is not %s", ref, a.Condition)
		if said != "" {
			text += ": " + said
		} else {
			text += ", and its operator says nothing of it in its status"
		}
		spec, err := json.Marshal(live.Object["spec"])
		if err != nil {
			return nil, err
		}
		all = append(all, lateObject{ref, a.Component, text, string(spec)})
	}
	return all, nil
}

// causeOfLate is the first that names no other one: a Certificate waits for its Issuer, and a queue for
// that which it is part of.
func causeOfLate(late []lateObject) lateObject {
	for _, l := range late {
		if !slices.ContainsFunc(late, func(other lateObject) bool {
			return other.ref != l.ref && strings.Contains(l.spec, strconv.Quote(other.ref.Name))
		}) {
			return l
		}
	}
	return late[0]
}
