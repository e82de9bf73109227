package lane

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// KindRelease is the kind of an Item that is a release and has no object of its own.
const KindRelease = "Release"

// InOrder is what lanes without controllers have in common: the harness itself delivers the
// releases, one after another in deploymentOrder, and reports on each. It continues in the
// background while the gate polls, so that a hook whose pod cannot be scheduled is seen at once and
// not after Helm's timeout.
type InOrder struct {
	// BestEffort: a release that fails does not end the rest.
	BestEffort bool

	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	items []Item
}

// Controllers returns none: the control plane is enough.
func (q *InOrder) Controllers() []infra.ControllerKind { return nil }

// Unchanged is nil: no controller delivers.
func (q *InOrder) Unchanged(context.Context) error { return nil }

// Install does nothing: there are no controllers to start.
func (q *InOrder) Install(context.Context, *Env) error { return nil }

// Publish does nothing, since no controller pulls.
func (q *InOrder) Publish(context.Context, *Env) ([]publish.Published, error) { return nil, nil }

// Budget returns no grace, since there is no root object.
func (q *InOrder) Budget(b Budgets) (time.Duration, time.Duration) { return 0, b.Scheduling }

// TimeoutReason is SCHEDULING_FAILED: only GitOps lanes can end with a sync timeout (upstream's
// rule).
func (q *InOrder) TimeoutReason() reason.Reason { return reason.SchedulingFailed }

// Start starts the deliveries. do delivers one release. Its error ends the rest, unless BestEffort is set, and its
// text is for people.
func (q *InOrder) Start(ctx context.Context, releases []bundle.Release, do func(context.Context, bundle.Release) error, passed string) {
	q.Stop() // an earlier delivery
	q.mu.Lock()
	q.items = nil // those of an earlier delivery
	for _, r := range releases {
		q.items = append(q.items, Item{ID: "Release " + r.Name, Ref: result.Ref{Kind: KindRelease, Namespace: r.Namespace, Name: r.Name}, State: ItemBlocked, Text: "not installed yet"})
	}
	q.mu.Unlock()
	ctx, q.cancel = context.WithCancel(ctx)
	q.done = make(chan struct{})
	further := q.BestEffort
	go func() {
		defer close(q.done)
		for i, r := range releases {
			q.set(i, ItemWaiting, "is being installed")
			if err := do(ctx, r); err != nil {
				q.set(i, ItemFailed, err.Error())
				if further && ctx.Err() == nil {
					continue
				}
				return
			}
			q.set(i, ItemGood, passed)
		}
	}()
}

// Finished waits until the deliveries have ended, or budget is used up. Its error is that of the
// release that failed. Reason: DEPLOY_FAILED.
func (q *InOrder) Finished(ctx context.Context, budget time.Duration) error {
	left := time.NewTimer(budget)
	defer left.Stop()
	select {
	case <-q.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-left.C:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, it := range q.items {
		switch it.State {
		case ItemGood:
		case ItemFailed:
			return reason.New(reason.DeployFailed, "%s: %s", it.ID, it.Text)
		default:
			return reason.New(q.TimeoutReason(), "%s did not end within %s: %s", it.ID, budget, it.Text)
		}
	}
	return nil
}

func (q *InOrder) set(i int, s ItemState, text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items[i].State, q.items[i].Text, q.items[i].Behind = s, text, ""
}

// TriesAgain says that the delivery of a release is tried again, since a webhook of another one, or
// of its own, did not answer.
func (q *InOrder) TriesAgain(release string, tries int, webhook string, of bundle.Release, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.items {
		if it := &q.items[i]; it.Ref.Name == release {
			why := fmt.Sprintf("the webhook %q of release %s did not answer", webhook, of.Name)
			it.Text = fmt.Sprintf("tried %d times: %s: %s", tries, why, err)
			if of.Name != release {
				it.Behind = of.Component
			}
			it.Note = fmt.Sprintf("%s: delivered at try %d, since %s before; no pod of it was ready yet", it.ID, tries+1, why)
		}
	}
}

// Poll returns the releases as they are now. There is no root object.
func (q *InOrder) Poll(context.Context, *Env) (State, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return State{RootSeen: true, Items: append([]Item(nil), q.items...)}, nil
}

// Artifacts has no files: the harness's log shows what was delivered.
func (q *InOrder) Artifacts() Artifacts {
	return Artifacts{Own: "what Helm did and said: the lines with helm:"}
}

// Stop cancels the current delivery and waits for it.
func (q *InOrder) Stop() {
	if q.cancel != nil {
		q.cancel()
		<-q.done
	}
}
