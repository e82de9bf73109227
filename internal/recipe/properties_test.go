package recipe

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// drawn is an overlay that was drawn by lot.
type drawn struct {
	Name, Base  string
	Criteria    map[string]string
	Components  []map[string]any
	Constraints []map[string]string
}

func (d drawn) text() string {
	spec := map[string]any{"componentRefs": d.Components, "constraints": d.Constraints}
	if d.Base != "" {
		spec["base"], spec["criteria"] = d.Base, d.Criteria
	}
	out, err := yaml.Marshal(map[string]any{"metadata": map[string]any{"name": d.Name}, "spec": spec})
	if err != nil {
		panic(err) // it has maps and texts only
	}
	return string(out)
}

// The components of the drawn overlays. Each may depend on those before it.
func drawnComponents() []string { return []string{"m", "b", "z", "a", "q"} }

// draw makes a base, and overlays with up to three bases in a row, each for more criteria than its base.
func draw(r *rand.Rand) []drawn {
	values := map[string][]string{"service": {"eks", "gke"}, "accelerator": {"h100", "b200"}, "intent": {"training", "inference"}, "os": {"ubuntu", "cos"}}
	all := []drawn{{Name: "base", Components: []map[string]any{}}}
	for _, name := range drawnComponents() {
		all[0].Components = append(all[0].Components, map[string]any{"name": name})
	}
	for i := range 4 + r.IntN(8) {
		base := all[r.IntN(len(all))]
		d := drawn{Name: fmt.Sprintf("o%d-%c", i, 'a'+rune(r.IntN(26))), Base: base.Name, Criteria: maps.Clone(base.Criteria)}
		if d.Criteria == nil {
			d.Criteria = map[string]string{}
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if d.Criteria[key] == "" && r.IntN(3) == 0 {
				d.Criteria[key] = values[key][r.IntN(2)]
			}
		}
		for at, name := range drawnComponents() {
			if r.IntN(2) == 0 {
				continue
			}
			ref := map[string]any{"name": name, "overrides": map[string]any{"by": d.Name, "key" + fmt.Sprint(r.IntN(3)): d.Name}}
			if at > 0 {
				ref["dependencyRefs"] = []string{drawnComponents()[r.IntN(at)]}
			}
			if r.IntN(6) == 0 {
				ref["overrides"].(map[string]any)["enabled"] = r.IntN(2) == 0
			}
			d.Components = append(d.Components, ref)
		}
		d.Constraints = append(d.Constraints, map[string]string{"name": fmt.Sprintf("c%d", r.IntN(3)), "value": d.Name})
		all = append(all, d)
	}
	return all
}

func storeOf(t *testing.T, all []drawn) *Store {
	t.Helper()
	registry := "components:\n"
	for _, name := range drawnComponents() {
		registry += "- {name: " + name + ", helm: {defaultRepository: 'https://charts.example', defaultChart: " + name + ", defaultVersion: '1'}}\n"
	}
	files := map[string]string{"registry": registry}
	for _, d := range all {
		files["overlays/"+d.Name] = d.text()
	}
	return open(t, july(t, files))
}

// matches is rule 1 for the criteria that are drawn.
func (d drawn) matches(query map[string]string) bool {
	for key, value := range d.Criteria {
		if query[key] != value {
			return false
		}
	}
	return true
}

// The rules of July hold for any overlays: what applies is the matches with their bases, each after its
// base, less specific ones first; of each field the last one that applies says it; dependencies add up;
// the order has what is enabled, after what it depends on, and otherwise by name.
func TestJulysRules(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 28))
		all := draw(r)
		byName := map[string]drawn{}
		for _, d := range all {
			byName[d.Name] = d
		}
		s := storeOf(t, all)
		asked := all[1+r.IntN(len(all)-1)]
		res, err := s.ResolveName(asked.Name)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		applied := res.Metadata.AppliedOverlays
		fail := func(format string, args ...any) {
			t.Errorf("seed %d, %s of %v: "+format, append([]any{seed, asked.Name, applied}, args...)...)
		}
		want := map[string]bool{}
		leaves := map[string]drawn{}
		for _, d := range all {
			if !d.matches(asked.Criteria) {
				continue
			}
			leaves[d.Name] = d
			for name := d.Name; name != ""; name = byName[name].Base {
				want[name] = true
			}
		}
		for _, d := range all { // a base applies with what it is the base of, when that comes
			if want[d.Name] {
				delete(leaves, d.Base)
			}
		}
		if !slices.Equal(slices.Sorted(maps.Keys(want)), slices.Sorted(slices.Values(applied))) {
			fail("want %v", slices.Sorted(maps.Keys(want)))
		}
		at := func(name string) int { return slices.Index(applied, name) }
		for name := range want {
			if base := byName[name].Base; base != "" && at(base) > at(name) {
				fail("%s comes before its base %s", name, base)
			}
		}
		for _, a := range leaves {
			for _, b := range leaves {
				first := len(a.Criteria) < len(b.Criteria) || len(a.Criteria) == len(b.Criteria) && a.Name < b.Name
				if first && at(a.Name) > at(b.Name) {
					fail("%s %v comes after %s %v", a.Name, a.Criteria, b.Name, b.Criteria)
				}
			}
		}
		sorted := slices.SortedFunc(maps.Keys(leaves), func(a, b string) int { return at(a) - at(b) })
		for name := range want { // a base comes with the first one that needs it, and not for its own criteria
			first := slices.IndexFunc(sorted, func(leaf string) bool {
				for of := leaf; of != ""; of = byName[of].Base {
					if of == name {
						return true
					}
				}
				return false
			})
			if first > 0 && at(sorted[first-1]) > at(name) {
				fail("%s comes before %s, and is a base of %s only", name, sorted[first-1], sorted[first])
			}
		}
		checkMerged(res, byName, fail)
		checkOrder(res, fail)

		other := maps.Clone(asked.Criteria) // what does not match changes nothing
		other["platform"] = "slurm"
		more := storeOf(t, append(slices.Clone(all), drawn{Name: "aa-other", Base: asked.Name, Criteria: other, Components: []map[string]any{{"name": "a", "namespace": "other"}}}))
		again, err := more.ResolveName(asked.Name)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := res.YAML()
		two, _ := again.YAML()
		if !bytes.Equal(one, two) {
			fail("an overlay that does not match changes it:\n%s\n%s", one, two)
		}
	}
}

// checkMerged holds the components and constraints of a result against those of what applies.
func checkMerged(res *Result, byName map[string]drawn, fail func(string, ...any)) {
	constraints := map[string]string{}
	overrides, depends := map[string]map[string]any{}, map[string][]string{}
	for _, name := range res.Metadata.AppliedOverlays {
		for _, c := range byName[name].Constraints {
			constraints[c["name"]] = c["value"]
		}
		for _, ref := range byName[name].Components {
			component := ref["name"].(string)
			if overrides[component] == nil {
				overrides[component] = map[string]any{}
			}
			if o, ok := ref["overrides"].(map[string]any); ok {
				maps.Copy(overrides[component], o)
			}
			deps, _ := ref["dependencyRefs"].([]string)
			for _, dep := range deps {
				if !slices.Contains(depends[component], dep) {
					depends[component] = append(depends[component], dep)
				}
			}
		}
	}
	for _, c := range res.Constraints {
		if constraints[c.Name] != c.Value {
			fail("constraint %s is %s, want %s", c.Name, c.Value, constraints[c.Name])
		}
	}
	if len(res.Constraints) != len(constraints) || len(res.ComponentRefs) != len(drawnComponents()) {
		fail("%d constraints and %d components", len(res.Constraints), len(res.ComponentRefs))
	}
	for _, ref := range res.ComponentRefs {
		if want := overrides[ref.Name]; fmt.Sprint(ref.Overrides) != fmt.Sprint(want) && len(want)+len(ref.Overrides) > 0 {
			fail("overrides of %s are %v, want %v", ref.Name, ref.Overrides, want)
		}
		if !slices.Equal(ref.DependencyRefs, depends[ref.Name]) {
			fail("%s depends on %v, want %v", ref.Name, ref.DependencyRefs, depends[ref.Name])
		}
	}
}

func checkOrder(res *Result, fail func(string, ...any)) {
	on := map[string][]string{}
	for _, ref := range res.ComponentRefs {
		if ref.Overrides["enabled"] != false {
			on[ref.Name] = ref.DependencyRefs
		}
	}
	order := res.DeploymentOrder
	if !slices.Equal(slices.Sorted(slices.Values(order)), slices.Sorted(maps.Keys(on))) {
		fail("the order is %v, want %v", order, slices.Sorted(maps.Keys(on)))
	}
	for i, name := range order {
		for _, dep := range on[name] {
			if slices.Index(order, dep) > i {
				fail("the order is %v, and %s depends on %s", order, name, dep)
			}
		}
		// A later name before an earlier one: only if the earlier one had to wait for it.
		if i > 0 && strings.Compare(order[i-1], name) > 0 && !slices.Contains(on[name], order[i-1]) {
			fail("the order is %v: %s could come before %s", order, name, order[i-1])
		}
	}
}
