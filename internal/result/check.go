package result

import "time"

// Check is the result of one check or constraint of a recipe's validation block, or of one probe.
type Check struct {
	// Phase is readiness, deployment, performance or conformance, or probes. Name is the check's,
	// or the constraint's.
	Phase  string     `json:"phase"`
	Name   string     `json:"name"`
	Status StepStatus `json:"status"`
	// Expected and Actual are a constraint's: its value, and the reading; both empty for a check,
	// and Actual without a reading.
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	// Message is one line; Details are the lines that a person reads next.
	Message string   `json:"message,omitempty"`
	Details []string `json:"details,omitempty"`
	// Component is the recipe's component that is to blame; empty if unknown. Place is the line
	// that requires the check, or the one with the requirement that the check found violated.
	Component string        `json:"component,omitempty"`
	Place     Place         `json:"place,omitzero"`
	Started   time.Time     `json:"started,omitzero"`
	Duration  time.Duration `json:"durationNs,omitempty"`
}

// String is phase/name, as people name a check.
func (c *Check) String() string { return c.Phase + "/" + c.Name }

// CountChecks counts by status.
func CountChecks(list []Check) (passed, failed, skipped int) {
	for i := range list {
		switch list[i].Status {
		case StepPassed:
			passed++
		case StepFailed:
			failed++
		default:
			skipped++
		}
	}
	return passed, failed, skipped
}
