// Package lane defines what a lane is: the interface that each deployer's lane implements, what it
// is given, and what several of them share. It must not know a particular lane, the gate or the
// runner. The lanes are packages below it; package matrix has the table.
package lane

import (
	"context"
	"log/slog"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Lane is one way of delivery: what runs for it besides the control plane, how the bundle gets to
// the cluster, and how to read whether it has arrived. A new lane is a folder, and a row in the
// table of package matrix.
type Lane interface {
	// Deployer makes the bundle; its name is the lane's name.
	Deployer() bundle.Deployer
	// Controllers returns the kinds that the lane needs besides the control plane; none if the
	// harness itself delivers.
	Controllers() []infra.ControllerKind
	// Install starts the lane's controllers on the cell's cluster. Reasons: its own (ARGOCD_…,
	// FLUX_…).
	Install(ctx context.Context, env *Env) error
	// Publish pushes the bundle to the cell's registry, and returns what was pushed: nothing if no
	// controller pulls. Reason: PUBLISH_FAILED.
	Publish(ctx context.Context, env *Env) ([]publish.Published, error)
	// Deploy hands over the bundle. Only what waiting cannot fix is an error. Reason:
	// DEPLOY_FAILED.
	Deploy(ctx context.Context, env *Env) error
	// Order says what the deployer waits for. No cluster is needed to tell.
	Order(env *Env) Order
	// Budget returns the lane's sync deadline, and the grace for its root object to appear before
	// that starts to run.
	Budget(b Budgets) (grace, sync time.Duration)
	// TimeoutReason returns the reason of a deadline that passes with objects still open.
	TimeoutReason() reason.Reason
	// Poll reads the state of every object that the lane must report on, by name, once.
	Poll(ctx context.Context, env *Env) (State, error)
	// ReadBack reads, once the gate has passed, the deployer's own records of what it delivered.
	ReadBack(ctx context.Context, env *Env) (Record, error)
	// Again delivers the same bundle once more, without any cache of what was rendered, and returns
	// when the deployer reports that it has done so, or budget is used up. Reasons: DEPLOY_FAILED,
	// the lane's timeout.
	Again(ctx context.Context, env *Env, budget time.Duration) error
	// Remove undeploys the bundle in the deployer's own way, and returns when the deployer reports
	// that it has done so, budget is used up, or ctx ends. Reasons: as of Again.
	Remove(ctx context.Context, env *Env, budget time.Duration) error
	// Unchanged reports whether the recipe has left alone what keeps it from configuring the lane's
	// controllers: no verdict counts otherwise. Reasons: DEPLOY_FAILED, CLUSTER_FAILED.
	Unchanged(ctx context.Context) error
	// Artifacts returns what a failed cell of this lane leaves.
	Artifacts() Artifacts
	// Stop stops the controllers.
	Stop()
}

// RollsBack is a lane whose deployer has a rollback of its own. Env.Before is what runs, and
// Env.Bundle what ran before it. The gate waits for the end.
type RollsBack interface {
	RollBack(ctx context.Context, env *Env) error
}

// Env is what a lane works with: one cell's cluster, registry and bundle.
type Env struct {
	Cell    result.Cell
	Cluster infra.Cluster
	// Clients and Registry are the cluster's; Clients are nil until it is up.
	Clients  *infra.Clients
	Registry infra.Registry
	Input    bundle.Input
	Bundle   *bundle.Bundle
	// Before is the bundle that was delivered before this one; nil on a first installation.
	Before *bundle.Bundle
	// Furnished: the user gave the cluster objects before anything is delivered (--with).
	Furnished bool
	Health    health.Policy
	// BestEffort means that a release that fails does not keep the others from being tried (deploy.sh --best-effort),
	// where the harness itself delivers.
	BestEffort bool
	// Published is what was pushed to the registry: the charts and the bundle. Empty until then.
	Published []publish.Published
	// Dir is the cell's working directory.
	Dir string
	Log *slog.Logger

	Tell func(string) // the progress line of the step that runs
}

// State is one poll of what a deployer reports.
type State struct {
	// RootSeen means that the root object exists, so that the grace period is over.
	RootSeen bool
	Items    []Item
}

// ItemState is the state of one object that a deployer reports on.
type ItemState int

// The states. Accepted is a state that passes but is not the canonical one.
const (
	ItemWaiting ItemState = iota
	ItemGood
	ItemAccepted
	// ItemBlocked waits for another item: a consequence, not a cause.
	ItemBlocked
	// ItemSuspect reports an error that its controller will try again; it is an error once it
	// lasts.
	ItemSuspect
	// ItemFailed reports an error that waiting does not fix.
	ItemFailed
)

// String is the state's name in cell.json and summary.md.
func (s ItemState) String() string {
	return [...]string{"waiting", "good", "accepted", "blocked", "suspect", "failed"}[s]
}

// Item is one object that a deployer reports on.
type Item struct {
	ID string // for people: "Application cert-manager"
	// Ref is the object. A release that the harness itself delivers has the kind Release and no
	// group.
	Ref   result.Ref
	State ItemState
	Text  string
	// Reason, if set, is the reason of a failure of this object; DEPLOY_FAILED otherwise.
	Reason reason.Reason
	// Check is the ID of the check that this is a finding of, if it is of one.
	Check string
	// Place is the line that a failure is about, if the lane knows one.
	Place result.Place
	// Patience is how long an ItemSuspect must last, if longer than usual.
	Patience time.Duration

	// Different are the objects that the deployer itself says are not as it has rendered them.
	Different []result.Ref

	Timing *Timing // nil if the deployer does not say
	// Attempt is another text for each try of a controller to deliver the object; empty if it does not say.
	Attempt string

	// Behind is the component whose pods the item waits for, if those are not its own.
	Behind string
	// Note is for people, of an item that passed.
	Note string
}

// Open reports whether the deployer has not finished the item.
func (i Item) Open() bool { return i.State != ItemGood && i.State != ItemAccepted }
