package discover

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// planOf has every recipe with every deployer.
func planOf(recipes int, deployers ...string) *Plan {
	p := &Plan{}
	for i := range recipes {
		for _, d := range deployers {
			p.Entries = append(p.Entries, Entry{Cell: result.Cell{Recipe: fmt.Sprintf("r%03d", i), Deployer: d}, Tiers: []int{3}, Reasons: []string{"x"}})
		}
	}
	return p
}

// TestGitHub: never more entries than allowed, each cell in exactly one of them, and no entry much larger than another.
func TestGitHub(t *testing.T) {
	lanes := []string{"helm", "argocd-oci", "argocd-helm-oci", "flux-oci"}
	for _, test := range []struct{ recipes, maxJobs, want int }{
		{0, 256, 0}, {1, 256, 4}, {64, 256, 256}, {65, 256, 132}, {150, 256, 200}, {1000, 256, 252}, {10, 4, 4}, {10, 5, 4}, {10, 40, 40}, {10, 39, 20},
	} {
		t.Run(fmt.Sprintf("%d recipes in %d", test.recipes, test.maxJobs), func(t *testing.T) {
			plan := planOf(test.recipes, lanes...)
			text, err := plan.GitHub(test.maxJobs)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(text, "\n") != 1 {
				t.Errorf("it must be one line for GITHUB_OUTPUT: %q", text)
			}
			var matrix struct{ Include []Job }
			if err := json.Unmarshal([]byte(text), &matrix); err != nil || matrix.Include == nil {
				t.Fatalf("read the matrix back: %v", err)
			}
			if n := len(matrix.Include); n != test.want || n > test.maxJobs {
				t.Errorf("entries: got %d, want %d", n, test.want)
			}
			seen, names := map[result.Cell]bool{}, map[string]bool{}
			least, most := 1<<30, 0
			for _, j := range matrix.Include {
				if names[j.Name] {
					t.Errorf("two entries have the name %q", j.Name)
				}
				names[j.Name] = true
				recipes := strings.Split(j.Recipe, ",")
				if j.Cells != len(recipes) {
					t.Errorf("%s: cells %d, but %d recipes", j.Name, j.Cells, len(recipes))
				}
				least, most = min(least, len(recipes)), max(most, len(recipes))
				for _, r := range recipes {
					if seen[result.Cell{Recipe: r, Deployer: j.Deployer}] {
						t.Errorf("%s %s is there twice", r, j.Deployer)
					}
					seen[result.Cell{Recipe: r, Deployer: j.Deployer}] = true
				}
			}
			if len(seen) != len(plan.Entries) {
				t.Errorf("cells: got %d, want all %d", len(seen), len(plan.Entries))
			}
			if test.recipes > 0 && most-least > 1 {
				t.Errorf("entries have from %d to %d cells; want them even", least, most)
			}
		})
	}
	for _, bad := range []int{0, -1, 257, 3} {
		if _, err := planOf(10, lanes...).GitHub(bad); err == nil {
			t.Errorf("%d jobs for 4 deployers: want an error", bad)
		}
	}
}
