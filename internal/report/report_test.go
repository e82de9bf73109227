package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nvidia/aicr-action/internal/report/testreport"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func ctrfOf(t *testing.T, r *Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteCTRF(&b); err != nil {
		t.Fatalf("write CTRF: %v", err)
	}
	return b.Bytes()
}

// Every results file is CTRF, as CTRF's own schema has it; also an empty one, and one of a merge
// with gaps.
func TestCTRFSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("testdata/ctrf/ctrf-schema-0.0.json")
	if err != nil {
		t.Fatalf("compile CTRF's schema: %v", err)
	}
	gaps := sample()
	gaps.Unread = []string{"shard-2.json: cut off"}
	gaps.CI = CI{Repository: "o/r", URL: "https://ci/1", Commit: "abc", Branch: "main", Workflow: "kwok", RunNumber: 7, RunID: "1", Attempt: "2", Shard: "1/4"}
	for name, r := range map[string]*Report{"empty": {}, "sample": sample(), "gaps": gaps, "run again": crashed()} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(ctrfOf(t, r)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		doc.(map[string]any)["reportFormat"] = "JUnit"
		if schema.Validate(doc) == nil {
			t.Errorf("%s: the schema accepts anything", name)
		}
	}
}

// crashed has a cell that passed in its second attempt, and one that failed in both.
func crashed() *Report {
	r := sample()
	r.Results[0].Attempts = []result.Attempt{{
		Started: began, Duration: 2 * time.Second, Reason: reason.ComponentDied, Component: "kube-apiserver", Cause: "kube-apiserver ended unexpectedly (exit status 2)", Crash: "panic: nil map", Artifacts: "/out/first",
	}}
	r.Results[5].Attempts = slices.Clone(r.Results[0].Attempts)
	return r
}

// A cell that was run again is flaky if it passed then; its attempts are there, and can be read
// back.
func TestCTRFAttempts(t *testing.T) {
	var got testreport.CTRF[ctrfExtra]
	raw := ctrfOf(t, crashed())
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := []testreport.Attempt{{Attempt: 1, Status: "other", Duration: 2000, Start: began.UnixMilli(), Message: "kube-apiserver ended unexpectedly (exit status 2): panic: nil map"}}
	for i, test := range got.Results.Tests[:10] {
		again, passed := i == 0 || i == 5, i == 0
		if test.Flaky != passed || (test.Retries == 1) != again || again && !reflect.DeepEqual(test.Attempts, want) || !again && test.Attempts != nil {
			t.Errorf("%s: flaky %t, %d retries, attempts %+v", test.Name, test.Flaky, test.Retries, test.Attempts)
		}
	}
	file := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if a := back.Results[0].Attempts; len(a) != 1 || a[0].Artifacts != "/out/first" || !a[0].Started.Equal(began) {
		t.Errorf("read back: %+v", a)
	}
}

// Names and statuses are upstream's; a cell that never ran is not "skipped", which readers take for
// fine.
func TestCTRFNames(t *testing.T) {
	var got testreport.CTRF[ctrfExtra]
	if err := json.Unmarshal(ctrfOf(t, sample()), &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, x := range got.Results.Tests {
		lines = append(lines, x.Name+" "+x.Status+" "+x.RawStatus)
	}
	want := []string{
		"kwok/eks/helm passed passed", "kwok/eks/argocd-oci passed passed", "kwok/eks/flux-oci failed failed", "kwok/eks-training/helm failed failed",
		"kwok/eks-training/argocd-oci failed timeout", "kwok/eks-training/flux-oci other infrastructure", "kwok/base/helm other interrupted",
		"kwok/base/argocd-oci other not run", "kwok/base/flux-oci skipped skipped", "kwok/monitoring/flux-oci failed failed", "kwok/setup/flux-oci other infrastructure",
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	s := got.Results.Summary
	if s.Tests != 11 || s.Passed != 2 || s.Failed != 4 || s.Skipped != 1 || s.Other != 4 || s.Pending != 0 {
		t.Errorf("summary: got %+v", s)
	}
	if s.Start != began.UnixMilli() || s.Stop != began.Add(330*time.Second).UnixMilli() {
		t.Errorf("times: got %+v", s)
	}
	var extra struct {
		Reason   string
		ExitCode int
		Details  []string
		Charts   string
		Phases   []struct {
			Name       string
			DurationNs int64
		}
	}
	if err := json.Unmarshal(got.Results.Tests[2].Extra, &extra); err != nil {
		t.Fatal(err)
	}
	if extra.Reason != "SCHEDULING_FAILED" || extra.ExitCode != 1 || len(extra.Details) != 9 || extra.Charts != "simulated" || len(extra.Phases) != 6 {
		t.Errorf("extra: got %+v", extra)
	}
	if got.Results.Environment.Healthy {
		t.Error("a run with failures is said to be healthy")
	}
}

// A run that could not set up the machine has one setup entry per deployer; what an interrupt kept
// from running has none.
func TestCTRFSetup(t *testing.T) {
	notRun := func(d string, why reason.Reason) result.Result {
		return cellOf("eks", d, 0, result.Verdict{Status: result.NotRun, Reason: why, Cause: "because"})
	}
	r := &Report{Results: []result.Result{
		notRun("helm", reason.StackBuildFailed), notRun("flux-oci", reason.Interrupted), notRun("argocd-oci", reason.JobDeadline), notRun("argocd-helm-oci", reason.SyncTimeout),
	}}
	tests, err := r.setupTests()
	if err != nil || len(tests) != 1 || tests[0].Name != "kwok/setup/helm" || tests[0].Status != "other" || !strings.Contains(string(tests[0].Extra), `"eks/helm"`) {
		t.Errorf("got %+v, %v; want one entry, for helm", tests, err)
	}
}

func writeFile(t *testing.T, name string, raw []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// What was written is read back whole.
func TestRead(t *testing.T) {
	want := sample()
	got, err := Read(writeFile(t, "r.json", ctrfOf(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Results, want.Results) {
		t.Errorf("got\n%+v\nwant\n%+v", got.Results, want.Results)
	}
	got.Code = codes4test
	if a, b := ctrfOf(t, got), ctrfOf(t, want); !bytes.Equal(a, b) {
		t.Errorf("written again it differs:\n%s\n%s", a, b)
	}
}

// A file of a gigabyte is refused by its size: by name, and before it is read.
func TestReadLarge(t *testing.T) {
	small, large := filepath.Join(t.TempDir(), FileName), filepath.Join(t.TempDir(), FileName)
	if err := errors.Join(os.WriteFile(small, ctrfOf(t, sample()), 0o644), os.WriteFile(large, nil, 0o644), os.Truncate(large, 1<<30)); err != nil {
		t.Fatal(err)
	}
	want := "read the results: " + large + " is larger than 256 MiB"
	if _, err := Read(large); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	r, unread := ReadAll([]string{small, large}, nil)
	if len(unread) != 1 || len(r.Unread) != 1 || !strings.Contains(r.Unread[0], want) || len(r.Results) != len(sample().Results) {
		t.Errorf("got %v, %q, %d results", unread, r.Unread, len(r.Results))
	}
}

func TestRead_Invalid(t *testing.T) {
	whole := string(ctrfOf(t, sample()))
	_, first, _ := strings.Cut(whole, `"tests": [`)
	first, _, _ = strings.Cut(first, "\n   },\n")
	first += "}"
	for name, tc := range map[string]struct{ content, want string }{
		"cut off":         {whole[:len(whole)/2], "cut off after"},
		"empty":           {"", "the file is empty"},
		"blank":           {" \n", "the file is empty"},
		"two files":       {whole + whole, "not a results file: invalid character '{' after top-level value"},
		"a cell twice":    {strings.Replace(whole, `"tests": [`, `"tests": [`+first+",", 1), `"kwok/eks/helm" appears twice`},
		"not JSON":        {"<xml/>", "not a results file"},
		"not CTRF":        {`{"results":{}}`, `reportFormat is ""`},
		"another program": {`{"reportFormat":"CTRF","results":{"tool":{"name":"jest"}}}`, "of another program (jest)"},
		"another version": {strings.Replace(whole, `"aicrActionFormat": 1`, `"aicrActionFormat": 2`, 1), "version 2 of the format"},
		"other status":    {strings.Replace(whole, `"status": "timeout"`, `"status": "fine"`, 1), `the status "fine"`},
		"edited":          {strings.Replace(whole, `"status": "failed"`, `"status": "passed"`, 1), "the file was edited"},
		"another cell":    {strings.Replace(whole, `"name": "kwok/eks/helm"`, `"name": "kwok/gke/helm"`, 1), `"kwok/gke/helm" is not about the cell "eks/helm"`},
	} {
		file := writeFile(t, "r.json", []byte(tc.content))
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v, want %q and the file's name", name, err, tc.want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.json")); err == nil {
		t.Error("a file that is not there is no error")
	}
}

// Merge joins shards to one report. It names a file that cannot be read and keeps the others, and
// the merged report is not green.
func TestMerge(t *testing.T) {
	pass := func(recipe, d string, at time.Time) result.Result {
		r := cellOf(recipe, d, time.Second, result.Verdict{Status: result.Passed})
		r.Started = at
		return r
	}
	failed := cellOf("b", "helm", time.Second, result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: "refused"})
	one := &Report{Meta: Meta{RunID: "x", Started: began.Add(time.Minute), CI: CI{Shard: "1/2", Commit: "abc"}}, Results: []result.Result{failed, pass("b", "flux-oci", began)}}
	two := &Report{Meta: Meta{RunID: "y", Started: began}, Results: []result.Result{
		pass("a", "flux-oci", began), pass("b", "helm", began.Add(time.Hour)), cellOf("b", "flux-oci", 0, result.Verdict{Status: result.NotRun}),
	}}
	bad := writeFile(t, "bad.json", []byte("{"))
	files := []string{writeFile(t, "1.json", ctrfOf(t, one)), bad, writeFile(t, "2.json", ctrfOf(t, two))}
	got, err := ReadAll(files, []string{"helm", "argocd-oci", "flux-oci"})
	if len(err) != 1 || !strings.Contains(err[0].Error(), bad) || len(got.Unread) != 1 || !strings.Contains(got.Unread[0], bad) {
		t.Errorf("the bad file: got %v and %q", err, got.Unread)
	}
	var lines []string
	for _, r := range got.Results {
		lines = append(lines, fmt.Sprintf("%s %s %q", r.Cell, r.Status, r.Notes))
	}
	want := `a/flux-oci passed []|b/helm passed ["an earlier attempt ended as failed, DEPLOY_FAILED: refused"]|b/flux-oci passed []`
	if s := strings.Join(lines, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if got.RunID != "x,y" || !got.Started.Equal(began) || got.CI.Shard != "" || got.CI.Commit != "abc" {
		t.Errorf("got %+v", got.Meta)
	}
	if got.Green() {
		t.Error("a merge that lacks a shard is green")
	}
	got.Unread = nil
	if !got.Green() {
		t.Error("a merge of passes is not green")
	}
	if again := merge([]string{"helm"}, got, got); !reflect.DeepEqual(again.Results, got.Results) {
		t.Errorf("the same file twice: got %+v", again.Results)
	}
	if (&Report{}).Green() {
		t.Error("nothing is green")
	}
}

func TestJUnit(t *testing.T) {
	r := sample()
	r.Unread = []string{"shard-2.json: cut off"}
	r.Results[2].Cause = "control \x1b[31m characters & <tags>"
	var b bytes.Buffer
	if err := r.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got testreport.JUnit
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if got.Tests != 11 || got.Failures != 4 || got.Errors != 4 || got.Skipped != 1 || len(got.Suites) != 5 {
		t.Errorf("got %d tests, %d failures, %d errors, %d skipped in %d suites", got.Tests, got.Failures, got.Errors, got.Skipped, len(got.Suites))
	}
	base := got.Suites[2]
	if base.Cases[1].Name != "kwok/base/argocd-oci" || base.Cases[1].Error == nil || base.Cases[2].Skipped == nil {
		t.Errorf("not run must be an error and skipped skipped: got %+v", base.Cases)
	}
	failed := got.Suites[0].Cases[2]
	if failed.Failure == nil || failed.Failure.Type != "SCHEDULING_FAILED" || !strings.Contains(failed.Failure.Message, "& <tags>") || !strings.Contains(failed.Failure.Text, "rerun: matrix run eks --deployer flux-oci") {
		t.Errorf("got %+v", failed.Failure)
	}
}
