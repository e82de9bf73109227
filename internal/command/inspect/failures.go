package inspect

import (
	"strings"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// failureStory is the example of docs/failures.md that shows a cell with that reason, or "".
func failureStory(r reason.Reason) string {
	if r == "" {
		return ""
	}
	_, examples, _ := strings.Cut(aicraction.Failures, "\n## Examples\n")
	for _, s := range strings.Split(examples, "\n### ") {
		if strings.Contains(s, "  "+string(r)+" (") {
			return "Example: " + strings.TrimSpace(s) + "\n"
		}
	}
	return ""
}
