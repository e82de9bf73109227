package why

import (
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// mostDefaults is how many default values of a chart are tried.
const mostDefaults = 64

// amongDefaults finds the default value of the chart that decides the field, where no value of the recipe does: a recipe
// can set it.
func (s *fieldSearch) amongDefaults() (string, bool) {
	defaults, err := s.in.Defaults(s.ctx, s.deployer, s.component.Name)
	if err != nil {
		return "", false
	}
	paths := defaultPaths(defaults, s.field.path, s.component)
	slices.SortStableFunc(paths, func(a, b string) int { return s.likeness(b) - s.likeness(a) })
	s.fromChart = true
	path, ok := s.search(paths[:min(len(paths), mostDefaults)])
	s.fromChart = ok
	return path, ok
}

// defaultPaths are the paths of a chart's default values that end in a part of a field's path, e.g. controller.affinity, and
// that the recipe does not set. A value often has the same name as its field.
func defaultPaths(defaults map[string]any, field []string, c *recipe.Component) (paths []string) {
	var walk func(values map[string]any, path []string)
	walk = func(values map[string]any, path []string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if strings.Contains(key, ".") {
				continue
			}
			at := append(slices.Clone(path), key)
			inner, isMap := values[key].(map[string]any)
			switch {
			case slices.ContainsFunc(field, func(part string) bool { return strings.EqualFold(part, key) }):
				_, set := c.Origins[strings.Join(at, ".")]
				if empty := values[key] == nil || isMap && len(inner) == 0; !set && !empty {
					paths = append(paths, strings.Join(at, "."))
				}
			case isMap:
				walk(inner, at)
			}
		}
	}
	walk(defaults, nil)
	return paths
}

// putDefault sets a value in place of a default, and makes the maps on the way. A null takes the default away.
func putDefault(values map[string]any, path []string, value any) {
	for _, p := range path[:len(path)-1] {
		next, ok := values[p].(map[string]any)
		if !ok {
			if _, there := values[p]; there {
				return
			}
			next = map[string]any{}
			values[p] = next
		}
		values = next
	}
	values[path[len(path)-1]] = value
}
