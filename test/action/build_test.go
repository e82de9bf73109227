// Package action_test runs action.yml and the workflows the way GitHub's runner does, on an
// emulated runner.
package action_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// TestMain runs the tests in the repository's root: action.yml and the workflows name files from
// there.
func TestMain(m *testing.M) {
	workers.Serve(sandbox.Hidden(), render.Hidden())
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testkit.Main(m))
}

// built is the program as setup/build.sh makes it.
var built = testkit.Binary{Name: "matrix", Build: func(path string) *exec.Cmd {
	cmd := exec.Command("bash", "setup/build.sh")
	cmd.Env = append(os.Environ(), "BIN="+path, "STACK=")
	return cmd
}}

func matrix(t *testing.T) string {
	t.Helper()
	return built.Path(t)
}

// goThatCopies is a directory for PATH with a go command that has the program already. It knows no
// other command than that of setup/build.sh, and writes a line to the file built for each program
// that it makes.
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
