package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/result"
)

// invocation is how the user called this program.
func invocation() string {
	if self, err := os.Executable(); err == nil && strings.Contains(filepath.ToSlash(self), "/go-build") {
		return "go run ./cmd/matrix" // a temporary binary, which no longer exists when the user reads this
	}
	return displayName(os.Args[0])
}

// displayName is what the user types for a program: a plugin of kubectl is called through it.
func displayName(program string) string {
	if name, plugin := strings.CutPrefix(filepath.Base(program), "kubectl-"); plugin && name == "matrix" {
		return "kubectl matrix"
	}
	return "matrix"
}

// rerunCommand is the command that runs a cell again as it was run; self is how to call this
// program, settings the file of --settings, if any.
func rerunCommand(self, settings string, c result.Cell, f runFlags) string {
	parts := []string{"run", c.Recipe, "--deployer", c.Deployer}
	if !slices.Equal(f.charts, f.usualCharts) {
		for _, source := range f.charts {
			parts = append(parts, "--charts", source)
		}
	}
	if f.recipes.Recipes != "" {
		parts = append(parts, "--recipes-dir", f.recipes.Recipes)
	}
	if f.recipes.Data != "" {
		parts = append(parts, "--data", f.recipes.Data)
	}
	for _, source := range f.recipes.Sources {
		parts = append(parts, "--kustomize-source", source)
	}
	if strict := f.recipes.Strict.String(); strict != "" {
		parts = append(parts, "--strict-fields="+strict)
	}
	if f.profiles != "" {
		parts = append(parts, "--profiles", f.profiles)
	}
	if f.checks {
		parts = append(parts, "--checks")
	}
	if f.probes {
		parts = append(parts, "--probes")
	}
	for _, name := range asked(f.controllers, nil) {
		parts = append(parts, "--controller", name)
	}
	if f.validate != "" {
		parts = append(parts, "--validate="+f.validate)
	}
	if f.remove {
		parts = append(parts, "--remove")
	}
	if f.drift {
		parts = append(parts, "--drift")
	}
	if f.chaos != "" {
		parts = append(parts, "--chaos", f.chaos)
	}
	if f.plain {
		parts = append(parts, "--"+plainFlag)
	}
	if c.From != "" {
		parts = append(parts, f.before.rerun()...)
	}
	parts = append(parts, f.ignored.rerun()...)
	parts = append(parts, f.platform.rerun()...)
	parts = append(parts, f.bundles.rerun()...)
	if settings != "" {
		parts = append(parts, "--"+cli.SettingsFlag, settings)
	}
	for _, word := range append(parts, "--keep") {
		self += " " + shellescape.Quote(word)
	}
	return self
}
