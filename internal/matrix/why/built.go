package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// podParts are the parts of a pod specification that decide about a kind of refusal, by their names
// in messages.
var podParts = map[string][]string{
	"selector": {"nodeSelector"}, "affinity": {"affinity"}, "tolerations": {"tolerations"}, "resources": {"containers", "initContainers", "resources"}, "node name": {"nodeName"},
}

// built returns the files of a kustomization that decide about a part of the workload's pods: the
// patches that change it, and the manifest. The first place is the one to open first. A workload of
// another component has none.
func (p *provenance) built(what, part string) (lines []string, places []source) {
	if p.w == nil || p.w.Built == nil {
		return nil, nil
	}
	b := p.w.Built
	at, has := lineOf(b, podParts[part])
	text := fmt.Sprintf("%s: set in %s", what, at)
	if !has {
		text = fmt.Sprintf("%s: none set in %s", what, at)
	}
	lines = append(lines, fmt.Sprintf("%s, a file of the kustomization %s", text, b.Kustomization))
	places = append(places, source{result.Place{File: at.File, Line: at.Line}, true})
	for _, patch := range b.Patches {
		if slices.ContainsFunc(podParts[part], func(name string) bool { return slices.Contains(patch.Parts, name) }) {
			lines = append(lines, fmt.Sprintf("%s: changed by the patch in %s", what, patch.Origin))
			places = slices.Insert(places, 0, source{result.Place{File: patch.Origin.File, Line: patch.Origin.Line}, true}) // the last one decides
		}
	}
	return lines, places
}

// lineOf returns the line of the first of the parts that the manifest sets or, if it sets none, the
// line of the pod specification.
func lineOf(b *recipe.Place, parts []string) (at recipe.Origin, set bool) {
	for _, name := range parts {
		if o, ok := b.Fields[name]; ok {
			return o, true
		}
	}
	return b.From, false
}

// whereBuilt returns the place to edit in a kustomization; empty for a workload of another
// component.
func (p *provenance) whereBuilt(part string) string {
	_, places := p.built(part, part)
	if len(places) == 0 {
		return ""
	}
	var names []string
	for _, s := range places {
		names = append(names, recipe.Origin{File: s.place.File, Line: s.place.Line}.String())
	}
	if len(names) == 1 {
		return "in " + names[0]
	}
	return fmt.Sprintf("in the patch in %s (over %s)", names[0], strings.Join(names[1:], " and "))
}
