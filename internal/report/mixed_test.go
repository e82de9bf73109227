package report

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// One cell of two recipes directories is no second attempt: taking the latest would lose a red.
func TestMixed(t *testing.T) {
	of := func(recipes string, status result.Status) *Report {
		r := result.Result{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Recipes: recipes}
		r.Status = status
		return &Report{Results: []result.Result{r}}
	}
	if got := mixed([]*Report{of("a", result.Failed), of("a", result.Passed)}); len(got) > 0 {
		t.Errorf("two attempts: got %q", got)
	}
	got := strings.Join(mixed([]*Report{of("a", result.Failed), of("b", result.Passed)}), "\n")
	for _, want := range []string{"eks/helm", "in a (failed)", "in b (passed)"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
