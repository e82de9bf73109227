package preconditions

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// selectors: the registry may say that a component is for some nodes only, always or once it has volumes. Without
// a selector the bundle would put it on any.
func selectors(asked Asked, c *recipe.Component) string {
	volumes := false
	if asked.StorageClassPaths != nil {
		for _, path := range asked.StorageClassPaths(c.Name) {
			v := at(c.Values, strings.Split(path, ".")...)
			volumes = volumes || v != nil && v != ""
		}
	}
	for _, kind := range []struct {
		flag  string
		given bool
		paths recipe.SchedulingPaths
	}{
		{"--system-node-selector", asked.SystemSelector, c.NodeScheduling.System},
		{"--accelerated-node-selector", asked.AcceleratedSelector, c.NodeScheduling.Accelerated},
	} {
		needed := kind.paths.RequireNodeSelector || kind.paths.RequireNodeSelectorIfStorageClassSet && volumes
		if !needed || kind.given {
			continue
		}
		for _, path := range kind.paths.NodeSelectorPaths {
			if own, _ := at(c.Values, strings.Split(path, ".")...).(map[string]any); len(own) > 0 {
				continue
			}
			why := "the registry requires one"
			if !kind.paths.RequireNodeSelector {
				why += " where there is a StorageClass"
			}
			return fmt.Sprintf("it has no node selector at %s, and %s; name the nodes with %s KEY=VALUE", path, why, kind.flag)
		}
	}
	return ""
}
