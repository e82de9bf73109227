package lane

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nvidia/aicr-action/internal/reason"
)

// Budgets are the deadlines of the gates, with upstream's names and defaults.
type Budgets struct {
	ArgoCDSync      time.Duration // KWOK_ARGOCD_SYNC_TIMEOUT, 300 s
	ArgoCDRootGrace time.Duration // KWOK_ARGOCD_ROOT_GRACE, 30 s
	FluxSync        time.Duration // KWOK_FLUX_SYNC_TIMEOUT, 300 s
	FluxRootGrace   time.Duration // KWOK_FLUX_ROOT_GRACE, 30 s
	// Scheduling is how long the helm lane's pods may take; the GitOps lanes' pods share the sync budget.
	Scheduling time.Duration // KWOK_SCHEDULING_TIMEOUT, 120 s
}

// BudgetsFromEnv reads the environment. A value that is not a whole number of seconds above zero is refused, not ignored.
func BudgetsFromEnv(getenv func(string) string) (Budgets, error) {
	var b Budgets
	for _, v := range []struct {
		name string
		into *time.Duration
		def  int
	}{
		{"KWOK_ARGOCD_SYNC_TIMEOUT", &b.ArgoCDSync, 300},
		{"KWOK_ARGOCD_ROOT_GRACE", &b.ArgoCDRootGrace, 30},
		{"KWOK_FLUX_SYNC_TIMEOUT", &b.FluxSync, 300},
		{"KWOK_FLUX_ROOT_GRACE", &b.FluxRootGrace, 30},
		{"KWOK_SCHEDULING_TIMEOUT", &b.Scheduling, 120},
	} {
		seconds := v.def
		if text := getenv(v.name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n <= 0 || n > 24*3600 {
				return Budgets{}, &reason.Error{Reason: reason.Usage, Err: fmt.Errorf("%s=%q: want a whole number of seconds from 1 to 86400", v.name, text)}
			}
			seconds = n
		}
		*v.into = time.Duration(seconds) * time.Second
	}
	return b, nil
}
