package adjust

import "github.com/nvidia/aicr-action/internal/recipe"

// Serial lets each component of the bundle wait for the one before it in place of what it depends on:
// one after another, as deploymentOrder has them.
func Serial(components []recipe.Component) {
	before := ""
	for i := range components {
		c := &components[i]
		if c.Overrides[enabled] == false {
			continue
		}
		c.DependencyRefs = nil
		if before != "" {
			c.DependencyRefs = []string{before}
		}
		before = c.Name
	}
}
