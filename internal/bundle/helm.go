package bundle

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle/statefile"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// helmDeployer makes a directory per component and deploy.sh, which installs them in order. Both majors
// of Helm run the same script. Its lane has the one that helmOf names, or major, if it is set.
type helmDeployer struct{ major int }

var _ Deployer = helmDeployer{}

func (d helmDeployer) Name() string {
	if d.major == 4 {
		return Helm4
	}
	return Helm
}

func (d helmDeployer) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	if d.major > 0 {
		in.Helm = d.major
	}
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, _ *Expectation) error {
		major, _ := HelmOf(Helm, in)
		var steps []helmStep
		for _, r := range p.releases {
			step := helmStepOf(r, in.plainCharts(r.source))
			steps = append(steps, step)
			if r.Local {
				s.addDir(r.Name+"/chart", r.files)
			} else {
				s.add(r.Name+"/values.yaml", r.valuesYAML)
			}
			if err := s.addTemplate(r.Name+"/README.md", 0o644, "helm-component.md.tmpl", step); err != nil {
				return err
			}
		}
		if err := s.addTemplate("deploy.sh", 0o755, "deploy.sh.tmpl", map[string]any{"Recipe": RecipeName(in.Recipe), "Steps": steps, "Force": major == 4}); err != nil {
			return err
		}
		slices.Reverse(steps)
		return s.addTemplate("undeploy.sh", 0o755, "undeploy.sh.tmpl", map[string]any{"Recipe": RecipeName(in.Recipe), "Steps": steps})
	})
}

// HelmMajors are the major versions of Helm that a helm lane can be delivered with.
func HelmMajors() []int { return []int{3, 4} }

// HelmOf is the major version of Helm by which a helm lane delivers, or that helmfile runs, and why: what the
// input asks for; else 4 where the scripts of the bundle, or its files for helmfile, have a setting that only
// Helm 4 knows, or the recipe has the form of July 2026 or later, whose bundles have such scripts (AICR pins
// Helm 4.1); else 3. Files for helmfile need not say for which Helm they are, as the scripts do.
func HelmOf(deployer string, in Input) (major int, why string) {
	if in.Helm > 0 {
		return in.Helm, "--helm, or the lane, asks for it"
	}
	if name := forcing(in); name != "" {
		if deployer == Helmfile {
			return 4, in.Given[name].File + " has forceConflicts, which helmfile passes on to Helm 4 only"
		}
		return 4, "the bundle's scripts pass --force-conflicts, which only Helm 4 knows"
	}
	if (in.Given == nil || deployer == Helmfile) && in.Recipe != nil && document.GenerationOf(in.Recipe.APIVersion) != document.March {
		return 4, "the recipe is " + in.Recipe.APIVersion + ", of an AICR that pins Helm 4"
	}
	return 3, ""
}

// forcing is the first release of another program's bundle that is delivered with --force-conflicts; empty if
// none is.
func forcing(in Input) string {
	for _, name := range slices.Sorted(maps.Keys(in.Given)) {
		if in.Given[name].ForceConflicts {
			return name
		}
	}
	return ""
}

// RunsHelm reports whether a deployer's lane is delivered by Helm of one of HelmMajors.
func RunsHelm(deployer string) bool { return ByHelm(deployer) || deployer == Helmfile }

// helmStep is one line of deploy.sh.
type helmStep struct {
	Release
	Title   string   // the component's display name
	Ref     string   // empty for a chart in the bundle
	Flags   []string // chart flags, in order
	Values  bool     // there is a values.yaml beside the README
	Depends []string
}

func helmStepOf(r *release, plainHTTP bool) helmStep {
	step := helmStep{Release: r.Release, Title: r.component.DisplayName, Values: !r.Local, Depends: r.DependsOn}
	if step.Title == "" {
		step.Title = r.Component
	}
	if r.Local {
		return step
	}
	ref, repo := r.ref()
	step.Ref = ref
	if repo != "" {
		step.Flags = append(step.Flags, "--repo", repo)
	}
	step.Flags = append(step.Flags, "--version", r.ChartVersion)
	if r.oci() && plainHTTP {
		step.Flags = append(step.Flags, "--plain-http")
	}
	return step
}

// helmfileDeployer makes a file for helmfile per level, and the values or the chart of each release.
type helmfileDeployer struct{}

func (helmfileDeployer) Name() string { return Helmfile }

func (d helmfileDeployer) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, _ *Expectation) error {
		var releases []statefile.HelmfileRelease
		major, _ := HelmOf(d.Name(), in)
		for _, r := range p.releases {
			if in.Given[r.Name].ForceConflicts && major < 4 {
				return &ComponentError{Component: r.Component, Origin: r.component.Declared, Problem: "it has forceConflicts, which helmfile rejects with Helm 3: leave out --helm 3, or forceConflicts"}
			}
			releases = append(releases, statefile.HelmfileRelease{Name: r.Name, Namespace: r.Namespace, Component: r.Component, Chart: r.Chart, Version: r.ChartVersion, Source: r.source, Local: r.Local, Carries: r.Carried != "", PlainHTTP: in.plainCharts(r.source), DependsOn: r.DependsOn})
			if r.Local {
				s.addDir(r.Name+"/chart", r.files)
			} else {
				if statefile.HelmfileReference(r.valuesYAML) > 0 {
					return &ComponentError{Component: r.Component, Origin: r.component.Declared, Problem: "one of its values " + statefile.NoReference}
				}
				s.add(r.Name+"/values.yaml", r.valuesYAML)
			}
		}
		var paths []any
		for i, level := range statefile.HelmfileLevels(releases) {
			name := fmt.Sprintf("level-%d.yaml", i)
			paths = append(paths, map[string]any{"path": name})
			if err := s.addYAML(name, statefile.Helmfile(level)); err != nil {
				return err
			}
		}
		return s.addYAML(HelmfileRoot, map[string]any{"helmfiles": paths})
	})
}
