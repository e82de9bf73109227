package aicrcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// spelled are the ways in which a program says which version it is, the surest first: a line may also have the
// version of a library, or of a release that there is to download.
var spelled = []*regexp.Regexp{
	regexp.MustCompile(`(?im)^\W*aicr\b(?:[ \t]+version)?[ \t]*[:=]?[ \t(]+v?([0-9]+\.[0-9][0-9A-Za-z.+-]*|dev(?:el(?:opment)?)?\b)`),
	regexp.MustCompile(`(?im)^\W*version"?[ \t]*[:=]?[ \t"(]*v?([0-9]+\.[0-9][0-9A-Za-z.+-]*|dev(?:el(?:opment)?)?\b)`),
	regexp.MustCompile(`(?i)"version"[ \t]*:[ \t]*"v?([^"\s]+)"`),
	regexp.MustCompile(`(?im)^\W*aicr[ \t]+version[ \t]+v?([0-9A-Za-z][0-9A-Za-z._+-]*)`), // a branch, a commit
}

// anyVersion matches a version wherever it is, or what a program says that was built from a checkout.
var anyVersion = regexp.MustCompile(`\bv?([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)|\b(?i:(dev)(?:el|elopment)?)\b`)

// versionIn is the version that a text says the program is; empty if it says none.
func versionIn(text string) string {
	for _, way := range spelled {
		if m := way.FindStringSubmatch(text); m != nil {
			if strings.HasPrefix(strings.ToLower(m[1]), "dev") {
				return "dev"
			}
			return m[1]
		}
	}
	return ""
}

// Version asks the CLI for its version, first with the command version and then with the flag
// --version, and reads both of its outputs: programs differ in this. Where it does not say that what it
// prints is its version, the first one that it prints is.
func (c CLI) Version(ctx context.Context, limit time.Duration) (string, error) {
	dir, err := os.MkdirTemp("", "aicr-version-")
	if err != nil {
		return "", err
	}
	defer func() { _ = filesys.RemoveTree(dir) }() // a temporary directory
	var first error
	var printed []string
	found := ""
	ended := false // at least once without an error
	for _, arg := range []string{"version", "--version"} {
		said, err := c.Run(ctx, limit, dir, nil, arg)
		switch {
		case err == nil:
			ended = true
			for _, text := range []string{said.Stdout, said.Stderr} {
				if v := versionIn(text); v != "" {
					return v, nil
				}
				if m := anyVersion.FindStringSubmatch(text); m != nil {
					found = cmp.Or(found, m[1], strings.ToLower(m[2]))
				}
				if text = strings.TrimSpace(text); text != "" {
					printed = append(printed, text)
				}
			}
		case otherTarget(c.Path) != "":
			return "", fmt.Errorf("--aicr %s: %s, which this machine cannot run: it is %s/%s; pass a CLI for it, or --aicr build in a checkout", c.Path, otherTarget(c.Path), runtime.GOOS, runtime.GOARCH)
		case errors.As(err, new(*overtime)):
			return "", fmt.Errorf("--aicr: ask AICR's CLI for its version: %w", err)
		default:
			first = cmp.Or(first, err)
		}
	}
	if found != "" {
		return found, nil
	}
	if !ended && first != nil {
		return "", fmt.Errorf("--aicr: ask AICR's CLI for its version: %w", first)
	}
	return "", fmt.Errorf("--aicr %s: it prints no version, neither for the command version nor for the flag --version: is this AICR's CLI?%s", c.Path, quoted("printed", strings.Join(printed, "\n")))
}
