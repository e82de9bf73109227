package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nvidia/aicr-action/internal/result"
)

func someChecks() []result.Check {
	return []result.Check{
		{Phase: "readiness", Name: "K8s.server.version", Status: result.StepPassed, Expected: ">= 1.30", Actual: "v1.36.1"},
		{Phase: "deployment", Name: "operator-health", Status: result.StepFailed, Component: "gpu-operator", Message: "x is <not> ready", Details: []string{"x is <not> ready", "y"}, Place: result.Place{File: "recipes/overlays/base.yaml", Line: 82}},
		{Phase: "performance", Name: "nccl-all-reduce-bw", Status: result.StepSkipped, Message: "simulated"},
	}
}

// Every report of a run shows the results of its validation.
func TestValidationInReports(t *testing.T) {
	r := sample()
	r.Results[0].Validation = someChecks()
	var page, md, ctrf strings.Builder
	for _, err := range []error{r.WriteHTML(&page), r.WriteMarkdown(&md), r.WriteCTRF(&ctrf)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const line = "✗ deployment/operator-health (gpu-operator): x is "
	for name, c := range map[string]struct{ text, want string }{
		"HTML":     {page.String(), line + "&lt;not&gt; ready (recipes/overlays/base.yaml:82)"},
		"Markdown": {md.String(), line + "<not> ready (recipes/overlays/base.yaml:82)"},
		"CTRF":     {ctrf.String(), `"name": "nccl-all-reduce-bw"`},
		"terminal": {terminalOf(t, r), "1 validated, 1 failed, 1 skipped"},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%s lacks %q", name, c.want)
		}
	}
	file := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(file, []byte(ctrf.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	back, err := Read(file)
	if err != nil || len(back.Results[0].Validation) != 3 || back.Results[0].Validation[1].Place.Line != 82 {
		t.Errorf("got %v, %v", back, err)
	}
}

// A validation has the forms of a run's report: CTRF that fits its schema, and JUnit with a suite
// per phase.
func TestChecksReport(t *testing.T) {
	c := Checks{Recipe: "r.yaml", Status: "fail", List: someChecks()}
	var ctrf, junit strings.Builder
	if err := c.WriteCTRF(&ctrf); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteJUnit(&junit); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`<testsuites name="validate" tests="3" failures="1" errors="0" skipped="1"`, `<testsuite name="validate/deployment" tests="1" failures="1"`, `<failure message="x is &lt;not&gt; ready">`,
		`<property name="place" value="recipes/overlays/base.yaml:82">`, `<skipped message="simulated">`,
	} {
		if !strings.Contains(junit.String(), part) {
			t.Errorf("JUnit lacks %s:\n%s", part, junit.String())
		}
	}
	for _, part := range []string{`"tests": 3`, `"failed": 1`, `"name": "validate/deployment/operator-health"`, `"status": "failed"`, `"healthy": false`} {
		if !strings.Contains(ctrf.String(), part) {
			t.Errorf("CTRF lacks %s:\n%s", part, ctrf.String())
		}
	}
	schema, err := jsonschema.NewCompiler().Compile("testdata/ctrf/ctrf-schema-0.0.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(ctrf.String()))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("it is not CTRF: %v", err)
	}
}
