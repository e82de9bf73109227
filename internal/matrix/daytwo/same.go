package daytwo

import (
	"cmp"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// SameRecipe rejects an old recipe that has the new one's name and is for other clusters: the nodes
// are the new one's. from is the source of the old one. Reason: USAGE.
func SameRecipe(from, name string, old, next *recipe.Result) error {
	if old == nil || next == nil {
		return nil
	}
	for _, c := range []struct{ name, old, next string }{{"service", old.Criteria.Service, next.Criteria.Service}, {"accelerator", old.Criteria.Accelerator, next.Criteria.Accelerator}} {
		if c.old != "" && c.old != "any" && c.old != c.next {
			return reason.New(reason.Usage, "--from %s has another recipe of the name %s: its %s is %s, and now it is %s. An upgrade stays on its cluster; name the old recipe's successor, or another source", from, name, c.name, c.old, cmp.Or(c.next, "not set"))
		}
	}
	return nil
}
