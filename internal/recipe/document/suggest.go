package document

import (
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Similar gives the candidate that name is most likely a typing error for; empty if there is none.
func Similar(name string, candidates []string) string { return lists.Nearest(name, candidates) }
