package adjust

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Locked are the values that the selected value of a recipe's profile owns: what changes them makes
// another recipe, which `aicr recipe --profile` has to resolve.
type Locked struct {
	profile *recipe.ProfileSelected
	// values are those before any injection, by component and path. It has only paths that exist.
	values map[string]map[string]any
	// out are the components that the recipe itself does not deploy, such as an installer of drivers where the cloud has them.
	out map[string]bool
}

// Lock remembers the values that a recipe's profile owns, and what the recipe leaves out before a flag does.
func Lock(result *recipe.Result, components []recipe.Component) Locked {
	l := Locked{profile: result.Metadata.SelectedProfile, values: map[string]map[string]any{}, out: map[string]bool{}}
	if l.profile == nil {
		return l
	}
	for i := range result.ComponentRefs {
		l.out[result.ComponentRefs[i].Name] = result.ComponentRefs[i].LeftOut()
	}
	for _, c := range components {
		l.values[c.Name] = map[string]any{}
		for _, path := range l.profile.OwnedPaths[c.Name] {
			if v, ok := valueAt(c.Values, strings.Split(path, ".")); ok {
				l.values[c.Name][path] = document.CopyValue(v)
			}
		}
	}
	return l
}

// Check refuses components in which a value that the profile owns is another one than before, or
// which lack a component of the profile.
func (l Locked) Check(components []recipe.Component) error {
	if l.profile == nil {
		return nil
	}
	for _, name := range lockedNames(l.profile) {
		if l.out[name] {
			continue
		}
		i := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == name })
		if i < 0 || components[i].Overrides[enabled] == false {
			return fmt.Errorf("component %s cannot be left out: the profile %s=%s sets values of it", name, l.profile.Name, l.profile.Value)
		}
		c := &components[i]
		for _, path := range l.profile.OwnedPaths[name] {
			if path == enabled {
				continue
			}
			now, is := valueAt(c.Values, strings.Split(path, "."))
			before, was := l.values[name][path]
			if is != was || !reflect.DeepEqual(plainNumbers(now), plainNumbers(before)) {
				return fmt.Errorf("%s: the value %s of component %s belongs to the profile %s=%s, where it is %v; resolve the recipe again with another value of the profile (aicr recipe --profile %s=VALUE)",
					setter(c, path), path, name, l.profile.Name, l.profile.Value, before, l.profile.Name)
			}
		}
	}
	return nil
}

// owns gives a path of the component that the profile owns and that is the given one, below it or
// above it; "" if there is none.
func (l Locked) owns(component string, path []string) string {
	if l.profile == nil {
		return ""
	}
	given := strings.Join(path, ".")
	for _, owned := range l.profile.OwnedPaths[component] {
		if owned == given || strings.HasPrefix(owned, given+".") || strings.HasPrefix(given, owned+".") {
			return owned
		}
	}
	return ""
}

func lockedNames(p *recipe.ProfileSelected) []string {
	var names []string
	for name := range p.OwnedPaths {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// setter is what set a value, for people.
func setter(c *recipe.Component, path string) string {
	for at := path; at != ""; {
		if o, ok := c.Origins[at]; ok && strings.HasPrefix(o.File, "--") {
			return o.File
		}
		at = at[:max(strings.LastIndex(at, "."), 0)]
	}
	return "a flag"
}

// plainNumbers makes whole numbers of several Go types comparable.
func plainNumbers(v any) any {
	switch n := v.(type) {
	case int:
		return int64(n)
	case float64:
		if n == float64(int64(n)) {
			return int64(n)
		}
	}
	return v
}
