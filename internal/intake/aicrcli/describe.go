package aicrcli

// describe.go says what building AICR's CLI from a checkout takes. It reads files, and starts go and git.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Checkout is what is known of a checkout before its CLI is built.
type Checkout struct {
	// Commit is as git describes it; empty without git.
	Commit string
	// Go is the version that go.mod asks for, and Have that of the go in PATH; empty if there is none.
	Go, Have string
	// Modules are those of go.mod, and Missing how many of them are not downloaded.
	Modules, Missing int
	// Kept: the CLI was built from exactly these files before.
	Kept bool
}

// Describe looks at a checkout. Nothing is downloaded or built.
func Describe(ctx context.Context, checkout, cache string) (Checkout, error) {
	var c Checkout
	text, err := filesys.Regular(filepath.Join(checkout, "go.mod"), mostFile)
	if err != nil {
		return c, err
	}
	mod, err := modfile.Parse(filepath.Join(checkout, "go.mod"), text, nil)
	if err != nil { // of a newer Go
		mod, err = modfile.ParseLax(filepath.Join(checkout, "go.mod"), text, nil)
	}
	if err != nil {
		return c, err
	}
	if mod.Go != nil {
		c.Go = mod.Go.Version
	}
	said := func(name string, args ...string) string {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = checkout
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local") // else it may download one, to say its version
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	c.Commit = said("git", "describe", "--tags", "--always", "--dirty")
	values := strings.Split(said("go", "env", "GOVERSION", "GOMODCACHE"), "\n")
	if len(values) != 2 {
		return c, nil
	}
	c.Have = strings.TrimPrefix(values[0], "go")
	c.Kept = kept(placeOf(checkout, "", cache), inputsOf(ctx, checkout))
	c.Modules = len(mod.Require)
	if _, err := os.Stat(filepath.Join(checkout, "vendor", "modules.txt")); err == nil {
		return c, nil
	}
	for _, r := range mod.Require {
		if replacedIn(mod, r.Mod) {
			continue
		}
		if _, err := os.Stat(filepath.Join(values[1], "cache", "download", escaped(module.EscapePath, r.Mod.Path), "@v", escaped(module.EscapeVersion, r.Mod.Version)+".zip")); errors.Is(err, fs.ErrNotExist) {
			c.Missing++
		}
	}
	return c, nil
}

// replacedIn: another module, or a directory, stands in for this one.
func replacedIn(mod *modfile.File, m module.Version) bool {
	for _, r := range mod.Replace {
		if r.Old.Path == m.Path && (r.Old.Version == "" || r.Old.Version == m.Version) {
			return true
		}
	}
	return false
}

// escaped is a name as the module cache spells it; one that cannot be spelled is not in it.
func escaped(by func(string) (string, error), name string) string {
	text, err := by(name)
	if err != nil {
		return "none"
	}
	return text
}

// String is what is known, in one line.
func (c Checkout) String() string {
	text := "cmd/aicr, go " + c.Go + ", " + lists.Count(c.Modules, "module")
	if c.Commit != "" {
		text = c.Commit + ": " + text
	}
	switch {
	case c.Kept:
		text += "; it is built already"
	case c.Missing > 0:
		text += fmt.Sprintf(", of which %d not downloaded", c.Missing)
	}
	return text
}
