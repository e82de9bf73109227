package recipe

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Similar gives the candidate that name is most likely a typing error for; empty if there is none.
func Similar(name string, candidates []string) string { return lists.Nearest(name, candidates) }

// hint is the tail of an error message about a name that is not one of candidates.
func hint(name string, candidates []string) string {
	if s := lists.Nearest(name, candidates); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	return ""
}
