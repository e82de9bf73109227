package run

import (
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/result"
)

// rerunCommand is the command that runs a cell again as it was run; self is how to call this
// program, settings the file of --settings, if any.
func rerunCommand(self, settings string, c result.Cell, f runFlags) string {
	parts := []string{"run", c.Recipe, "--deployer", c.Deployer}
	if f.helmMajor > 0 && slices.ContainsFunc(strings.Split(c.Deployer, ","), chosenHelm) {
		parts = append(parts, "--"+helmFlag, strconv.Itoa(f.helmMajor))
	}
	if !slices.Equal(f.charts, f.usualCharts) {
		for _, source := range f.charts {
			parts = append(parts, "--charts", source)
		}
	}
	if f.recipes.Recipes != "" {
		parts = append(parts, "--recipes-dir", f.recipes.Recipes)
	}
	if data := f.mixins.dataOf(f.recipes.Data); data != "" {
		parts = append(parts, "--data", data)
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
	for _, name := range platform.Asked(f.controllers, nil) {
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
		parts = append(parts, f.before.rerun(c)...)
	}
	parts = append(parts, f.ignored.rerun()...)
	parts = append(parts, f.platform.Rerun()...)
	parts = append(parts, f.bundles.rerun()...)
	if settings != "" {
		parts = append(parts, "--"+cli.SettingsFlag, settings)
	}
	for _, word := range append(parts, "--keep") {
		self += " " + shellescape.Quote(word)
	}
	return self
}
