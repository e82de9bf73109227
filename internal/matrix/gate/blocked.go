package gate

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// consequences says how many items are blocked by what has failed, and how many wait for something
// that is still in progress: the failure must not seem to be the cause of everything. A failed root
// blocks every item that is its own. So does a failed release where the harness itself delivers one after another
// and releases are no objects of the bundle.
func consequences(failed, blocked []lane.Item, delivered []bundle.Delivered) []string {
	dead, deadRoots := map[result.Ref]bool{}, map[string]bool{}
	all := false
	several := slices.ContainsFunc(delivered, func(d bundle.Delivered) bool { return d.Of != "" })
	for _, it := range failed {
		dead[it.Ref] = true
		all = all || !slices.ContainsFunc(delivered, func(d bundle.Delivered) bool { return d.Ref == it.Ref })
	}
	for range delivered { // a chain of dependencies needs at most as many rounds
		for _, d := range delivered {
			if slices.ContainsFunc(d.DependsOn, func(on result.Ref) bool { return dead[on] }) {
				dead[d.Ref] = true
			}
			if d.Root && dead[d.Ref] {
				all, deadRoots[d.Name] = all || !several, true
			}
			if d.Of != "" && deadRoots[d.Of] {
				dead[d.Ref] = true
			}
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
		lines = append(lines, fmt.Sprintf("%d more blocked by this failure", waiting))
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("%d more waiting for dependencies that were still in progress", others))
	}
	return lines
}

// itemFinding reports items that are not as expected. The first one is the cause; before starts its
// text.
func (g *Gate) itemFinding(before string, items []lane.Item) *result.Failure {
	first := items[0]
	f := result.Finding{Check: first.Check, Cause: before + result.FirstLine(first.ID+": "+first.Text), Object: &first.Ref, Place: first.Place, Component: componentOf(first.Ref, g.Env.Bundle.Expectation.Releases)}
	if len(items) > 1 {
		f.Cause += fmt.Sprintf(" (and %d more)", len(items)-1)
	}
	for i, it := range items {
		f.Story = append(f.Story, it.ID+": "+it.Text)
		if i > 0 {
			f.Others = append(f.Others, it.Ref)
		}
	}
	story := result.NewFailure(f)
	story.Stage = result.StageOf(first.Text)
	return story
}

// componentOf returns the component whose release an item is; empty for a root and for sources.
// Deployers give their object the release's name.
func componentOf(item result.Ref, releases []bundle.Release) string {
	i := slices.IndexFunc(releases, func(r bundle.Release) bool { return r.Name == item.Name })
	if i < 0 {
		return ""
	}
	return releases[i].Component
}
