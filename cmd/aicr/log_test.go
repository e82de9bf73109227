package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestLog: --debug and --log-json say what was read, measured, resolved and written, without the
// login of an address; without them nothing is logged.
func TestLog(t *testing.T) {
	if r := invoke(t, "snapshot", "--only", "OS"); strings.Contains(r.stderr, "collector") {
		t.Errorf("without a flag: %s", r.stderr)
	}
	file := filepath.Join(t.TempDir(), "recipe.yaml")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"snapshot", "--only", "OS"}, []string{"collector=OS", "duration=", "document=snapshot address=-"}},
		{[]string{"recipe", "--service", "eks", "-o", file}, []string{"overlays=", "document=recipe", "address=" + file}},
		{[]string{"bundle", "-r", file, "-o", t.TempDir(), "--force"}, []string{"document=recipe", "deployer=helm", "files="}},
		{[]string{"bundle", "-r", "http://me:hunter2@127.0.0.1:1/recipe.yaml?token=hunter2", "-o", t.TempDir()}, []string{"address=http://127.0.0.1:1/recipe.yaml"}},
	} {
		text := invoke(t, append(c.args, "--debug")...)
		text.want(t, text.code, c.want...)
		if strings.Contains(text.stderr, "hunter2") {
			t.Errorf("%q logs a login: %s", c.args, text.stderr)
		}
		entries := 0
		for line := range strings.Lines(invoke(t, append(c.args, "--log-json")...).stderr) {
			if !strings.HasPrefix(line, "{") {
				continue // what is said to people
			}
			var entry struct{ Level, Msg string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level != "DEBUG" || entry.Msg == "" {
				t.Errorf("%q: got %q, %v", c.args, line, err)
			}
			entries++
		}
		if entries == 0 {
			t.Errorf("%q logs nothing as JSON", c.args)
		}
	}
}
