package daytwo

// removal.go removes a bundle in the deployer's own way, and names what stays in the cluster.
// What only stays is a list. What blocks is a failure: an object or a namespace that is being
// deleted for ever, and a webhook that fails closed and whose server is gone. It must not know which
// deployer a lane belongs to.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Removal is the removal of one cell's bundle.
type Removal struct {
	Env  *lane.Env
	Lane lane.Lane
	// Budget is how long the deployer, and then the control plane, may take.
	Budget time.Duration
	// Rule takes out what the user ignores.
	Rule judge.Ruling
}

// leftoverStuckFor is how long an object must wait for a finalizer that no program here removes. A deployer
// removes its own in less.
const leftoverStuckFor = 20 * time.Second

// unplacedFor is how long a pod of a hook must have no node. No node comes here.
const unplacedFor = 10 * time.Second

// afterwards is how long the control plane may take for what was deleted in the background.
const afterwards = time.Minute

// Do removes the bundle. It returns what stays and blocks nothing, a line per kind of leftover, and what
// went well by luck. Reasons: LEFT_BEHIND, and those of the cluster that are not the recipe's.
func (r *Removal) Do(ctx context.Context) (lines []string, warnings []result.Finding, err error) {
	removing, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Lane.Remove(removing, r.Env, r.Budget) }()
	watch := &watch{run: r, ended: ended, since: map[string]time.Time{}}
	if slices.Contains(r.Lane.Controllers(), infra.FluxControllers) {
		watch.races = ofRemoval(&r.Env.Bundle.Expectation)
	}
	err = wait.For(ctx, "what was removed to be gone", wait.Options{Budget: r.Budget + afterwards, Interval: 2 * time.Second, Changed: r.Env.Tell}, watch.poll)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if err != nil && (!wait.IsTimeout(err) || watch.answered.IsZero()) {
		return nil, nil, reason.Wrap(reason.ClusterFailed, err)
	}
	if watch.removed != nil && !reason.OfRecipe(watch.removed) {
		return nil, nil, watch.removed
	}
	if f := watch.verdict(); f != nil {
		err := error(&reason.Error{Reason: reason.LeftBehind, Err: f})
		if watch.over && watch.removed == nil { // else nothing says what a removal to the end would leave
			err = r.Rule.On(err)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if r.Lane.Order(r.Env).Uninstalls {
		if f := uninstalledGuard(&r.Env.Bundle.Expectation); f != nil {
			if err := r.Rule.On(&reason.Error{Reason: reason.LeftBehind, Component: f.Component, Err: result.NewFailure(*f)}); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, race := range watch.races {
		o := race.Object
		warnings = append(warnings, removalRace.Warning(o.Ref(), o.Component, "%s (component %s, %s) %s; %s", o.Ref(), o.Component, o.Where(), race.uninstalled("the removal"), race.Order()))
	}
	return summary(watch.left), warnings, nil
}

// watch is the state of the wait.
type watch struct {
	run      *Removal
	ended    chan error
	over     bool  // the deployer has ended
	removed  error // and said this
	left     []left
	since    map[string]time.Time // when an object was first seen waiting for such a finalizer
	answered time.Time
	races    []race
	// vain is what the deployer waits for in vain; empty if that is not known.
	vain result.Finding
	// unrun is a hook that had no node while it was there; empty if there was none, or if it got one.
	unrun result.Finding
}

// poll is done when the deployer has ended and nothing is being deleted any more, or when something
// has waited long enough for a finalizer that nothing here removes.
func (w *watch) poll(ctx context.Context) wait.Result {
	if !w.over {
		select {
		case w.removed = <-w.ended:
			w.over = true
		default:
		}
	}
	found, err := scan(ctx, w.run.Env)
	if err != nil {
		return wait.NotYet("%v", err)
	}
	w.left, w.answered = found, time.Now()
	if !w.over && w.inVain(ctx) {
		return wait.Done()
	}
	if w.over && w.vain.Cause == "" && w.unrun.Cause != "" { // Argo CD goes on if its cache does not have the hook yet
		w.vain = w.unrun
		return wait.Done()
	}
	stuck, leaving := "", 0
	for _, l := range found {
		if !l.leaving {
			continue
		}
		leaving++
		if l.finalizer == "" {
			continue
		}
		key := l.ref.String()
		if w.since[key].IsZero() {
			w.since[key] = time.Now()
		}
		if time.Since(w.since[key]) >= leftoverStuckFor {
			stuck = key
		}
	}
	switch {
	case stuck != "":
		return wait.Done()
	case w.over && leaving == 0:
		return wait.Done()
	case w.over:
		return wait.NotYet("%s still being deleted", lists.Count(leaving, "object"))
	}
	return wait.NotYet("%s still in the cluster", lists.Count(len(found), "object"))
}

// inVain finds what the deployer waits for, and that never comes: a hook whose pod no node takes, or a
// release that cannot be uninstalled since a definition went before it.
func (w *watch) inVain(ctx context.Context) bool {
	env := w.run.Env
	for _, r := range w.races {
		if lost := r.Lost(ctx, env); lost != "" {
			ref := r.Object.Ref()
			w.vain = result.Finding{Check: removalRace.ID, Object: &ref, Component: r.Object.Component, Cause: "the removal: " + lost, Story: []string{
				fmt.Sprintf("%s: %s (component %s); its definition: %s (component %s)", ref, r.Object.Where(), r.Object.Component, r.Definition.Where(), r.Definition.Component), r.Order(),
			}}
			return true
		}
	}
	if hook := w.unrun.Object; hook != nil {
		if _, err := env.Clients.Kube.BatchV1().Jobs(hook.Namespace).Get(ctx, hook.Name, metav1.GetOptions{}); err == nil {
			w.unrun = result.Finding{} // see below whether it has a node now
		}
	}
	for _, f := range deleteHooks(ctx, env.Clients.Kube, env.Bundle.Expectation.Releases) {
		key := f.String()
		if w.since[key].IsZero() {
			w.since[key] = time.Now()
		}
		ref := result.Ref{Group: "batch", Kind: "Job", Namespace: f.Namespace, Name: f.Name}
		said := result.Finding{Check: deleteHookStuck.ID, Object: &ref, Component: f.Release.Component, Cause: fmt.Sprintf("the removal: %s, cannot run: %s", key, f.Why)}
		switch lasts := time.Since(w.since[key]); {
		case lasts >= unplacedFor:
			w.vain = said
			return true
		case lasts > 0: // seen twice
			w.unrun = said
		}
	}
	return false
}

// verdict is what blocks; nil if nothing does. A deployer that fails is a cause of its own.
func (w *watch) verdict() *result.Failure {
	f := w.vain
	var blocking []left
	for _, l := range w.left {
		// While the deployer is still at it, only what it waits for in vain counts: the rest may go.
		if l.blocks() && (w.over || l.finalizer != "") {
			blocking = append(blocking, l)
		}
	}
	for i, l := range blocking {
		if i == 0 && f.Cause == "" {
			f.Check, f.Object = removalStuck.ID, &blocking[0].ref
			if l.closed {
				f.Check = webhookStays.ID
			}
			f.Cause = "after the removal, " + l.ref.String() + " " + l.why
			if n := len(blocking) - 1; n > 0 {
				f.Cause += fmt.Sprintf(" (and %d more)", n)
			}
		} else {
			f.Others = append(f.Others, l.ref)
		}
		f.Story = append(f.Story, l.ref.String()+" "+l.why)
	}
	if w.removed != nil {
		text := "the deployer did not remove the bundle: " + w.removed.Error()
		if f.Cause == "" {
			f.Check, f.Cause = removalFailed.ID, result.FirstLine(text)
		}
		f.Story = append(f.Story, text)
	}
	if f.Cause == "" {
		return nil
	}
	if !w.over {
		f.Story = append(f.Story, fmt.Sprintf("the deployer waits for it; %s still in the cluster", lists.Count(len(w.left), "object")))
		return result.NewFailure(f)
	}
	for _, line := range summary(w.left) {
		f.Story = append(f.Story, "left behind: "+line)
	}
	return result.NewFailure(f)
}

// mostNames is how many objects of a kind a line names.
const mostNames = 12

// summary has a line for each reason why objects stay, with their names.
func summary(all []left) []string {
	refs := map[string][]result.Ref{}
	for _, l := range all {
		if !l.blocks() {
			refs[l.why] = append(refs[l.why], l.ref)
		}
	}
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(refs)) {
		var names []string
		for _, ref := range refs[why] {
			name := ref.String()
			if !slices.ContainsFunc(refs[why], func(other result.Ref) bool { return other.Kind != ref.Kind }) {
				name = infra.NamespacedName(ref.Namespace, ref.Name)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		if n := len(names); n > 1 {
			why = fmt.Sprintf("%s (%d)", why, n)
		}
		lines = append(lines, why+": "+strings.Join(lists.AtMost(names, mostNames), ", "))
	}
	return lines
}
