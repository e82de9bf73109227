package aicrcli

// cliinputs.go says whether a CLI that was built before is what a checkout would give now. It reads the files of the
// checkout only.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// mostInput is how much of a checkout is read, in bytes; Go is asked about a larger one.
const mostInput = 1 << 30

// inputsFile has the digest of what the CLI beside it was built from.
const inputsFile = "inputs"

// inputsOf is the digest of all files of a checkout, and of the Go that builds it; empty if something outside of the
// checkout has a part in the CLI, or if it cannot be read.
func inputsOf(ctx context.Context, checkout string) string {
	toolchain := exec.CommandContext(ctx, "go", "version")
	toolchain.Dir = checkout
	version, err := toolchain.Output()
	if err != nil || outside(checkout) {
		return ""
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s/%s\x00", version, runtime.GOOS, runtime.GOARCH) // a hash does not fail
	left := int64(mostInput)
	err = filepath.WalkDir(checkout, func(name string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(checkout, name)
		switch {
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !e.Type().IsRegular():
			_, err := fmt.Fprintf(h, "%s\x00%s\x00", rel, e.Type())
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // opened for reading
		content := sha256.New()
		n, err := io.Copy(content, io.LimitReader(f, left+1))
		if left -= n; err == nil && left < 0 {
			err = errors.New("too large")
		}
		_, _ = fmt.Fprintf(h, "%s\x00%x\x00", rel, content.Sum(nil))
		return err
	})
	if err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// outside reports whether a module of the CLI is in a directory that the checkout does not have, or a symbolic link may lead
// to one.
func outside(checkout string) bool {
	leads := func(path string) bool {
		return filepath.IsAbs(path) || path == ".." || strings.HasPrefix(filepath.ToSlash(filepath.Clean(path)), "../")
	}
	text, err := filesys.Regular(filepath.Join(checkout, "go.mod"), mostFile)
	if err != nil {
		return true
	}
	mod, err := modfile.Parse("go.mod", text, nil) // ParseLax passes over replacements
	if err != nil {
		return true
	}
	for _, r := range mod.Replace {
		if r.New.Version == "" && leads(r.New.Path) {
			return true
		}
	}
	return workspace(checkout) != "off" // whose modules have replacements of their own
}

// kept reports whether the CLI in a directory was built from these inputs.
func kept(dir, inputs string) bool {
	have, err := filesys.Regular(filepath.Join(dir, inputsFile), 1<<10)
	if err != nil || inputs == "" || string(have) != inputs {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, "aicr"))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// keep writes down what the CLI in a directory was built from.
func keep(dir, inputs string) error {
	return filesys.WriteFile(filepath.Join(dir, inputsFile), []byte(inputs), 0o644)
}
