package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// The kernel starts the interpreter of a script, and that is what must be there.
func TestInterpreters(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"#!/bin/sh\necho\n": {"/bin/sh"}, "#! /bin/sh -eu": {"/bin/sh"}, "#!/usr/bin/env sh\n": {"/usr/bin/env", sh}, "#!/usr/bin/env no-such-program\n": {"/usr/bin/env", "no-such-program"},
		"#!\n": nil, "echo\n": nil, "": nil,
	} {
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Interpreters(file); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := Interpreters(filepath.Join(t.TempDir(), "none")); got != nil {
		t.Errorf("no file: %q", got)
	}
}
