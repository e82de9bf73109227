package bundle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// Classes are the classes of components (class in registry.yaml, core where it is not set), in the order in which
// AICR installs its halves of a recipe where it can: ops may depend on core, and core must not depend on ops (AICR's
// ADR-018).
func Classes() []string { return []string{"core", "ops"} }

// ClassOf is the class of a component.
func ClassOf(component string, classes map[string]string) string {
	return cmp.Or(classes[component], Classes()[0])
}

// CheckSplit refuses to split components by their classes where a class would have none, or where one of core depends
// on one of ops.
func CheckSplit(components []recipe.Component, classes map[string]string) error {
	core, ops := Classes()[0], Classes()[1]
	components = slices.DeleteFunc(slices.Clone(components), func(c recipe.Component) bool { return c.Disabled() })
	for _, class := range Classes() {
		if !slices.ContainsFunc(components, func(c recipe.Component) bool { return ClassOf(c.Name, classes) == class }) {
			return fmt.Errorf("no component of the recipe is of the class %s in registry.yaml, so that there is nothing to split; leave it out", class)
		}
	}
	for _, c := range components {
		for _, on := range c.DependencyRefs {
			if ClassOf(c.Name, classes) == core && ClassOf(on, classes) == ops {
				return fmt.Errorf("%s: component %s is of the class core and depends on %s, which is of ops and installed after all of core; correct the class of one in registry.yaml", c.Declared, c.Name, on)
			}
		}
	}
	return nil
}

// half is what one root delivers: all of a bundle, or the components of a class.
type half struct {
	class    string // empty: all
	root     string // the name of its root Application
	releases []*release
}

// path is the directory of the half in the bundle, in which its root finds the other Applications.
func (h half) path() string { return cmp.Or(h.class, ".") }

// RootPath is where a root Application finds the others in the bundle.
func RootPath(in Input, root string) string {
	for _, h := range rootsOf(in) {
		if h.root == root {
			return h.path()
		}
	}
	return "."
}

// rootsOf are the halves of a bundle for Argo CD, without their releases: one that is all of it, if it is not split.
func rootsOf(in Input) []half {
	if in.Split == nil {
		return []half{{root: ArgoRootApplication}}
	}
	var all []half
	for _, class := range Classes() {
		all = append(all, half{class: class, root: ArgoRootApplication + "-" + class})
	}
	return all
}

// halves are the halves of a bundle for Argo CD.
func (p *plan) halves(in Input) []half {
	all := rootsOf(in)
	for i := range all {
		for _, r := range p.releases {
			if h := &all[i]; h.class == "" || ClassOf(r.Component, in.Split) == h.class {
				h.releases = append(h.releases, r)
			}
		}
	}
	return all
}

// place is a path of the half in the bundle.
func (h half) place(path string) string {
	if h.class == "" {
		return path
	}
	return h.class + "/" + path
}

// retried has a failed sync of an Application of a split bundle tried again for as long as it takes: nothing orders the
// halves, so that a sync of ops may come before the kinds that core installs, and automated sync alone does not try the
// same revision again (ADR-018).
func retried(in Input, app map[string]any) map[string]any {
	if in.Split == nil {
		return app
	}
	policy := app["spec"].(map[string]any)["syncPolicy"].(map[string]any)
	policy["retry"] = map[string]any{"limit": -1, "backoff": map[string]any{"duration": "5s", "factor": 2, "maxDuration": "20s"}}
	return app
}
