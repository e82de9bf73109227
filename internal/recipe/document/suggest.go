package document

import (
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Similar returns the candidate that name is most likely a typing error for, or "".
func Similar(name string, candidates []string) string { return lists.Nearest(name, candidates) }
