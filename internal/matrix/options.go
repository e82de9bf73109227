package matrix

import (
	"io"
	"time"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// Inputs are what the cells of a run are made from.
type Inputs struct {
	Store *recipe.Store
	// RecipesName is the name of the recipes directory in results.
	RecipesName string
	// DataName is the name of the data directory that overlays it; empty without one.
	DataName string
	Charts   catalog.Source
	// Bundler, if set, makes the bundles in place of this program.
	Bundler Bundler
	// Direct, if set, lets controllers pull charts from the recipe's repositories. It returns what
	// they may reach for that.
	Direct   func([]recipe.Component) (*infra.Egress, error)
	Profiles []simulate.Profile
	// Nodes are the simulated nodes of each cluster. A group without a profile gets the recipe's.
	Nodes  []simulate.NodeGroup
	Health health.Policy
	// Helm is the major version of Helm in the lane helm; 0 for the one that a bundle is made for.
	Helm int
	// Split has argocd-oci and argocd-git deliver the two classes of components by a root each.
	Split bool
	// Existing is what each cluster has before anything is delivered.
	Existing []Existing
}

// Limits say when a cell or the run is over.
type Limits struct {
	Budgets lane.Budgets
	// Deadline is when sync work must have ended.
	Deadline gate.Deadline
	// MaxStrikes is the number of consecutive sync timeouts that end the run; 0 for never.
	MaxStrikes int
	// FailFast starts no further cell after the first failed one.
	FailFast bool
	// Slowness, if set, returns how many times slower than at its best the machine was since a
	// time. A deadline that passes on a slow machine says nothing about the recipe.
	Slowness func(since time.Time) float64
}

// Schedule says in which order cells start, and how many fit.
type Schedule struct {
	// Durations, if set, are what cells took in earlier runs.
	Durations *durations.Book
	// First are the recipes to start with.
	First []string
	// Memory, if set, returns how many bytes this program may still use; see awaitMemory.
	Memory func() (uint64, error)
	// Building, if set, still gets what later cells are made of onto the machine. A cell waits for
	// its own controllers only, and those that can run go first.
	Building *schedule.Build
	// Ahead is how many clusters are started, with their controllers, before a worker is free for
	// their cells, as memory allows; 0 for none.
	Ahead int
}

// Output says where a run works and what it leaves.
type Output struct {
	// RunID is part of the names of clusters and directories.
	RunID string
	// ClusterPrefix starts the names of clusters (KWOK_CLUSTER).
	ClusterPrefix string
	// Dir is the run's own directory.
	Dir string
	// Artifacts, if set, is the directory for debug artifacts and logs.
	Artifacts string
	// NoSnapshot leaves the cluster snapshot out of the debug artifacts of a failed cell.
	NoSnapshot bool
	// Keep leaves the cluster of each cell running.
	Keep bool
	// Log, if set, gets the harness's log besides the file of each cell.
	Log io.Writer
}

// Verification is what a cell does after the gate, in this order.
type Verification struct {
	// Bench has the checks of the renderings and of the cluster; nil for all of them, with nothing ignored.
	Bench *judge.Bench
	// Checks runs the components' health checks.
	Checks bool
	// Probes runs the jobs that a user of the recipe would run (recipes/probes).
	Probes bool
	// JobControllers run as their own programs in the cells whose probes have objects of theirs.
	// The platform must have them.
	JobControllers []infra.JobController
	// Validate are the phases of the recipe's own validation block.
	Validate []validate.Phase
	// Drift delivers the bundle a second time: nothing may change or roll.
	Drift bool
	// Rollback delivers, at the end of each upgrade, what ran before it once more.
	Rollback bool
	// Sequences are further cells beside each upgrade, by what comes before it: see result.Cell.
	Sequences []string
	// Remove undeploys the bundle at the end: nothing that blocks may stay.
	Remove bool
	// Chaos, if set, is what to break in a cell that has passed all else. Its clusters need the
	// KWOK stages of package chaos.
	Chaos *chaos.Plan
}

// Hooks follow a run. OnResult is called by one goroutine at a time, the others by several.
type Hooks struct {
	// OnResult, if set, gets all results whenever a cell has ended. Cells that have not ended are
	// listed as not run.
	OnResult func([]result.Result)
	// OnEvent, if set, gets the start and end of every step, and the end of every cell.
	OnEvent func(Event)
	// Watching, if set, gets the observer of a cell's nodes and pods as soon as its cluster is
	// ready. It must not use it after CellEnd.
	Watching func(result.Cell, *placement.Observer)
	// onCaptured, if set, gets the objects of each cell that has passed.
	onCaptured func(result.Cell, *compare.Captured)
}
