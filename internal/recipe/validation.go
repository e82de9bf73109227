package recipe

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"go.yaml.in/yaml/v3"
)

// HealthCheck is a component's health check as the recipes directory has it.
type HealthCheck struct {
	Component string
	// File as a person can open it; for a check inside a recipe, the place where the component is
	// declared.
	File    string
	Content []byte
}

// HealthCheck gives the component's health check: the recipe's own (healthCheckAsserts), otherwise
// the file that the registry names (healthCheck.assertFile). The second result is false if there is
// neither. The error is that of reading the file.
func (s *Store) HealthCheck(c *Component) (HealthCheck, bool, error) {
	if c.HealthCheckAsserts != "" {
		return HealthCheck{c.Name, c.Declared.String() + " (healthCheckAsserts)", []byte(c.HealthCheckAsserts)}, true, nil
	}
	file := s.registry[c.Name].HealthCheck.AssertFile
	if file == "" || c.HealthCheckSkip {
		return HealthCheck{Component: c.Name}, false, nil
	}
	content, err := s.files.Read(file)
	return HealthCheck{c.Name, s.files.Display(file), content}, true, err
}

// WithHealthChecks gives the result as AICR's own CLI writes it since July: with the text of each component's health
// check, so that whoever has the recipe alone can run it. The error is that of reading a file.
func (s *Store) WithHealthChecks(r *Result) (*Result, error) {
	if document.GenerationOf(r.APIVersion) == document.March {
		return r, nil
	}
	with := *r
	with.ComponentRefs = slices.Clone(r.ComponentRefs)
	for i := range with.ComponentRefs {
		ref := &with.ComponentRefs[i]
		check, _, err := s.HealthCheck(&Component{ComponentRef: *ref})
		if err != nil {
			return nil, fmt.Errorf("read the health check of component %s: %w", ref.Name, err)
		}
		ref.HealthCheckAsserts = string(check.Content)
	}
	return &with, nil
}

// validationLines are the places of what one phase of the validation block has: its own, and those of
// its checks and constraints.
type validationLines struct {
	block               Origin
	checks, constraints []Origin
}

// linesOfValidation finds them below the steps that lead to the block.
func linesOfValidation(file string, root *yaml.Node, phases map[string]any, steps ...any) map[string]validationLines {
	all := map[string]validationLines{}
	for phase, content := range phases {
		below := func(more ...any) Origin {
			return Origin{File: file, Line: document.LineOf(root, append(append(slices.Clone(steps), phase), more...)...)}
		}
		elements := func(list string) (places []Origin) {
			block, _ := content.(map[string]any)
			found, _ := block[list].([]any)
			for i := range found {
				places = append(places, below(list, i))
			}
			return places
		}
		all[phase] = validationLines{below(), elements("checks"), elements("constraints")}
	}
	return all
}

// ValidationPlaces are the lines of a phase of the validation block: its own, and those of its
// checks and its constraints, in their order.
func (r *Result) ValidationPlaces(phase string) (block Origin, checks, constraints []Origin) {
	lines := r.validationLines[phase]
	return lines.block, lines.checks, lines.constraints
}
