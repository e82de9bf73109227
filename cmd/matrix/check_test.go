package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// checked runs matrix check, with what it prints.
func checked(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	code = execute(t.Context(), append([]string{"check"}, args...), func(string) string { return "" }, &out, &err)
	return code, out.String(), err.String()
}

const hurriedJob = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: default}
spec: {activeDeadlineSeconds: 1, template: {spec: {restartPolicy: Never, containers: [{name: m, image: registry.example.com/m:1, args: ["$(NOPE)"]}]}}}
`

// A finding has its place first, the exit code of a run, and its ID; it is JSON and SARIF too.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(hurriedJob), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := checked(t, "--app", dir)
	for _, want := range []string{filepath.Join(dir, "a.yaml") + ":4: error: Job default/migrate", "[MX102] (WORKLOAD_FAILED, exit code 1)", "warning: Job default/migrate", "[MX101]", "1 error, 1 warning in 1 cell ("} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d, want 1, and %q in\n%s", code, want, out)
		}
	}
	var read struct {
		Cells []struct {
			Findings []result.Finding `json:"findings"`
		} `json:"cells"`
	}
	if code, out, _ = checked(t, "--app", dir, "-o", "json"); code != 1 || json.Unmarshal([]byte(out), &read) != nil || len(read.Cells) != 1 || len(read.Cells[0].Findings) != 2 {
		t.Errorf("exit %d, JSON %s", code, out)
	}
	if code, out, _ = checked(t, "--app", dir, "-o", "sarif"); code != 1 || !strings.Contains(out, `"ruleId": "MX102"`) {
		t.Errorf("exit %d, SARIF %s", code, out)
	}
}

// What is ignored makes no exit code, and is listed with its reason; an entry that hits nothing is a warning.
func TestCheck_Ignore(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(hurriedJob), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ignored.yaml")
	if err := os.WriteFile(file, []byte("ignore:\n- {check: MX102, object: Job/default/migrate, reason: the image is on every node}\n- {check: MX101, object: Job/default/other, reason: gone}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := checked(t, "--app", dir, "--ignore-file", file)
	if code != 0 || !strings.Contains(out, "ignored: Job default/migrate (") || !strings.Contains(out, "the image is on every node ("+file+":2)") || !strings.Contains(out, "0 errors, 1 warning, 1 ignored in 1 cell") {
		t.Errorf("exit %d, printed\n%s", code, out)
	}
	if !strings.Contains(stderr, file+":3 ignores nothing: check MX101 found nothing for Job/default/other") {
		t.Errorf("stderr %q", stderr)
	}
	for _, flags := range [][]string{{"--ignore", "MX102"}, {"--ignore", "MX999"}, {"--only", "nope"}, {"--ignore-file", filepath.Join(dir, "none")}, {"-o", "yaml"}} {
		if code, _, stderr := checked(t, append([]string{"--app", dir}, flags...)...); code != 2 || stderr == "" {
			t.Errorf("%q: exit %d, want 2; %s", flags, code, stderr)
		}
	}
}

// A recipe of this repository has no error, and no cluster is needed to say so.
func TestCheck_Recipe(t *testing.T) {
	if code, out, stderr := checked(t, "eks-training", "--recipes-dir", "../../recipes", "--deployer", "helm,flux-oci"); code != 0 || !strings.Contains(out, "0 errors") {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
}

// docs/checks.md is what make generate writes.
func TestChecksPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := invoke(t, nil, "explain", "--checks-markdown").stdout; string(page) != got {
		t.Error("docs/checks.md is not that of the list of checks: run make generate")
	}
}
