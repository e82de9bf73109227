package app

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// applicationHealth is the key of Argo CD's settings by which it waits for the Applications of a sync
// wave. Without it a wave only orders their creation.
const applicationHealth = "resource.customizations.health.argoproj.io_Application"

// waves notes which of the Applications that one makes come only once others are healthy.
func (l *layout) waves(siblings []object) {
	at := map[string]int{}
	var levels []int
	for _, o := range siblings {
		if o.Group() != groupArgoCD || o.Kind() != kindApplication {
			continue
		}
		wave, err := strconv.Atoi(yamlx.Text(o.Node, "metadata", "annotations", "argocd.argoproj.io/sync-wave"))
		if err != nil {
			wave = 0
		}
		at[o.Name()] = wave
		if !slices.Contains(levels, wave) {
			levels = append(levels, wave)
		}
	}
	if len(levels) < 2 {
		return
	}
	if l.gated == "" {
		files, _ := l.repo.Having(applicationHealth) // e.g. values of Argo CD's chart
		if len(files) == 0 {
			return
		}
		l.gated = files[0]
		l.override("Applications of a later sync wave come once those before are healthy, since %s has a health check for them", l.repo.Shown(l.gated))
	}
	for name, wave := range at {
		for other, before := range at {
			if before < wave {
				l.After[name] = append(l.After[name], other)
			}
		}
		slices.Sort(l.After[name])
	}
}

// beside lays out what an Application of Applications makes besides these, as the chart of its own.
func (l *layout) beside(o object, inner []object, seen map[string]known) error {
	var own []object
	var left []string
	for _, i := range inner {
		switch {
		case ofArgoCD(i):
		case i.Group() == groupArgoCD, yamlx.Text(i.Node, "metadata", "namespace") == yamlx.Text(o.Node, "metadata", "namespace") && i.Kind() != "Namespace":
			if i.Group() == groupArgoCD && i.Kind() == kindProject {
				l.projectsMade = append(l.projectsMade, i)
			}
			left = append(left, i.Kind()+" "+i.Name()) // settings of Argo CD
		default:
			own = append(own, i)
		}
	}
	if len(left) > 0 {
		l.unknown("Application %s: %s, which are Argo CD's own", o.Name(), strings.Join(lists.AtMost(left, 5), ", "))
	}
	if len(own) == 0 {
		return nil
	}
	if l.selects.lacks(o.Name()) {
		return nil
	}
	if !l.selects.takes(kindApplication, o.Name(), yamlx.Text(o.Node, "spec", "destination", "namespace")) || !l.selects.hasChanged(o.Name()) {
		l.selects.left++
		return nil
	}
	if err := nameable(o.Name()); err != nil {
		return l.repo.Bad(o, []string{"metadata", "name"}, "%w", err)
	}
	if err := l.asChart(o.Name(), o.Name()+"/chart", own); err != nil {
		return err
	}
	l.override("Application %s: the %d objects that it makes besides Applications are delivered as a chart", o.Name(), len(own))
	spec := child(o.Node, "spec")
	yamlx.Drop(spec, "sources")
	yamlx.Drop(spec, "source")
	source := child(spec, "source")
	for _, field := range [][2]string{{"repoURL", ownURL}, {"targetRevision", "HEAD"}, {"path", o.Name() + "/chart"}} {
		yamlx.Set(source, field[0], "!!str", field[1])
	}
	if err := l.allowed(o); err != nil {
		return err
	}
	seen[o.Name()] = known{at: l.repo.At(o)}
	l.here(o)
	return l.put(o.Name()+"/application.yaml", o)
}
