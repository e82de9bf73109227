package run

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/discover"
	"github.com/nvidia/aicr-action/internal/result"
)

// A log's head stays readable, and says what it leaves out.
func TestWhyChosen(t *testing.T) {
	p := &discover.Plan{Tiers: []int{3}}
	for i := range 50 {
		for _, d := range []string{"helm", "flux-oci"} {
			p.Entries = append(p.Entries, discover.Entry{Cell: result.Cell{Recipe: fmt.Sprintf("r%02d", i), Deployer: d}, Tiers: []int{3}, Reasons: []string{"overlay with a service"}})
		}
	}
	p.Notes = []string{"overlay x was removed"}
	text := whyChosen(p)
	wantText(t, "the text", text, "tiers: 3   cells: 100   skipped: 0\n", "  r39   helm,flux-oci   tier 3   overlay with a service\n", "  and 10 more recipes: see matrix discover\n", "note: overlay x was removed\n")
	if lines := strings.Count(text, "\n"); lines != mostChosen+3 {
		t.Errorf("got %d lines", lines)
	}
}
