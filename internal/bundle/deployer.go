// Package bundle generates the files by which a deployer delivers a recipe, and the expectation:
// what the cluster must contain afterwards. It knows recipes, Helm charts and the formats of the
// deployers' own objects. It must not know clusters, lanes or a registry that runs. It reads only
// charts, from the source that it is given.
package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Names of the deployers.
const (
	Helm          = "helm"
	ArgoCDOCI     = "argocd-oci"
	ArgoCDHelmOCI = "argocd-helm-oci"
	FluxOCI       = "flux-oci"
	ArgoCDGit     = "argocd-git"
	FluxGit       = "flux-git"
	ArgoCDAppSet  = "argocd-appset"
	Helmfile      = "helmfile"
	Helm4         = "helm-4"
	HelmfileRoot  = "helmfile.yaml" // its file that names those of the levels
)

// GitBranch is the branch that the controllers of a Git deployer read.
const GitBranch = "main"

// row is a row of the table of deployers: all that other packages ask of a deployer by its name.
type row struct {
	deployer Deployer
	// aicr: it is one of AICR's own, which is what "all" means, and since says from which rules of
	// AICR's recipes on. Another one is run when it is asked for by name.
	aicr  bool
	since document.Generation
	// by is whose controllers deliver its bundles.
	by controllers
	// chart: its bundle is itself a Helm chart.
	chart bool
	// git: its bundle is pushed to a Git repository.
	git bool
}

// controllers are those that deliver a bundle, as far as charts see a difference.
type controllers int

const (
	byCaller controllers = iota // no controller: a person or the harness applies the bundle
	byArgoCD
	byFlux
)

// table is the table of deployers, in the order in which they are run and reported.
func table() []row {
	return []row{
		{deployer: helmDeployer{}, aicr: true},
		{deployer: argoOCI{}, aicr: true, by: byArgoCD},
		{deployer: argoHelmOCI{}, aicr: true, by: byArgoCD, chart: true},
		{deployer: argoGit{}, aicr: true, since: document.July, by: byArgoCD, git: true},
		{deployer: fluxOCI{}, aicr: true, by: byFlux},
		{deployer: fluxGit{}, aicr: true, since: document.July, by: byFlux, git: true},
		{deployer: helmfileDeployer{}},
		{deployer: helmTemplate{}},
		{deployer: argoAppSet{}, by: byArgoCD},
		{deployer: helmDeployer{major: 4}},
	}
}

// rowOf returns the row of a deployer by name, or an empty row for an unknown name.
func rowOf(name string) row {
	for _, r := range table() {
		if r.deployer.Name() == name {
			return r
		}
	}
	return row{}
}

// IsChart reports whether a deployer's bundle is itself a Helm chart, which is published as one.
func IsChart(deployer string) bool { return rowOf(deployer).chart }

// ByGit reports whether a deployer's bundle is published in a Git repository, on GitBranch.
func ByGit(deployer string) bool { return rowOf(deployer).git }

// ByFlux reports whether Flux's controllers deliver a deployer's bundle, which is published as
// `flux push artifact` does.
func ByFlux(deployer string) bool { return rowOf(deployer).by == byFlux }

// ByHelm reports whether a deployer's lane is that of Helm's own deploy.sh, of either major version.
func ByHelm(deployer string) bool { return deployer == Helm || deployer == Helm4 }

// ByArgoCD reports whether Argo CD's controllers deliver a deployer's bundle.
func ByArgoCD(deployer string) bool { return rowOf(deployer).by == byArgoCD }

// AICRNames are the names of the deployers that AICR tests recipes of a generation with, in the
// table's order: what "all" stands for.
func AICRNames(g document.Generation) []string {
	var names []string
	for _, r := range table() {
		if r.aicr && r.since <= g {
			names = append(names, r.deployer.Name())
		}
	}
	return names
}

// Deployers are those of the table, all of them.
func Deployers() []Deployer {
	var all []Deployer
	for _, r := range table() {
		all = append(all, r.deployer)
	}
	return all
}

// Names are the names of the deployers, in the table's order.
func Names() []string {
	var names []string
	for _, d := range Deployers() {
		names = append(names, d.Name())
	}
	return names
}

// ByName gives the deployers with those names, in the table's order and each once. A name may be a
// list with commas, and "all" means AICR's own of March. No name at all, and an unknown one, is an
// *unknownDeployerError.
func ByName(names []string) ([]Deployer, error) { return ByNameFor(names, document.March) }

// ByNameFor is ByName for recipes of a generation: "all" means the deployers that AICR has tested
// such recipes with.
func ByNameFor(names []string, g document.Generation) ([]Deployer, error) {
	known := Names()
	wanted := map[string]bool{}
	for _, list := range names {
		for name := range strings.SplitSeq(list, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case name == "all":
				for _, own := range AICRNames(g) {
					wanted[own] = true
				}
			case slices.Contains(known, name):
				wanted[name] = true
			default:
				return nil, &unknownDeployerError{Name: name, Known: known}
			}
		}
	}
	if len(wanted) == 0 {
		return nil, &unknownDeployerError{Name: strings.Join(names, ","), Known: known}
	}
	return slices.DeleteFunc(Deployers(), func(d Deployer) bool { return !wanted[d.Name()] }), nil
}

// build runs what every deployer's Bundle has in common: plan, common files, checksums,
// expectation.
func build(ctx context.Context, in Input, deployer string, write func(p *plan, in Input, s *fileSet, e *Expectation) error) (*Bundle, error) {
	p, err := planOf(ctx, in, deployer)
	if err != nil {
		return nil, fmt.Errorf("%s bundle: %w", deployer, err)
	}
	if in.TargetRevision == "" {
		in.TargetRevision = Tag(deployer, Revision(in))
	}
	e := p.expectation
	e.Workloads = slices.Clone(e.Workloads) // other lanes share the plan, and what is found out about a bundle is written into its workloads
	s := &fileSet{}
	if err := write(p, in, s, &e); err != nil {
		return nil, fmt.Errorf("%s bundle: %w", deployer, err)
	}
	if err := s.addYAML("recipe.yaml", in.Recipe); err != nil {
		return nil, fmt.Errorf("%s bundle: %w", deployer, err)
	}
	page := deployer
	if ByHelm(deployer) {
		page = Helm
	}
	if err := s.addTemplate("README.md", 0o644, page+".md.tmpl", readme{
		Recipe: RecipeName(in.Recipe), Deployer: deployer, Input: in, Releases: releaseRows(p.releases),
		Ref:       strings.TrimPrefix(in.RepoURL, "oci://") + ":" + in.TargetRevision,
		Overrides: e.Overrides, Warnings: e.Warnings,
	}); err != nil {
		return nil, fmt.Errorf("%s bundle: %w", deployer, err)
	}
	files, err := s.finish()
	if err != nil {
		return nil, fmt.Errorf("%s bundle: %w", deployer, err)
	}
	b := &Bundle{Deployer: deployer, Files: files, Charts: p.charts, Expectation: e}
	b.Helm, b.HelmWhy = HelmOf(deployer, in)
	for _, r := range p.releases {
		inst := Install{Release: r.Release, Chart: r.chart, Sources: r.sources, ForceConflicts: in.Given == nil && b.Helm == 4 || in.Given[r.Name].ForceConflicts}
		if r.values != nil {
			inst.Values = copyMap(r.values) // the others' bundles have the same
		}
		inst.Ref, inst.RepoURL = r.ref()
		b.Installs = append(b.Installs, inst)
	}
	return b, nil
}

// readme is what templates/*.md.tmpl see.
type readme struct {
	Recipe, Deployer string
	Ref              string // where the bundle is published, without oci://
	Input            Input
	Releases         []releaseRow
	Overrides        []string
	Warnings         []string
}

type releaseRow struct {
	Release
	Source string // where the chart comes from, unless it is in the bundle
	After  string
}

func releaseRows(releases []*release) []releaseRow {
	var rows []releaseRow
	for _, r := range releases {
		rows = append(rows, releaseRow{Release: r.Release, Source: r.source, After: strings.Join(r.DependsOn, ", ")})
	}
	return rows
}
