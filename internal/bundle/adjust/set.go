package adjust

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Set is one value of --set: KEY:PATH=VALUE. KEY is a component's name or one of its
// valueOverrideKeys; PATH=VALUE is as of helm --set.
type Set struct {
	flag string
	key  string
	expr string
}

// Sets are values of --set, in the order in which they apply.
type Sets []Set

// enabled is the path by which --set leaves a component out of a bundle, or includes it again. The
// recipe has the same override; the component's chart does not get it as a value.
const enabled = "enabled"

// nextKey is the head of what is meant as a second --set in one flag.
var nextKey = regexp.MustCompile(`[^\\],\s*([a-z0-9][a-z0-9.-]*):[A-Za-z]`)

// ParseSets reads values of --set. It does not know yet which components there are.
func ParseSets(flags []string) (Sets, error) {
	var sets Sets
	for _, flag := range flags {
		key, expr, ok := strings.Cut(flag, ":")
		path, _, value := strings.Cut(expr, "=")
		if !ok || !value || key == "" || path == "" || strings.Contains(key, "=") {
			return nil, fmt.Errorf("--set %q is not COMPONENT:PATH=VALUE, e.g. gpuoperator:driver.version=580.105.08", flag)
		}
		if m := nextKey.FindStringSubmatch(expr); m != nil {
			return nil, fmt.Errorf("--set %q: write --set once for each component, with %s: in a flag of its own; a comma that belongs to the value is \\,", flag, m[1])
		}
		if _, err := strvals.Parse(expr); err != nil {
			return nil, fmt.Errorf("--set %q: %w", flag, err)
		}
		if path == enabled {
			on, err := strconv.ParseBool(strings.TrimPrefix(expr, enabled+"="))
			if err != nil {
				return nil, fmt.Errorf("--set %q: write %s:enabled=true or %s:enabled=false, which leaves the component out", flag, key, key)
			}
			expr = fmt.Sprintf("%s=%t", enabled, on)
		}
		sets = append(sets, Set{flag: flag, key: key, expr: expr})
	}
	return sets, nil
}

// Names replaces the keys by the names of the result's components that they stand for. A key that
// stands for none of them, or for two, is an error. Entries are the registry's.
func (s Sets) Names(entries []recipe.Entry, result *recipe.Result) (Sets, error) {
	named := Sets{}
	for _, set := range s {
		name, err := componentOf(set.key, entries, result)
		if err != nil {
			return nil, fmt.Errorf("--set %q: %w", set.flag, err)
		}
		set.key = name
		named = append(named, set)
	}
	return named, nil
}

// componentOf is the name of the result's component that a key stands for: its name, or one of its
// valueOverrideKeys in the registry.
func componentOf(key string, entries []recipe.Entry, result *recipe.Result) (string, error) {
	inRecipe := map[string]bool{}
	for _, ref := range result.ComponentRefs {
		inRecipe[ref.Name] = true
	}
	var names, outside []string
	known := map[string]bool{}
	for _, e := range entries {
		if inRecipe[e.Name] {
			known[shortName(e)] = true
		}
		if key != e.Name && !slices.Contains(e.ValueOverrideKeys, key) {
			continue
		}
		if inRecipe[e.Name] {
			names = append(names, e.Name)
		} else {
			outside = append(outside, e.Name)
		}
	}
	switch {
	case slices.Contains(names, key): // a name is meant before another's key
		return key, nil
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", fmt.Errorf("%s stands for %s in the registry; write the component's name", key, strings.Join(names, " and for "))
	case len(outside) > 0:
		return "", fmt.Errorf("component %s is not in this recipe", outside[0])
	}
	all := slices.Sorted(maps.Keys(known))
	near := document.Similar(key, all)
	if near != "" {
		near = fmt.Sprintf("did you mean %q? ", near)
	}
	return "", fmt.Errorf("no component of this recipe is called %s; %sthere are %s", key, near, strings.Join(all, ", "))
}

// shortName is what people call a component in --set: its first key, or else its name.
func shortName(e recipe.Entry) string {
	if len(e.ValueOverrideKeys) > 0 {
		return e.ValueOverrideKeys[0]
	}
	return e.Name
}

// Enable gives a copy of the result with components enabled or disabled. The last entry for a
// component counts. The lines say what was changed. The keys must be names (Names). Since July AICR's
// bundler does not include what the recipe leaves out: the platform has it already.
func (s Sets) Enable(result *recipe.Result) (*recipe.Result, []string, error) {
	changed := *result
	changed.ComponentRefs = slices.Clone(result.ComponentRefs)
	var lines []string
	for _, set := range s {
		if !strings.HasPrefix(set.expr, enabled+"=") {
			continue
		}
		for i := range changed.ComponentRefs {
			ref := &changed.ComponentRefs[i]
			if ref.Name != set.key {
				continue
			}
			own := map[string]any{}
			maps.Copy(own, ref.Overrides)
			own[enabled] = set.expr == enabled+"=true"
			ref.Overrides = own
			lines = append(lines, fmt.Sprintf("%s: --set %s", set.key, set.expr))
		}
	}
	for i := range changed.ComponentRefs {
		ref := &changed.ComponentRefs[i]
		if document.GenerationOf(result.APIVersion) != recipe.March && ref.Overrides[enabled] == true && result.ComponentRefs[i].Overrides[enabled] == false {
			return nil, nil, fmt.Errorf("--set %s:enabled=true: the recipe leaves component %s out (overrides.enabled: false), and since July only a recipe brings it back; remove the flag, or enable it in an overlay", ref.Name, ref.Name)
		}
	}
	return &changed, lines, nil
}

// Apply sets the values in the components, and replaces those of the recipe. The lines say what was
// set. A component that the bundle leaves out is an error. The keys must be names (Names).
func (s Sets) Apply(components []recipe.Component) (lines []string, err error) {
	for _, set := range s {
		if strings.HasPrefix(set.expr, enabled+"=") {
			continue
		}
		i := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == set.key })
		if i < 0 {
			return nil, fmt.Errorf("--set %q: component %s is not in the bundle: it is disabled (overrides.enabled: false); remove the flag", set.flag, set.key)
		}
		c := &components[i]
		if c.Values == nil {
			c.Values = map[string]any{}
		}
		if err := strvals.ParseInto(set.expr, c.Values); err != nil {
			return nil, fmt.Errorf("--set %q: %w", set.flag, err)
		}
		own, err := strvals.Parse(set.expr)
		if err != nil {
			return nil, fmt.Errorf("--set %q: %w", set.flag, err)
		}
		c.Overrides = merge(c.Overrides, own)
		leaves(own, "", func(path string) { note(c, path, "--set "+set.flag) })
		lines = append(lines, fmt.Sprintf("%s: --set %s", c.Name, set.expr))
	}
	return lines, nil
}

// leaves calls tell for every path whose value is not a map.
func leaves(values map[string]any, prefix string, tell func(path string)) {
	for key, v := range values {
		if m, ok := v.(map[string]any); ok {
			leaves(m, prefix+key+".", tell)
			continue
		}
		tell(prefix + key)
	}
}
