package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func judged() []result.Result {
	object := &result.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "x", Name: "web"}
	place := result.Place{File: "recipes/overlays/a b.yaml", Line: 7}
	fault := result.Finding{Check: "MX102", Severity: result.SeverityError, Cause: "Job x/m: must end [MX102]", Object: &result.Ref{Kind: "Job", Namespace: "x", Name: "m"}, Place: place, Story: []string{"Job x/m: must end [MX102]", "  then"}}
	warning := result.Finding{Check: "MX202", Severity: result.SeverityWarning, Cause: "Ingress x/web: no class [MX202]", Object: object, Path: "spec", Place: place}
	ignored := warning
	ignored.Object, ignored.Ignored = &result.Ref{Kind: "Ingress", Namespace: "x", Name: "old"}, "the platform installs one (.aicr-checks.yaml:3)"
	outside := warning
	outside.Object, outside.Place = &result.Ref{Kind: "Ingress", Namespace: "x", Name: "far"}, result.Place{File: "/elsewhere/x.yaml", Line: 1}
	var all []result.Result
	for _, lane := range []string{"helm", "flux-oci"} {
		all = append(all, result.Result{Cell: result.Cell{Recipe: "r", Deployer: lane},
			Verdict: result.Verdict{Status: result.Failed, Reason: reason.WorkloadFailed, Findings: []result.Finding{fault, {Cause: "pods did not start"}}},
			Judged:  []result.Finding{fault, warning, ignored, outside}})
	}
	return all
}

// What is written is valid by the schema of SARIF 2.1.0, and has each finding of several lanes once.
func TestSARIF(t *testing.T) {
	r := &Report{Meta: Meta{Tool: "v1", Checkout: Checkout{Root: "/ws", Dir: "/ws/sub"}, Rules: []Rule{{ID: "MX102", Name: "n", Title: "t", Why: "w", Fix: "f", Severity: result.SeverityError}, {ID: "MX202", Title: "t", Why: "w", Fix: "f", Severity: result.SeverityWarning}}}, Results: judged()}
	var b bytes.Buffer
	if err := r.WriteSARIF(&b); err != nil {
		t.Fatal(err)
	}
	read, err := sarif.FromBytes(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(); err != nil {
		t.Error(err)
	}
	got := read.Runs[0].Results
	if len(got) != 5 {
		t.Fatalf("got %d results, want the fault, the failure without a check, and three warnings: %s", len(got), b.String())
	}
	if uri := *got[0].Locations[0].PhysicalLocation.ArtifactLocation.URI; uri != "sub/recipes/overlays/a%20b.yaml" {
		t.Errorf("got the file %s", uri)
	}
	if *got[1].RuleID != string(reason.WorkloadFailed) || got[1].Level != "error" {
		t.Errorf("a failure of no check: got %s %s", *got[1].RuleID, got[1].Level)
	}
	if s := got[3].Suppressions; len(s) != 1 || !strings.Contains(*s[0].Justification, "the platform installs one") {
		t.Errorf("what is ignored: got suppressions %v", s)
	}
	if got[4].Locations[0].PhysicalLocation != nil {
		t.Errorf("a file outside of the repository: got %v", got[4].Locations[0].PhysicalLocation)
	}
	for _, res := range got {
		if rule := read.Runs[0].Tool.Driver.Rules[res.RuleIndex]; *rule.ID != *res.RuleID {
			t.Errorf("result of %s has the index of rule %s", *res.RuleID, *rule.ID)
		}
	}
}

// A run without findings is a log with no results, which closes the alerts of code scanning.
func TestSARIF_NoFindings(t *testing.T) {
	var b bytes.Buffer
	if err := (&Report{}).WriteSARIF(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"results": []`) {
		t.Errorf("got %s", b.String())
	}
}
