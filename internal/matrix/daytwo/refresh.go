package daytwo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/result"
)

// mostRefreshed is how many places a line about a release lists.
const mostRefreshed = 5

// Refreshed says, a line for each release, what the next hard refresh of Argo CD changes: it renders
// the charts again, and two renderings of the harness's own differ at these paths.
func Refreshed(b *bundle.Bundle, generated map[result.Ref][]string) (found []result.Finding) {
	for _, r := range b.Expectation.Releases {
		var places, rolls, hooks []string
		prefer, first := "", result.Ref{}
		for _, o := range b.Expectation.Objects {
			ref := o.Ref()
			paths := generated[ref]
			switch {
			case o.Release != r.Name || len(paths) == 0:
				continue
			case o.Hook:
				hooks = append(hooks, ref.String())
				continue
			}
			if prefer == "" {
				prefer, first = o.Template, ref
			}
			for _, path := range paths {
				places = append(places, ref.String()+" "+path)
			}
			if compare.Rolls(ref.Kind) && slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, "spec.template") }) {
				rolls = append(rolls, ref.String())
			}
		}
		if len(places) > 0 {
			found = append(found, refreshChanges.Warning(first, r.Component, "%s", refreshedLine(b, r.Name, prefer, places, rolls, hooks)))
		}
	}
	return found
}

func refreshedLine(b *bundle.Bundle, release, prefer string, places, rolls, hooks []string) string {
	places = slices.Compact(places)
	line := release + ": a hard refresh of Argo CD changes " + places[0]
	if more := places[1:min(len(places), mostRefreshed)]; len(more) > 0 {
		line += ", " + strings.Join(more, ", ")
	}
	if n := len(places) - mostRefreshed; n > 0 {
		line += fmt.Sprintf(" and %d more", n)
	}
	if len(rolls) > 0 {
		line += "; " + strings.Join(rolls, " and ") + " rolls"
	}
	if len(hooks) > 0 {
		line += "; " + hooks[0] + " is a hook, which it does not run again then: if it has the same value, the two no longer fit each other"
	}
	i := slices.IndexFunc(b.Installs, func(in bundle.Install) bool { return in.Release.Name == release })
	if i >= 0 && b.Installs[i].Chart != nil {
		if uses := usesOf(&b.Installs[i], prefer); len(uses) > 0 {
			line += " (" + uses[0] + ")"
		}
	}
	return line
}
