package recipe

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// kubeVersionConstraint is the constraint on the version of the API server: the one that is known
// before anything is started.
const kubeVersionConstraint = "K8s.server.version"

// BrokenConstraintError is a constraint that does not hold.
type BrokenConstraintError struct {
	Constraint Constraint
	Have       string
}

func (e *BrokenConstraintError) Error() string {
	text := fmt.Sprintf("constraint %s %s does not hold: the cell's API server is %s", e.Constraint.Name, e.Constraint.Value, e.Have)
	if e.Constraint.Remediation != "" {
		text += "; " + e.Constraint.Remediation
	}
	return text
}

// CheckKubeVersion evaluates the recipe's constraint on the version of Kubernetes, e.g. ">= 1.30",
// by the version that its cluster will have. An operator is one of >=, <=, >, <, == and !=; without
// one a version must be equal. Only as many numbers count as the constraint has: 1.36.1 is "==
// 1.36", and not "> 1.36". The error is a *FileError at the constraint's line, for a broken
// constraint and for one that cannot be read.
func (r *Result) CheckKubeVersion(version string) error {
	for _, c := range r.Constraints {
		if c.Name != kubeVersionConstraint {
			continue
		}
		holds, err := document.OfKubernetes(c.Value, version)
		if err != nil {
			return document.ErrorAt(c.Origin, "constraint %s: %w", c.Name, err)
		}
		if !holds {
			return document.ErrorAt(c.Origin, "%w", &BrokenConstraintError{Constraint: c, Have: version})
		}
	}
	return nil
}

// Unevaluated are the constraints that a simulated cluster cannot answer: one line each.
func (r *Result) Unevaluated() []string {
	var lines []string
	for _, c := range r.Constraints {
		if c.Name != kubeVersionConstraint {
			lines = append(lines, fmt.Sprintf("constraint %s %s is not evaluated: a simulated cluster has nothing to measure it by", c.Name, c.Value))
		}
	}
	return lines
}
