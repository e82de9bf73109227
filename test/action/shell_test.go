package action_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// shellcheck is the path of the linter. macOS has none, and GitHub's Ubuntu image has one: there
// AICR_ACTION_TEST_SHELLCHECK is "required".
func shellcheck(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("shellcheck")
	if err == nil {
		return path
	}
	if os.Getenv("AICR_ACTION_TEST_SHELLCHECK") == "required" {
		t.Fatal("no shellcheck on the PATH, and AICR_ACTION_TEST_SHELLCHECK=required: install it (apt-get install shellcheck)")
	}
	testskip.Missing(t, "no shellcheck on the PATH; apt-get install shellcheck to run this test")
	return ""
}

// TestShell: shellcheck finds nothing in the scripts of both actions, in their steps, or in the
// steps of the workflows.
func TestShell(t *testing.T) {
	program := shellcheck(t)
	scripts := map[string]string{}
	files, err := filepath.Glob("setup/*.sh")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range append(files, ".ci/run") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts[file] = string(raw)
	}
	expression := regexp.MustCompile(`\$\{\{.*?\}\}`) // the runner's, which no shell sees
	for _, file := range []string{"action.yml", "setup/action.yml"} {
		for _, s := range parseAction(t, file).Runs.Steps {
			if s.Run != "" {
				scripts[file+": "+s.Name] = "#!/usr/bin/env bash\n" + expression.ReplaceAllString(s.Run, "expression")
			}
		}
	}
	if len(scripts) < 8 {
		t.Fatalf("only %d scripts were found", len(scripts))
	}
	for name, script := range scripts {
		cmd := exec.Command(program, "--shell=bash", "--format=json", "-")
		cmd.Stdin = strings.NewReader(script)
		out, runErr := cmd.Output()
		var found []struct {
			Line    int    `json:"line"`
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal(out, &found); err != nil {
			t.Fatalf("%s: shellcheck: %v, %v\n%s", name, runErr, err, out)
		}
		for _, f := range found {
			t.Errorf("%s, line %d: SC%d %s", name, f.Line, f.Code, f.Message)
		}
	}
	lintWorkflows(t, program)
}
