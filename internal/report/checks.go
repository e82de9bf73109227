package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/report/testreport"
	"github.com/nvidia/aicr-action/internal/result"
)

// Checks are the results of a recipe's validation on one cluster, in the forms of a Report: a test
// per check, named after its phase.
type Checks struct {
	Meta
	// Recipe is how messages call the recipe. Status is pass, fail or partial.
	Recipe string
	Status string
	List   []result.Check
}

// checksTool is the name of the program that writes them.
const checksTool = "aicr-action aicr"

// WriteCTRF writes CTRF. There is one test per check, validate/PHASE/NAME.
func (c *Checks) WriteCTRF(w io.Writer) error {
	out := c.newCTRF(checksTool)
	out.Results.Environment = testreport.Environment{ReportName: "Validation of " + c.Recipe, Healthy: c.Status == "pass"}
	for i := range c.List {
		check := &c.List[i]
		raw, err := json.Marshal(check)
		if err != nil {
			return fmt.Errorf("write check %s as JSON: %w", check, err)
		}
		t := testreport.Test{
			Name: "validate/" + check.String(), Status: string(check.Status), Duration: check.Duration.Milliseconds(), Suite: []string{"validate", check.Phase}, Type: "integration",
			Message: check.Message, Trace: strings.Join(check.Details, "\n"), Extra: raw,
		}
		if !check.Started.IsZero() {
			t.Start, t.Stop = testreport.Millis(check.Started), testreport.Millis(check.Started.Add(check.Duration))
		}
		out.Results.Tests = append(out.Results.Tests, t)
	}
	return out.Write(w, c.Started, c.Written)
}

// WriteJUnit writes JUnit XML: a suite per phase, a test per check.
func (c *Checks) WriteJUnit(w io.Writer) error {
	all := testreport.JUnit{Name: "validate"}
	var total time.Duration
	for begin := 0; begin < len(c.List); {
		phase, end := c.List[begin].Phase, begin
		s := testreport.Suite{Name: "validate/" + phase}
		var took time.Duration
		for ; end < len(c.List) && c.List[end].Phase == phase; end++ {
			check := &c.List[end]
			took += check.Duration
			s.Add(junitCheck(check))
		}
		s.Time = testreport.Seconds(took)
		total += took
		all.Add(s)
		begin = end
	}
	all.Time = testreport.Seconds(total)
	return all.Write(w)
}

func junitCheck(check *result.Check) testreport.Case {
	one := testreport.Case{Name: "validate/" + check.String(), Class: "validate." + check.Phase, Time: testreport.Seconds(check.Duration)}
	place := ""
	if check.Place.File != "" {
		place = fmt.Sprintf("%s:%d", check.Place.File, check.Place.Line)
	}
	one.Properties = testreport.PropertiesOf([][2]string{{"status", string(check.Status)}, {"component", check.Component}, {"expected", check.Expected}, {"actual", check.Actual}, {"place", place}}...)
	problem := &testreport.Problem{Message: check.Message, Text: strings.Join(check.Details, "\n")}
	switch check.Status {
	case result.StepPassed:
		one.Out = check.Message
	case result.StepFailed:
		one.Failure = problem
	default:
		one.Skipped = problem
	}
	return one
}

// CheckLine is a check in one line, e.g. "✗ deployment/operator-health (gpu-operator): 1 of 2 pods
// are ready (recipes/overlays/base.yaml:79)".
func CheckLine(check *result.Check) string {
	text := map[result.StepStatus]string{result.StepPassed: "✓", result.StepFailed: "✗"}[check.Status]
	if text == "" {
		text = "–"
	}
	text += " " + check.String()
	if check.Component != "" {
		text += " (" + check.Component + ")"
	}
	if check.Message != "" {
		text += ": " + check.Message
	}
	if check.Place.File != "" {
		text += fmt.Sprintf(" (%s:%d)", check.Place.File, check.Place.Line)
	}
	return text
}
