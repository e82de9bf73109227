package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// consequences says how many items wait for what has failed, and how many wait for something else that is still on its way: a reader who
// mends the cause must not be told that it was the cause of everything. Only HelmReleases wait for one another by name; in the other
// lanes, and behind a root, whatever is blocked is blocked by what failed.
func consequences(failed, blocked []Item, releases []bundle.Release) []string {
	const release = "HelmRelease "
	all := slices.ContainsFunc(failed, func(it Item) bool { return !strings.HasPrefix(it.ID, release) })
	dead := map[string]bool{}
	for _, it := range failed {
		dead[strings.TrimPrefix(it.ID, release)] = true
	}
	for range releases { // at most as many rounds as a chain has links
		for _, r := range releases {
			if slices.ContainsFunc(r.DependsOn, func(d string) bool { return dead[d] }) {
				dead[r.Name] = true
			}
		}
	}
	waiting, others := 0, 0
	for _, it := range blocked {
		if all || dead[strings.TrimPrefix(it.ID, release)] {
			waiting++
		} else {
			others++
		}
	}
	var lines []string
	if waiting > 0 {
		lines = append(lines, fmt.Sprintf("%d more wait for that", waiting))
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("%d more wait for others, which were on their way", others))
	}
	return lines
}
