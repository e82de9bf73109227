package discover

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/durations"
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

// TestGitHub: never more entries than allowed, each recipe with all of its lanes in exactly one of
// them, and without times no entry much larger than another.
func TestGitHub(t *testing.T) {
	lanes := []string{"helm", "argocd-oci", "argocd-helm-oci", "flux-oci"}
	for _, test := range []struct{ recipes, maxJobs, want int }{
		{0, 256, 0}, {1, 256, 1}, {64, 256, 64}, {256, 256, 256}, {257, 256, 256}, {1000, 256, 256}, {10, 4, 4}, {10, 1, 1}, {10, 9, 9}, {10, 10, 10},
	} {
		t.Run(fmt.Sprintf("%d recipes in %d", test.recipes, test.maxJobs), func(t *testing.T) {
			plan := planOf(test.recipes, lanes...)
			matrix := readMatrix(t, plan, test.maxJobs, durations.New())
			if n := len(matrix); n != test.want {
				t.Errorf("entries: got %d, want %d", n, test.want)
			}
			least, most := 1<<30, 0
			for _, j := range matrix {
				least, most = min(least, j.Cells), max(most, j.Cells)
				if j.Deployer != strings.Join(lanes, ",") {
					t.Errorf("%s has the deployers %s, want all", j.Name, j.Deployer)
				}
			}
			if test.recipes > 0 && most-least > len(lanes) {
				t.Errorf("entries have from %d to %d cells; want them even", least, most)
			}
		})
	}
	for _, bad := range []int{0, -1, 257} {
		if _, err := planOf(10, lanes...).GitHub(bad, durations.New()); err == nil {
			t.Errorf("%d jobs: want an error", bad)
		}
	}
}

// readMatrix reads the matrix back, and sees that each cell is in one entry.
func readMatrix(t *testing.T, plan *Plan, maxJobs int, book *durations.Book) []Job {
	t.Helper()
	text, err := plan.GitHub(maxJobs, book)
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
	seen, names := map[result.Cell]bool{}, map[string]bool{}
	for _, j := range matrix.Include {
		if names[j.Name] {
			t.Errorf("two entries have the name %q", j.Name)
		}
		names[j.Name] = true
		n := 0
		for _, r := range strings.Split(j.Recipe, ",") {
			for _, d := range strings.Split(j.Deployer, ",") {
				cell := result.Cell{Recipe: r, Deployer: d}
				if seen[cell] {
					t.Errorf("%s is there twice", cell)
				}
				seen[cell] = true
				n++
			}
		}
		if j.Cells != n {
			t.Errorf("%s: cells %d, but it has %d", j.Name, j.Cells, n)
		}
	}
	if len(seen) != len(plan.Entries) {
		t.Errorf("cells: got %d, want all %d", len(seen), len(plan.Entries))
	}
	return matrix.Include
}

// A pull request has recipes of tier 1 with every lane, and of tier 2 with helm alone: their jobs
// are apart, and those that take longer get more.
func TestJobsByCost(t *testing.T) {
	plan := planOf(3, "helm", "flux-oci")
	for i := range 6 {
		plan.Entries = append(plan.Entries, Entry{Cell: result.Cell{Recipe: fmt.Sprintf("t%d", i), Deployer: "helm"}})
	}
	book := durations.New()
	for _, e := range plan.Entries {
		took := time.Minute
		if e.Recipe == "r001" {
			took = time.Hour
		}
		book.Add(result.Result{Cell: e.Cell, Verdict: result.Verdict{Status: result.Passed}, Duration: took})
	}
	var got []string
	for _, j := range readMatrix(t, plan, 4, book) {
		got = append(got, fmt.Sprintf("%s: %s by %s", j.Name, j.Recipe, j.Deployer))
	}
	// The slow recipe cannot be divided, so more than one further job for its lanes would be
	// useless.
	want := []string{
		"helm flux-oci, 1 of 2: r000,r002 by helm,flux-oci", "r001: r001 by helm,flux-oci",
		"helm, 1 of 2: t0,t2,t4 by helm", "helm, 2 of 2: t1,t3,t5 by helm",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := plan.Jobs(1, book); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Errorf("one job for two groups: got %v", err)
	}
}
