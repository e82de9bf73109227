package recipe

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// HealthCheck is a component's health check as the recipes directory has it.
type HealthCheck struct {
	Component string
	// File as a person can open it; for a check inside a recipe, the place where the component is declared.
	File    string
	Content []byte
}

// HealthCheck gives the component's health check: the recipe's own (healthCheckAsserts), otherwise the file that the registry names
// (healthCheck.assertFile). The second result is false if there is neither. The error is that of reading the file.
func (s *Store) HealthCheck(c *Component) (HealthCheck, bool, error) {
	check := HealthCheck{Component: c.Name}
	if c.HealthCheckAsserts != "" {
		check.File, check.Content = c.Declared.String()+" (healthCheckAsserts)", []byte(c.HealthCheckAsserts)
		return check, true, nil
	}
	entry, ok := s.registry[c.Name]
	if !ok || entry.HealthCheck.AssertFile == "" {
		return check, false, nil
	}
	content, err := s.files.read(entry.HealthCheck.AssertFile)
	check.File, check.Content = s.files.display(entry.HealthCheck.AssertFile), content
	return check, true, err
}

// validationLines are the places in a document of what one phase of its validation block has. The file is the document's.
type validationLines struct {
	file                string
	line                int
	checks, constraints []int
}

// linesOfValidation finds them below the steps that lead to the block.
func linesOfValidation(file string, root *yaml.Node, phases map[string]any, steps ...any) map[string]validationLines {
	all := map[string]validationLines{}
	for phase, content := range phases {
		below := func(more ...any) int { return lineOf(root, append(append(slices.Clone(steps), phase), more...)...) }
		lines := validationLines{file: file, line: below()}
		block, _ := content.(map[string]any)
		for _, list := range []struct {
			name string
			to   *[]int
		}{{"checks", &lines.checks}, {"constraints", &lines.constraints}} {
			elements, _ := block[list.name].([]any)
			for i := range elements {
				*list.to = append(*list.to, below(list.name, i))
			}
		}
		all[phase] = lines
	}
	return all
}

// ValidationCheck is a check that a recipe wants, by the name that implementations know it by.
type ValidationCheck struct {
	Name   string
	Origin Origin
}

// ValidationPhase is one phase of a recipe's validation block.
type ValidationPhase struct {
	Checks      []ValidationCheck
	Constraints []Constraint
	// Unread are the fields that nothing here reads, e.g. a timeout, sorted.
	Unread []string
	Origin Origin
}

// ValidationPhase reads a phase of the recipe's validation block; the second result is false if it has none of that name. Fields that are not known
// are Unread. The error is a *FileError for a list that is none, and for an element without a name or a value.
func (r *Result) ValidationPhase(name string) (ValidationPhase, bool, error) {
	content, ok := r.Validation[name]
	if !ok {
		return ValidationPhase{}, false, nil
	}
	lines := r.validationLines[name]
	at := func(list []int, i int) Origin {
		if i < len(list) {
			return Origin{lines.file, list[i]}
		}
		return Origin{lines.file, lines.line}
	}
	phase := ValidationPhase{Origin: Origin{lines.file, lines.line}}
	block, ok := content.(map[string]any)
	if !ok {
		return phase, true, errorAt(phase.Origin, "validation.%s must be a mapping with checks and constraints; correct it", name)
	}
	for _, key := range slices.Sorted(maps.Keys(block)) {
		if key != "checks" && key != "constraints" {
			phase.Unread = append(phase.Unread, key)
			continue
		}
		list, ok := block[key].([]any)
		if !ok && block[key] != nil {
			return phase, true, errorAt(phase.Origin, "validation.%s.%s must be a list; correct it", name, key)
		}
		for i, element := range list {
			if key == "checks" {
				check, _ := element.(string)
				if check == "" {
					return phase, true, errorAt(at(lines.checks, i), "validation.%s.checks[%d] must be the name of a check; correct it", name, i)
				}
				phase.Checks = append(phase.Checks, ValidationCheck{check, at(lines.checks, i)})
				continue
			}
			c := Constraint{Origin: at(lines.constraints, i)}
			fields, _ := element.(map[string]any)
			for field, to := range map[string]*string{"name": &c.Name, "value": &c.Value, "severity": &c.Severity, "remediation": &c.Remediation, "unit": &c.Unit} {
				if v := fields[field]; v != nil {
					*to = fmt.Sprint(v)
				}
			}
			if c.Name == "" || c.Value == "" {
				return phase, true, errorAt(c.Origin, "validation.%s.constraints[%d] needs a name and a value; add them", name, i)
			}
			phase.Constraints = append(phase.Constraints, c)
		}
	}
	return phase, true, nil
}
