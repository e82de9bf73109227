package validate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// wanted is a check that a recipe requires, by the name of its implementation.
type wanted struct {
	name   string
	origin recipe.Origin
}

// block is one phase of a recipe's validation block.
type block struct {
	checks      []wanted
	constraints []recipe.Constraint
	// unread are the fields that nothing here reads, e.g. a timeout, sorted.
	unread []string
	origin recipe.Origin
}

// readBlock reads a phase of the recipe's validation block; an empty one if it has none of that
// name. Fields that are not known are unread. The error is a *recipe.FileError for a list that is
// none, and for an element without a name or a value.
func readBlock(r *recipe.Result, phase Phase) (block, error) {
	content, ok := r.Validation[string(phase)]
	if !ok {
		return block{}, nil
	}
	b := block{}
	own, checks, constraints := r.ValidationPlaces(string(phase))
	b.origin = own
	fail := func(at recipe.Origin, format string, args ...any) (block, error) {
		return block{}, &recipe.FileError{File: at.File, Line: at.Line, Err: fmt.Errorf("validation.%s"+format+"; correct it", append([]any{phase}, args...)...)}
	}
	fields, ok := content.(map[string]any)
	if !ok {
		return fail(own, " must be a mapping with checks and constraints")
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != "checks" && key != "constraints" {
			b.unread = append(b.unread, key)
			continue
		}
		list, ok := fields[key].([]any)
		if !ok && fields[key] != nil {
			return fail(own, ".%s must be a list", key)
		}
		for i, element := range list {
			if key == "checks" {
				name, _ := element.(string)
				if name == "" {
					return fail(at(checks, i, own), ".checks[%d] must be the name of a check", i)
				}
				b.checks = append(b.checks, wanted{name, at(checks, i, own)})
				continue
			}
			c := constraintOf(element)
			if c.Origin = at(constraints, i, own); c.Name == "" || c.Value == "" {
				return fail(c.Origin, ".constraints[%d] needs a name and a value", i)
			}
			b.constraints = append(b.constraints, c)
		}
	}
	return b, nil
}

// at is the place of an element, or else of the block.
func at(list []recipe.Origin, i int, block recipe.Origin) recipe.Origin {
	if i < len(list) {
		return list[i]
	}
	return block
}

func constraintOf(element any) (c recipe.Constraint) {
	fields, _ := element.(map[string]any)
	for name, to := range map[string]*string{"name": &c.Name, "value": &c.Value, "severity": &c.Severity, "remediation": &c.Remediation, "unit": &c.Unit} {
		if v := fields[name]; v != nil {
			*to = fmt.Sprint(v)
		}
	}
	return c
}
