package intake

// phases.go relates the releases that AICR's CLI makes of one component: what comes before its chart, the
// chart, and what comes after it. It must not know files.

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// The ends of the names of a component's releases.
const (
	preMigrate = "-premigrate"
	phasePre   = "-pre"
	phasePost  = "-post"
)

var (
	before = []string{preMigrate, phasePre}
	after  = []string{phasePost, bundle.ReadinessSuffix}
)

// dependsOn completes what a release depends on, by name: a component counts as deployed when all of its
// releases are, and each of these comes after those before it. earlier are the releases before this one.
func dependsOn(name string, on, earlier []string) []string {
	var all []string
	add := func(names ...string) {
		for _, n := range names {
			if slices.Contains(earlier, n) && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	for _, n := range on {
		add(n)
		for _, suffix := range after {
			add(n + suffix)
		}
	}
	for _, suffix := range before {
		add(name + suffix)
	}
	for i, suffix := range after {
		if component, ok := strings.CutSuffix(name, suffix); ok {
			add(component)
			for _, sooner := range after[:i] {
				add(component + sooner)
			}
		}
	}
	return all
}

// phaseComponent is the one that a release of this name belongs to, if it is one of these.
func phaseComponent(name string) string {
	for _, end := range slices.Concat(before, after) {
		if component, ok := strings.CutSuffix(name, end); ok {
			return component
		}
	}
	return name
}
