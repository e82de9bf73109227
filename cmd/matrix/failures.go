package main

import (
	"strings"

	aicraction "github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// failureStory is the section of docs/failures.md that shows a cell with that reason, or "".
func failureStory(r reason.Reason) string {
	if r == "" {
		return ""
	}
	_, sections, _ := strings.Cut(aicraction.Failures, "\n## ")
	for _, s := range strings.Split(sections, "\n## ") {
		if strings.Contains(s, "  "+string(r)+" (") {
			return "Example: " + strings.TrimSpace(s) + "\n"
		}
	}
	return ""
}
