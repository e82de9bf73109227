package matrix

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// consequences says how many items wait for what has failed, and how many wait for something else that is still on its way: a reader who
// fixes the cause must not be told that it was the cause of everything. Everything waits for a root, and in a lane that delivers one release
// after another, everything waits for the one that failed.
func consequences(failed, blocked []Item, delivered []bundle.Delivered) []string {
	dead := map[result.Ref]bool{}
	for _, it := range failed {
		dead[it.Ref] = true
	}
	all := dead[result.Ref{}]
	for range delivered { // at most as many rounds as a chain has links
		for _, d := range delivered {
			if slices.ContainsFunc(d.DependsOn, func(on result.Ref) bool { return dead[on] }) {
				dead[d.Ref] = true
			}
			all = all || d.Root && dead[d.Ref]
		}
	}
	waiting, others := 0, 0
	for _, it := range blocked {
		if all || dead[it.Ref] {
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
