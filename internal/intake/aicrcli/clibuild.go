package aicrcli

// clibuild.go finds AICR's CLI in a checkout of AICR, and builds it. It must not know bundles.

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

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// mostFile is the size of a go.mod, in bytes.
const mostFile = 1 << 20

// aicrModule is the module of AICR.
const aicrModule = "github.com/nvidia/aicr"

// buildLimit is how long it may take to build AICR's CLI, with the download of its modules.
const buildLimit = 15 * time.Minute

// FindCheckout gives the root of the AICR checkout that a recipes directory is in; false if it is in none
// that has the CLI.
func FindCheckout(recipesDir string) (string, bool) {
	dir, err := filepath.Abs(recipesDir)
	if err != nil {
		return "", false
	}
	root := filepath.Dir(dir)
	text, err := filesys.Regular(filepath.Join(root, "go.mod"), mostFile) // which a pull request may make a link to a device
	if err != nil || !strings.EqualFold(modfile.ModulePath(text), aicrModule) {
		return "", false
	}
	info, err := os.Stat(filepath.Join(root, "cmd", "aicr"))
	return root, err == nil && info.IsDir()
}

// NeedGo is an error if no Go is there to build with.
func NeedGo() error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("--aicr build needs Go to build AICR's CLI, and PATH has no go: install it (actions/setup-go in a workflow), or pass the path of a CLI")
	}
	return nil
}

// Build builds AICR's CLI from a checkout, with the Go toolchain of the machine, into a directory of
// the cache, in the checkout's own workspace if it has a go.work. Go builds only what has changed since the last time, and is not asked
// where all files of the checkout are those of that time, also on another machine that has the cache. A commit whose files were written
// somewhere has one place in the cache, wherever that was; without commit it is the checkout's.
func Build(ctx context.Context, checkout, commit, cache string) (string, error) {
	if err := NeedGo(); err != nil {
		return "", err
	}
	dir := placeOf(checkout, commit, cache)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("--aicr build: %w", err)
	}
	out := filepath.Join(dir, "aicr")
	inputs := inputsOf(ctx, checkout)
	if kept(dir, inputs) {
		return out, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, buildLimit, fmt.Errorf("it did not end within %s", buildLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "./cmd/aicr")
	cmd.Dir = checkout
	// A workspace around the checkout is not its own. The commit is not stamped, which fails where the checkout is
	// another user's, as in a container of a CI job.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK="+workspace(checkout))
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return "", fmt.Errorf("--aicr build: go build ./cmd/aicr in %s: %w%s%s", checkout, err, quoted("it printed", said.String()), buildAdvice(said.String()))
	}
	if info, err := os.Stat(out); err != nil || info.Mode()&0o111 == 0 { // go writes an archive of a package
		return "", errors.Join(fmt.Errorf("--aicr build: %s is no program: its Go files are not of the package main; pass the path of AICR's CLI (--aicr PATH)", filepath.Join(checkout, "cmd", "aicr")), os.RemoveAll(out))
	}
	return out, keep(dir, inputs)
}

// placeOf is the directory of the cache that has the CLI of a checkout.
func placeOf(checkout, commit, cache string) string {
	return filepath.Join(cache, "aicr", fmt.Sprintf("%.16x", sha256.Sum256([]byte(cmp.Or(commit, checkout)))))
}

// workspace is the value of GOWORK for a checkout.
func workspace(checkout string) string {
	file := filepath.Join(checkout, "go.work")
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
		return file
	}
	return "off"
}

// buildAdvice is what to do about what go has printed; empty if nothing is known.
func buildAdvice(said string) string {
	switch {
	case strings.Contains(said, "GOTOOLCHAIN=local"):
		return "\n  Go may not download the version that AICR asks for: install it (actions/setup-go with go-version-file: go.mod of the checkout, in a workflow), or set GOTOOLCHAIN=auto."
	case strings.Contains(said, "build constraints exclude all Go files"):
		return "\n  matrix builds for this machine and without cgo. If AICR's CLI needs it, build it yourself and pass its path (--aicr PATH)."
	}
	return ""
}
