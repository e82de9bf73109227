package aicraction_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programDir is where matrix puts the program.
var programDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "aicr-action")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// compiled is the program as setup/build.sh makes it, once for all tests: to link it takes seconds.
var compiled = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(programDir, "matrix")
	cmd := exec.Command("bash", "setup/build.sh")
	cmd.Env = append(os.Environ(), "BIN="+bin, "STACK=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("setup/build.sh: %w\n%s", err, out)
	}
	return bin, nil
})

func matrix(t *testing.T) string {
	t.Helper()
	bin, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// goThatCopies is a directory for PATH with a go command that has the program already. It knows no other command than that of setup/build.sh, and writes a
// line to the file built for each program that it makes.
func goThatCopies(t *testing.T, built string) string {
	t.Helper()
	tools := t.TempDir()
	write(t, filepath.Join(tools, "go"), `#!/bin/bash
[[ "$1 $2 $3 $4 $6 $CGO_ENABLED" == "build -buildvcs=false -ldflags=-s -w -o ./cmd/matrix 0" ]] || { echo "go $*: unexpected"; exit 9; }
echo "$5" >> `+built+`
cp `+matrix(t)+` "$5"
`)
	return tools
}
