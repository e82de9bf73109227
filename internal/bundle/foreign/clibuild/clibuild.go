// Package clibuild finds AICR's CLI in a checkout of AICR, and builds it. It must not know bundles.
package clibuild

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/nvidia/aicr-action/internal/bundle/foreign/command"
	"github.com/nvidia/aicr-action/internal/util/bounded"
)

// mostFile is the size of a go.mod, in bytes.
const mostFile = 1 << 20

// aicrModule is the module of AICR.
const aicrModule = "github.com/nvidia/aicr"

// buildLimit is how long it may take to build AICR's CLI, with the download of its modules.
const buildLimit = 15 * time.Minute

// Find gives the root of the AICR checkout that a recipes directory is in; false if it is in none
// that has the CLI.
func Find(recipesDir string) (string, bool) {
	dir, err := filepath.Abs(recipesDir)
	if err != nil {
		return "", false
	}
	root := filepath.Dir(dir)
	text, err := bounded.Regular(filepath.Join(root, "go.mod"), mostFile) // which a pull request may make a link to a device
	if err != nil || !strings.EqualFold(modfile.ModulePath(text), aicrModule) {
		return "", false
	}
	info, err := os.Stat(filepath.Join(root, "cmd", "aicr"))
	return root, err == nil && info.IsDir()
}

// Build builds AICR's CLI from a checkout, with the Go toolchain of the machine, into a directory of
// the cache. Go builds only what has changed since the last time. A commit whose files were written
// somewhere has one place in the cache, wherever that was; without commit it is the checkout's.
func Build(ctx context.Context, checkout, commit, cache string) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", errors.New("--aicr build needs Go to build AICR's CLI, and PATH has no go: install it (actions/setup-go in a workflow), or pass the path of a CLI")
	}
	dir := filepath.Join(cache, "aicr", fmt.Sprintf("%.16x", sha256.Sum256([]byte(cmp.Or(commit, checkout)))))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("--aicr build: %w", err)
	}
	out := filepath.Join(dir, "aicr")
	ctx, cancel := context.WithTimeoutCause(ctx, buildLimit, fmt.Errorf("it did not end within %s", buildLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "./cmd/aicr")
	cmd.Dir = checkout
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	said := &command.Tail{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return "", fmt.Errorf("--aicr build: go build ./cmd/aicr in %s: %w%s", checkout, err, command.Quoted("it printed", said.String()))
	}
	return out, nil
}
