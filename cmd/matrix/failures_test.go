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
		got := invoke(t, nil, "explain", row.Name())
		_, story, ok := strings.Cut(got.stdout, "Example: ")
		if !ok {
			continue
		}
		found++
		if got.code != 0 {
			t.Errorf("explain %s: code %d", row.Name(), got.code)
		}
		wantText(t, row.Name(), story, "  "+row.Name()+" (", "  rerun: ")
	}
	_, examples, _ := strings.Cut(aicraction.Failures, "\n## Examples\n")
	if sections := strings.Count(examples, "\n### "); found != sections || found < 3 {
		t.Errorf("%d of the %d examples of docs/failures.md are found by a code, want all, and at least 3", found, sections)
	}
}
