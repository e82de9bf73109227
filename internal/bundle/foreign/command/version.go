package command

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

	"github.com/nvidia/aicr-action/internal/bundle/foreign/machine"
	"github.com/nvidia/aicr-action/internal/util/removal"
)

// versionText matches a version, or what a program says that was built from a checkout.
var versionText = regexp.MustCompile(`\bv?([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?)|\b(?i:(dev)(?:el|elopment)?)\b`)

// Version asks the CLI for its version, first with the command version and then with the flag
// --version, and reads both of its outputs: programs differ in this.
func (c CLI) Version(ctx context.Context, limit time.Duration) (string, error) {
	dir, err := os.MkdirTemp("", "aicr-version-")
	if err != nil {
		return "", err
	}
	defer func() { _ = removal.All(dir) }() // a temporary directory
	var first error
	var printed []string
	ended := false // at least once without an error
	for _, arg := range []string{"version", "--version"} {
		said, err := c.Run(ctx, limit, dir, nil, arg)
		switch {
		case err == nil:
			ended = true
			for _, text := range []string{said.Stdout, said.Stderr} {
				if m := versionText.FindStringSubmatch(text); m != nil {
					return cmp.Or(m[1], strings.ToLower(m[2])), nil
				}
				if text = strings.TrimSpace(text); text != "" {
					printed = append(printed, text)
				}
			}
		case machine.Other(c.Path) != "":
			return "", fmt.Errorf("--aicr %s: %s, which this machine cannot run: it is %s/%s; pass a CLI for it, or --aicr build in a checkout", c.Path, machine.Other(c.Path), runtime.GOOS, runtime.GOARCH)
		case errors.As(err, new(*Overtime)):
			return "", fmt.Errorf("--aicr: ask AICR's CLI for its version: %w", err)
		default:
			first = cmp.Or(first, err)
		}
	}
	if !ended && first != nil {
		return "", fmt.Errorf("--aicr: ask AICR's CLI for its version: %w", first)
	}
	return "", fmt.Errorf("--aicr %s: it prints no version, neither for the command version nor for the flag --version: is this AICR's CLI?%s", c.Path, Quoted("printed", strings.Join(printed, "\n")))
}
