package adjust

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// policy are the values that say which of two allocators hands out the GPUs of a node, by component. Both at
// once hand out a GPU twice, so that AICR holds clusters against what the recipe has there.
func policy(component string) []string {
	switch strings.TrimSuffix(component, "-ocp") {
	case "nvidia-dra-driver-gpu":
		return []string{"resources.gpus.enabled", "gpuResourcesEnabledOverride"}
	case "gpu-operator":
		return []string{"devicePlugin.enabled"}
	}
	return nil
}

// PolicyChanged has a line for each of these values that a flag sets.
func PolicyChanged(components []recipe.Component) []string {
	var lines []string
	for i := range components {
		c := &components[i]
		for _, path := range policy(c.Name) {
			if by := setter(c, path); by != "a flag" {
				lines = append(lines, fmt.Sprintf("%s: %s decides who hands out GPUs, and a cluster is held against the recipe in this: set it in an overlay (%s)", c.Name, path, by))
			}
		}
	}
	return lines
}

// RefusePolicy refuses dynamic values that are among them, and the one that says whether Slurm has accounting: nobody
// could hold a cluster against them.
func RefusePolicy(dynamic []Dynamic, accounting bool) error {
	var all []error
	for _, d := range dynamic {
		paths, decides := policy(d.key), "who hands out GPUs, and is known when the bundle is made; set it in an overlay"
		if d.key == "slinky-slurm" && accounting {
			paths, decides = []string{"accounting.enabled"}, "what the recipe says of accounting; generate it again with --slurm-accounting-mode"
		}
		given := strings.Join(d.path, ".") + "."
		if i := slices.IndexFunc(paths, func(path string) bool {
			return strings.HasPrefix(path+".", given) || strings.HasPrefix(given, path+".")
		}); i >= 0 {
			all = append(all, fmt.Errorf("--dynamic %q: the value %s decides %s", d.text, paths[i], decides))
		}
	}
	return errors.Join(all...)
}
