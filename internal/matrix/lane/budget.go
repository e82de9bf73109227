package lane

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Budgets are the deadlines of the gates, with upstream's names and defaults.
type Budgets struct {
	// GitOps has the budgets of the lanes with controllers, by the kind of controllers.
	GitOps map[infra.ControllerKind]GitOpsBudget
	// Scheduling is how long the pods of a lane without controllers may take. In other lanes they
	// share the sync budget.
	Scheduling time.Duration // KWOK_SCHEDULING_TIMEOUT, 120 s

	// asked are the budgets that the environment sets, by their variables.
	asked map[string]bool
}

// GitOpsBudget is the time for a deployer to become ready.
type GitOpsBudget struct {
	RootGrace time.Duration // until its root object exists: KWOK_<KIND>_ROOT_GRACE, e.g. KWOK_FLUX_ROOT_GRACE, 30 s
	Sync      time.Duration // from then on: KWOK_<KIND>_SYNC_TIMEOUT, 300 s; OfToday has others
}

// Of returns the grace and the sync budget of a kind of controllers, in the order of Lane.Budget.
func (b Budgets) Of(kind infra.ControllerKind) (grace, sync time.Duration) {
	return b.GitOps[kind].RootGrace, b.GitOps[kind].Sync
}

// BudgetsFromEnv reads the environment. A value that is not a whole number of seconds above zero is
// an error.
func BudgetsFromEnv(getenv func(string) string) (Budgets, error) {
	b := Budgets{GitOps: map[infra.ControllerKind]GitOpsBudget{}, asked: map[string]bool{}}
	var errs []error
	read := func(name string, seconds int) time.Duration {
		if text := getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n <= 0 || n > 24*3600 {
				errs = append(errs, fmt.Errorf("%s=%q: want a whole number of seconds from 1 to 86400", name, text))
			}
			seconds = n
			b.asked[name] = true
		}
		return time.Duration(seconds) * time.Second
	}
	for _, kind := range infra.ControllerKinds() {
		b.GitOps[kind] = GitOpsBudget{Sync: read(syncVariable(kind), 300), RootGrace: read(variable(kind, "ROOT_GRACE"), 30)}
	}
	b.Scheduling = read(schedulingVariable, 120)
	if len(errs) > 0 {
		return Budgets{}, &reason.Error{Reason: reason.Usage, Err: errors.Join(errs...)}
	}
	return b, nil
}

// OfToday returns the budgets with the defaults of AICR's recipes since July 2026. Values from the
// environment stay as they are.
func (b Budgets) OfToday() Budgets {
	today := Budgets{GitOps: map[infra.ControllerKind]GitOpsBudget{}, Scheduling: b.Scheduling, asked: b.asked}
	for kind, budget := range b.GitOps {
		if !b.asked[syncVariable(kind)] {
			budget.Sync = syncOfToday[kind]
		}
		today.GitOps[kind] = budget
	}
	return today
}

// syncOfToday are the sync budgets of AICR's own KWOK tests since July 2026.
var syncOfToday = map[infra.ControllerKind]time.Duration{
	infra.ArgoCDControllers: 480 * time.Second,
	infra.FluxControllers:   500 * time.Second,
}

const schedulingVariable = "KWOK_SCHEDULING_TIMEOUT"

func variable(kind infra.ControllerKind, name string) string {
	return "KWOK_" + strings.ToUpper(string(kind)) + "_" + name
}

func syncVariable(kind infra.ControllerKind) string { return variable(kind, "SYNC_TIMEOUT") }

// CellSize is the size of a cell in what takes time.
type CellSize struct {
	Pods int
	// DefinitionBytes is the size of the CustomResourceDefinitions.
	DefinitionBytes int
	// MinReady is what the releases, one after the other, have in minReadySeconds: Argo CD and Flux
	// wait for it. A budget of the same length would decide by chance.
	MinReady time.Duration
}

// Upstream's defaults are for a handful of nodes. A cell with more pods than usualPods has a second
// more for each podsASecond beyond them: a fifth of the rate at which 15,000 pods of 1,000 nodes
// became ready on two cores.
//
// The API server rebuilds its OpenAPI documents after each CustomResourceDefinition, and Argo CD
// reads them again: that takes time by the size of all of them. The simulated charts' have up to
// usualDefinitions in all. Two Argo CD cells with AICR's original charts, 6.8 MB each, side by side
// on two slow cores needed 280 s to more than 318 s (docs/contributing/figures.md). So each definitionsASecond
// beyond usualDefinitions add a second to the sync budget.
const (
	usualPods          = 1000
	podsASecond        = 20
	usualDefinitions   = 1 << 20
	definitionsASecond = 16 << 10
	// longestGrowth bounds what a recipe adds to a budget: replicas and minReadySeconds are numbers
	// that it may make as large as it likes, and a run must end.
	longestGrowth = time.Hour
)

// For returns the budgets of a cell of this size. Values from the environment stay as they are.
func (b Budgets) For(size CellSize) Budgets {
	pods := min(time.Duration(max(0, size.Pods-usualPods)/podsASecond)*time.Second, longestGrowth)
	definitions := time.Duration(max(0, size.DefinitionBytes-usualDefinitions)/definitionsASecond) * time.Second
	sized := Budgets{GitOps: map[infra.ControllerKind]GitOpsBudget{}, Scheduling: b.Scheduling, asked: b.asked}
	for kind, budget := range b.GitOps {
		if !b.asked[syncVariable(kind)] {
			budget.Sync += min(pods+definitions+min(size.MinReady, longestGrowth), longestGrowth)
		}
		sized.GitOps[kind] = budget
	}
	if !b.asked[schedulingVariable] {
		sized.Scheduling += pods // a lane without controllers has installed everything by then
	}
	return sized
}
