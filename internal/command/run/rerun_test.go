package run

import (
	"io"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/result"
)

// The command that runs a composed recipe again names the data directory of the user.
func TestRerunCommand_Mixin(t *testing.T) {
	f := runFlags{sourceFlags: sourceFlags{recipes: cli.RecipeDirs{Data: "/tmp/matrix-mixins-1"}}, mixins: mixinFlags{data: "mine", composed: true}}
	if got := rerunCommand("matrix", "", result.Cell{Recipe: "a--b", Deployer: "helm"}, f); !strings.Contains(got, "run a--b ") || !strings.Contains(got, "--data mine") {
		t.Errorf("the command that runs it again is %s", got)
	}
}

// The command in a report must run the same cell again, with the same charts and recipes.
func TestRerunCommand(t *testing.T) {
	cell := result.Cell{Recipe: "eks", Deployer: "helm"}
	simulated := []string{cli.Simulated}
	tests := map[string]runFlags{
		"matrix run eks --deployer helm --keep":                                 {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}},
		"matrix run eks --deployer helm --charts simulated --keep":              {sourceFlags: sourceFlags{charts: simulated, usualCharts: []string{charts.UpstreamName}}},
		"matrix run eks --deployer helm --charts ./c --keep":                    {sourceFlags: sourceFlags{charts: []string{"./c"}}},
		"matrix run eks --deployer helm --charts ./c --charts simulated --keep": {sourceFlags: sourceFlags{charts: []string{"./c", "simulated"}}},
		"matrix run eks --deployer helm --charts ./c --recipes-dir ./r --keep":  {sourceFlags: sourceFlags{charts: []string{"./c"}, recipes: cli.RecipeDirs{Recipes: "./r"}}},
		"matrix run eks --deployer helm --recipes-dir ./r --data ./d --keep":    {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated, recipes: cli.RecipeDirs{Recipes: "./r", Data: "./d"}}},
		"matrix run eks --deployer helm --profiles ./p --keep":                  {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated, profiles: "./p"}},
		"matrix run eks --deployer helm --bundler exec --aicr ./aicr --keep":    {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, bundles: bundlerFlags{bundler: execBundler, aicr: "./aicr"}},
		"matrix run eks --deployer helm --bundle-dir ./b --service eks --accelerator h100 --keep": {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, bundles: bundlerFlags{
			bundler: builtinBundler, dir: "./b", service: "eks", accelerator: "h100",
		}},
		"matrix run eks --deployer helm --kubernetes 1.34 --keep":                         {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, platform: platform.Flags{Kubernetes: "1.34"}},
		"matrix run eks --deployer helm --plain-controllers --keep":                       {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, pace: pace{plain: true}},
		"matrix run eks --deployer helm --probes --controller trainer --keep":             {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, afterGate: afterGate{probes: true, controllers: []string{"trainer"}}},
		"matrix run eks --deployer helm --ignore MX102=Job/x/m --only MX101,MX102 --keep": {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, ignored: ignoreFlags{ignore: []string{"MX102=Job/x/m"}, only: []string{"MX101", "MX102"}}},
		"matrix run eks --deployer helm --probes --keep":                                  runFlags{sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, afterGate: afterGate{probes: true, controllers: []string{"trainer"}}}.withControllers(false),
	}
	for want, f := range tests {
		if got := rerunCommand("matrix", "", cell, f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, charts := range map[string][]string{"matrix run eks --deployer helm --keep": {cli.AutoCharts}, "matrix run eks --deployer helm --charts upstream --keep": {"upstream"}} {
		a := &app{App: cli.New(func(string) string { return "" }, io.Discard, io.Discard)}
		f := runFlags{deployers: []string{"helm"}, sourceFlags: sourceFlags{charts: charts, recipes: cli.RecipeDirs{Recipes: cli.InBinary}}, platform: platform.Flags{Cluster: platform.Default().Name}}
		if _, err := a.validateFlags([]string{"eks"}, &f); err != nil {
			t.Fatal(err)
		}
		f.recipes.Recipes = ""
		if got := rerunCommand("matrix", "", cell, f); got != want {
			t.Errorf("charts %q, as every command has them: got %q, want %q", charts, got, want)
		}
	}
	const want = "matrix run eks --deployer helm --charts 'my charts; true' --settings own.yaml --keep"
	if got := rerunCommand("matrix", "own.yaml", cell, runFlags{sourceFlags: sourceFlags{charts: []string{"my charts; true"}}}); got != want {
		t.Errorf("another file of settings, and a name that a shell would read otherwise: got %q, want %q", got, want)
	}
}
