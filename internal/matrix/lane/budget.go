package lane

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/reason"
)

// Budgets are the deadlines of the gates, with upstream's names and defaults.
type Budgets struct {
	// GitOps has those of the lanes with controllers, by the kind of their controllers.
	GitOps map[infra.ControllerKind]GitOpsBudget
	// Scheduling is how long the pods of a lane without controllers may take; those of the others share the sync budget.
	Scheduling time.Duration // KWOK_SCHEDULING_TIMEOUT, 120 s
}

// GitOpsBudget is what a deployer has to become ready.
type GitOpsBudget struct {
	RootGrace time.Duration // until its root object exists: KWOK_<KIND>_ROOT_GRACE, e.g. KWOK_FLUX_ROOT_GRACE, 30 s
	Sync      time.Duration // from then on: KWOK_<KIND>_SYNC_TIMEOUT, 300 s
}

// Of gives the grace and the sync budget of a kind of controllers, in the order of Lane.Budget.
func (b Budgets) Of(kind infra.ControllerKind) (grace, sync time.Duration) {
	return b.GitOps[kind].RootGrace, b.GitOps[kind].Sync
}

// BudgetsFromEnv reads the environment. A value that is not a whole number of seconds above zero is refused, not ignored.
func BudgetsFromEnv(getenv func(string) string) (Budgets, error) {
	b := Budgets{GitOps: map[infra.ControllerKind]GitOpsBudget{}}
	var errs []error
	read := func(name string, seconds int) time.Duration {
		if text := getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n <= 0 || n > 24*3600 {
				errs = append(errs, fmt.Errorf("%s=%q: want a whole number of seconds from 1 to 86400", name, text))
			}
			seconds = n
		}
		return time.Duration(seconds) * time.Second
	}
	for _, kind := range infra.ControllerKinds() {
		prefix := "KWOK_" + strings.ToUpper(string(kind))
		b.GitOps[kind] = GitOpsBudget{Sync: read(prefix+"_SYNC_TIMEOUT", 300), RootGrace: read(prefix+"_ROOT_GRACE", 30)}
	}
	b.Scheduling = read("KWOK_SCHEDULING_TIMEOUT", 120)
	if len(errs) > 0 {
		return Budgets{}, &reason.Error{Reason: reason.Usage, Err: errors.Join(errs...)}
	}
	return b, nil
}
