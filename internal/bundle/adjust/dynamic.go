package adjust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// Dynamic is a value that is not in a bundle but is filled in where it is installed: COMPONENT:PATH
// of --dynamic.
type Dynamic struct {
	text string
	key  string
	path []string
}

// ParseDynamic reads values of --dynamic.
func ParseDynamic(flags []string) ([]Dynamic, error) {
	var all []Dynamic
	for _, text := range flags {
		key, path, ok := strings.Cut(text, ":")
		if !ok || key == "" || path == "" || strings.Contains(text, "=") {
			return nil, fmt.Errorf("--dynamic %q is not COMPONENT:PATH, e.g. gpuoperator:driver.version; its value is given where the bundle is installed", text)
		}
		steps, err := splitPath(path)
		if err != nil {
			return nil, fmt.Errorf("--dynamic %q: %w", text, err)
		}
		if steps[0] == enabled && len(steps) == 1 {
			return nil, fmt.Errorf("--dynamic %q: whether a component is in the bundle is decided when it is made, with --set %s:enabled=false", text, key)
		}
		all = append(all, Dynamic{text: text, key: key, path: steps})
	}
	return all, nil
}

// NameDynamic replaces the keys by the names of the components that they stand for. A component that
// is not in the bundle, a value that the recipe's profile owns, and a path above or below another one
// are errors. One that is given twice counts once.
func NameDynamic(dynamic []Dynamic, entries []recipe.Entry, result *recipe.Result, components []recipe.Component, locked Locked) ([]Dynamic, error) {
	var named []Dynamic
	for _, d := range dynamic {
		fail := func(err error) ([]Dynamic, error) { return nil, fmt.Errorf("--dynamic %q: %w", d.text, err) }
		name, err := componentOf(d.key, entries, result)
		if err != nil {
			return fail(err)
		}
		d.key = name
		i := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == name })
		if i < 0 || components[i].Overrides[enabled] == false {
			return fail(fmt.Errorf("component %s is not in the bundle: it is disabled", name))
		}
		if components[i].Kustomization != nil {
			return fail(fmt.Errorf("component %s is a kustomization, and has no values", name))
		}
		if path := locked.owns(name, d.path); path != "" {
			return fail(fmt.Errorf("the value %s belongs to the profile %s=%s, which decides it when the recipe is resolved", path, locked.profile.Name, locked.profile.Value))
		}
		twice := false
		for _, other := range named {
			switch a, b := strings.Join(other.path, "\x00")+"\x00", strings.Join(d.path, "\x00")+"\x00"; {
			case other.key != d.key:
			case a == b:
				twice = true
			case strings.HasPrefix(a, b) || strings.HasPrefix(b, a):
				return fail(fmt.Errorf("--dynamic %q is above or below it; give one of them", other.text))
			}
		}
		if !twice {
			named = append(named, d)
		}
	}
	return named, nil
}

// DescribeDynamic says for people what is to be filled in, a line for each value.
func DescribeDynamic(dynamic []Dynamic) []string {
	var lines []string
	for _, d := range dynamic {
		lines = append(lines, fmt.Sprintf("%s: --dynamic %s: fill it in before the bundle is installed", d.key, strings.Join(d.path, ".")))
	}
	return lines
}

// stubs takes the values of a component out of its values, and gives them as a tree of their own: what
// the recipe sets, or an empty text for what it does not.
func stubs(dynamic []Dynamic, component string, values map[string]any) map[string]any {
	out := map[string]any{}
	for _, d := range dynamic {
		if d.key != component {
			continue
		}
		value, ok := valueAt(values, d.path)
		if !ok || value == nil {
			value = ""
		}
		at := out
		for _, key := range d.path[:len(d.path)-1] {
			next, ok := at[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		at[d.path[len(d.path)-1]] = value
		remove(values, d.path)
	}
	return out
}

// remove takes a value out, and the maps that are empty without it.
func remove(values map[string]any, path []string) {
	if len(path) == 1 {
		delete(values, path[0])
		return
	}
	if next, ok := values[path[0]].(map[string]any); ok {
		if remove(next, path[1:]); len(next) == 0 {
			delete(values, path[0])
		}
	}
}

// ApplyDynamic moves the values out of a bundle's own files into files that are to be filled in:
// cluster-values.yaml for Helm, the ConfigMap of a HelmRelease for Flux, the values of a bundle that is a
// chart. Other deployers are refused.
func ApplyDynamic(b *bundle.Bundle, dynamic []Dynamic) error {
	if len(dynamic) == 0 {
		return nil
	}
	var write func(*files, bundle.Release, []Dynamic) error
	switch {
	case bundle.ByHelm(b.Deployer):
		write = helmDynamic
	case b.Deployer == bundle.ArgoCDHelmOCI:
		write = argoHelmDynamic
	case bundle.ByFlux(b.Deployer):
		write = fluxDynamic
	default:
		return fmt.Errorf("--dynamic is not for %s: such a bundle has no place for values of the cluster; use --set, or one of helm, flux-oci and argocd-helm-oci", b.Deployer)
	}
	f := filesOf(b)
	for _, release := range b.Expectation.Releases {
		if slices.ContainsFunc(dynamic, func(d Dynamic) bool { return d.key == release.Component }) {
			if err := write(f, release, dynamic); err != nil {
				return fmt.Errorf("--dynamic: release %s: %w", release.Name, err)
			}
		}
	}
	return f.done()
}

const clusterValues = "cluster-values.yaml"

// helmDynamic gives a release a second values file, which deploy.sh passes after the first.
func helmDynamic(f *files, r bundle.Release, dynamic []Dynamic) error {
	own, err := releaseStubs(f, r, dynamic, r.Name+"/values.yaml")
	if err != nil {
		return err
	}
	f.add(r.Name+"/"+clusterValues, own)
	f.addLast("deploy.sh", "release "+r.Name+" ", ` -f "${here}/`+r.Name+"/"+clusterValues+`"`)
	f.addLast(r.Name+"/README.md", "    helm upgrade --install "+r.Name+" ", " -f "+clusterValues)
	return nil
}

// fluxDynamic gives a HelmRelease a ConfigMap, and takes the values from it.
func fluxDynamic(f *files, r bundle.Release, dynamic []Dynamic) error {
	const key = "values.yaml"
	file, name := r.Name+"/configmap-values.yaml", r.Name+"-values"
	var own map[string]any
	namespace := ""
	f.edit(r.Name+"/helmrelease.yaml", func(o map[string]any) {
		spec, _ := o["spec"].(map[string]any)
		meta, _ := o["metadata"].(map[string]any)
		namespace, _ = meta["namespace"].(string)
		values, _ := spec["values"].(map[string]any)
		inner := values
		if r.Carried != "" {
			inner, _ = values[r.Carried].(map[string]any)
		} else if r.Local {
			inner = f.chartValues(r)
		}
		if own = stubs(dynamic, r.Component, inner); r.Local {
			own = map[string]any{r.ValuesKey(): own}
		}
		if len(values) == 0 {
			delete(spec, "values")
		}
		spec["valuesFrom"] = []any{map[string]any{"kind": "ConfigMap", "name": name, "valuesKey": key}}
	})
	text, err := marshal(own)
	if err != nil {
		return err
	}
	f.add(file, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": namespace}, "data": map[string]any{key: string(text)},
	})
	f.edit("kustomization.yaml", func(o map[string]any) {
		list, _ := o["resources"].([]any)
		at := slices.Index(list, any(r.Name+"/helmrelease.yaml"))
		o["resources"] = slices.Insert(list, max(at, 0), any(file)) // before what reads it
	})
	return nil
}

// releaseStubs takes the values out of a file. The chart of a component's manifests has them below
// its name, in its own values.yaml, where they stay as defaults.
func releaseStubs(f *files, r bundle.Release, dynamic []Dynamic, file string) (map[string]any, error) {
	if r.Local {
		return map[string]any{r.ValuesKey(): stubs(dynamic, r.Component, f.chartValues(r))}, nil
	}
	var own map[string]any
	f.edit(file, func(values map[string]any) { own = stubs(dynamic, r.Component, values) })
	return own, nil
}
