package intake

// resolved.go compares what this program makes of a recipe with what another program made of it.
// It knows resolved recipes. It must not know who made them, or what a bundle is.

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// mostDifferences is how many differences are named.
const mostDifferences = 20

// compareResolved compares what this program and AICR's CLI, which wrote the text of the file, made of one recipe.
// Each difference is a line with its path, and the last line says what they mean: the bundle has the CLI's recipe,
// so that they are faults of this program, which would make another bundle by itself.
func compareResolved(own *recipe.Result, file string, text []byte) ([]string, error) {
	if len(own.ComponentRefs) == 0 { // only the headers of the recipes are read
		return []string{"recipe: what AICR's CLI made of it was not compared with what this program makes of it, which cannot read the recipes as a whole: matrix list recipes says why"}, nil
	}
	var theirs map[string]any
	if err := yaml.Unmarshal(text, &theirs); err != nil {
		return nil, fmt.Errorf("the recipe that AICR's CLI resolved, %s, is no YAML: %w", file, err)
	}
	data, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	var ours map[string]any
	if err := json.Unmarshal(data, &ours); err != nil {
		return nil, err
	}
	c := &comparison{}
	c.compare("metadata.selectedProfile", chosen(ours), chosen(theirs))
	for _, key := range []string{"criteria", "constraints", "componentRefs", "deploymentOrder", "validation"} {
		c.compare(key, ours[key], theirs[key])
	}
	if len(c.lines) == 0 {
		return nil, nil
	}
	more := ""
	if left := len(c.lines) - mostDifferences; left > 0 {
		c.lines, more = c.lines[:mostDifferences], fmt.Sprintf("%d more differences; ", left)
	}
	return append(c.lines, "recipe: "+more+"the bundle has what AICR's CLI made. A fault of this harness, unless the CLI was built from other recipes"), nil
}

// resolvedApplied makes sure that what AICR's CLI resolved by the criteria, its flags, has the overlay in it under whose
// name it is tested: with other recipes, or by fewer criteria than the overlay has, it is another recipe.
func resolvedApplied(own *recipe.Result, flags []string, text []byte) error {
	name := own.Metadata.Name
	if p := own.Metadata.SelectedProfile; p != nil {
		name = strings.TrimSuffix(name, recipe.VariantMark+strings.ToLower(p.Value))
	}
	var theirs struct {
		Metadata struct {
			AppliedOverlays []string `json:"appliedOverlays"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(text, &theirs); err != nil {
		return nil // it is refused where it is read
	}
	applied := theirs.Metadata.AppliedOverlays
	if len(applied) == 0 || !slices.Contains(own.Metadata.AppliedOverlays, name) || slices.Contains(applied, name) {
		return nil
	}
	return fmt.Errorf("for %s it resolves a recipe without the overlay %s, of the overlays %s: the cell would test another recipe under that name. Either the CLI was not built from these recipes (--aicr build does that, in AICR's checkout), or they have criteria that this release of matrix does not know, and so did not pass",
		strings.Join(flags, " "), name, strings.Join(applied, ", "))
}

// chosen is the value of a recipe's profile. Which values of components it decides is not compared:
// those that the recipe has are.
func chosen(recipe map[string]any) any {
	metadata, _ := recipe["metadata"].(map[string]any)
	selected, _ := metadata["selectedProfile"].(map[string]any)
	if selected == nil {
		return nil
	}
	return fmt.Sprintf("%v=%v", selected["name"], selected["value"])
}

type comparison struct{ lines []string }

// unset: AICR leaves out what has no value, and calls criteria that are not set any. Only among
// overrides, which are values for a chart, is an empty value another one than none.
func unset(path string, value any) bool {
	if strings.Contains(path, ".overrides.") {
		return false
	}
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == "" || v == recipe.Any && strings.HasPrefix(path, "criteria")
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (c *comparison) compare(path string, ours, theirs any) {
	if strings.HasSuffix(path, ".healthCheckAsserts") || unset(path, ours) && unset(path, theirs) {
		return // the text of a file, which is read where it is needed
	}
	a, okA := ours.(map[string]any)
	b, okB := theirs.(map[string]any)
	if okA && okB {
		for _, key := range slices.Sorted(maps.Keys(union(a, b))) {
			c.field(path+"."+key, a, b, key)
		}
		return
	}
	if a, b := named(ours), named(theirs); a != nil && b != nil {
		for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
			c.field(path+"["+name+"]", a, b, name)
		}
		return
	}
	if strings.HasSuffix(path, ".dependencyRefs") {
		ours, theirs = sorted(ours), sorted(theirs)
	}
	if !reflect.DeepEqual(ours, theirs) {
		c.lines = append(c.lines, fmt.Sprintf("recipe: %s is %s by this program and %s by AICR's CLI", path, shown(ours), shown(theirs)))
	}
}

// field compares what two maps have under a key. A null among overrides is not the same as no key.
func (c *comparison) field(path string, a, b map[string]any, key string) {
	ours, hasOurs := a[key]
	theirs, hasTheirs := b[key]
	if hasOurs != hasTheirs && ours == nil && theirs == nil && strings.Contains(path, ".overrides.") {
		if hasOurs {
			ours, theirs = resolvedNull{}, absent{}
		} else {
			ours, theirs = absent{}, resolvedNull{}
		}
	}
	c.compare(path, ours, theirs)
}

// absent is a key that is not there, and null one that is, where the two are not the same.
type (
	absent       struct{}
	resolvedNull struct{}
)

// named gives the items of a list of objects by their names; nil for anything else.
func named(value any) map[string]any {
	list, _ := value.([]any)
	all := map[string]any{}
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, _ := object["name"].(string)
		if _, twice := all[name]; name == "" || twice {
			return nil
		}
		all[name] = object
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// sorted gives a list without its order, which says nothing about dependencies.
func sorted(value any) any {
	list, _ := value.([]any)
	var names []string
	for _, item := range list {
		names = append(names, fmt.Sprint(item))
	}
	slices.Sort(names)
	return names
}

// shown is a value in a message.
func shown(value any) string {
	switch v := value.(type) {
	case nil, absent:
		return "not set"
	case resolvedNull:
		return "null"
	case []string: // sorted has made it of what may be no list
		if len(v) == 0 {
			return "not set"
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > 120 {
		return string(text[:120]) + "…"
	}
	return string(text)
}
