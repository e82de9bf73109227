package main

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// `matrix explain` shows a real story for the codes that docs/failures.md has one for, and each
// example there is found by its code.
func TestExplainStories(t *testing.T) {
	found := 0
	for _, row := range reason.Table() {
		story := failureStory(row.Reason)
		if story == "" {
			continue
		}
		found++
		wantText(t, row.Name(), story, "Example: ", "  "+row.Name()+" (", "  rerun: ")
		if got := invoke(t, nil, "explain", row.Name()); got.code != 0 || !strings.Contains(got.stdout, strings.TrimSpace(story)) {
			t.Errorf("explain %s: code %d, want its story in:\n%s", row.Name(), got.code, got.stdout)
		}
	}
	_, examples, _ := strings.Cut(aicraction.Failures, "\n## Examples\n")
	if sections := strings.Count(examples, "\n### "); found != sections || found < 3 {
		t.Errorf("%d of the %d examples of docs/failures.md are found by a code, want all, and at least 3", found, sections)
	}
}
