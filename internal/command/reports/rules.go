package reports

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/checks"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
)

// severity is that of what a check finds as a rule.
func severity(c *judge.Check) result.Severity {
	if c.Gives == "" {
		return result.SeverityWarning
	}
	return result.SeverityError
}

// Rules are the checks, as SARIF has them.
func Rules() (all []report.Rule) {
	for _, c := range checks.All() {
		all = append(all, report.Rule{ID: c.ID, Name: c.Name, Title: c.Title, Why: c.Why, Fix: c.Fix, Severity: severity(&c), DocumentationURL: "https://github.com/nvidia/aicr-action/blob/main/docs/checks.md#" + strings.ToLower(c.ID)})
	}
	return all
}
