package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Outputs that cannot be written make a passing run fail, never hide why a run failed, and are
// reported once.
func TestCIFiles_WriteError(t *testing.T) {
	dir := t.TempDir()
	invoke(t, nil, "run", "eks", "-d", "helm", "--outputs", dir).want(t, 2, "outputs", dir)
	invoke(t, nil, "run", "eks", "-d", "helm", "--annotations", dir).want(t, 2, "write the annotations to "+dir)
	if r := invoke(t, nil, "run", "eks", "-d", "helm", "--annotations", dir); strings.Count(r.stderr, "write the annotations") != 1 {
		t.Errorf("said more than once: %s", r.stderr)
	}
}

// A mistake among the flags is known before the reports are opened; the outputs have it all the
// same.
func TestOutputs_UsageError(t *testing.T) {
	for name, args := range map[string][]string{
		"flag": {"--nonsense"}, "recipe": {"nonsense"}, "help": {"--help"}, "settings": {"eks", "--settings", "absent"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out")
			r := invoke(t, nil, append([]string{"run", "--outputs", file}, args...)...)
			want := map[bool]string{true: "10", false: "2"}[name == "settings"]
			if got := outputsOf(t, file); r.code == 0 || got["conclusion"] != "failure" || got["exit-code"] != want || got["total"] != "0" {
				t.Errorf("code %d, outputs %v", r.code, got)
			}
		})
	}
}
