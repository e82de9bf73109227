// Package checks is the list of checks. Each is a file in a package below this one, with its cases in that package's
// testdata, or in that of the steps which come after the first delivery. It must not know cells.
package checks

import (
	"cmp"
	"slices"

	"github.com/nvidia/aicr-action/internal/matrix/checks/access"
	"github.com/nvidia/aicr-action/internal/matrix/checks/delivery"
	"github.com/nvidia/aicr-action/internal/matrix/checks/network"
	"github.com/nvidia/aicr-action/internal/matrix/checks/operator"
	"github.com/nvidia/aicr-action/internal/matrix/checks/storage"
	"github.com/nvidia/aicr-action/internal/matrix/checks/workload"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/daytwo"
	"github.com/nvidia/aicr-action/internal/matrix/intact"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// All are the checks, by ID.
func All() []judge.Check {
	all := slices.Concat(workload.Checks(), network.Checks(), storage.Checks(), access.Checks(), delivery.Checks(), operator.Checks(),
		daytwo.Checks(), intact.Checks(), compare.Checks())
	slices.SortFunc(all, func(a, b judge.Check) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
