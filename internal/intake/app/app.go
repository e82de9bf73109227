// Package app lays out what a GitOps repository deploys as a bundle: Applications of Argo CD,
// HelmReleases and Kustomizations of Flux, a helmfile, one chart with values, or plain manifests.
// Objects are kept as they are,
// except for what only fits the cluster that they were written for; each such change is an override.
// It reads files of one checkout, runs nothing and reaches no network. It must not know recipes of
// AICR, clusters or lanes.
package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/statefile"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// App is what a path of a repository deploys.
type App struct {
	// Deployer is the name of the lane that takes it where the user names none.
	Deployer string
	// Namespace is that of a chart; empty for Helm's default.
	Namespace string
	// Environment is that of a helmfile; empty for helmfile's default.
	Environment string
	// Cluster is what the cluster has besides; nil for nothing.
	Cluster *ClusterFile
	// UnsetIsEmpty: a variable that nothing sets is empty, as with Flux before 2.9, and no failure.
	UnsetIsEmpty bool
	// Without are the names of the apps that are left out, since their charts, or those of what they depend on, cannot be had.
	Without []string
	// Changed are the names of the apps that have changed since Since, which alone are delivered, with what they depend on;
	// nil for all. Since is the source that the user named.
	Changed []string
	Since   string
	// Select are patterns of the apps that are delivered, of a path that has several; none: all.
	Select []string

	name     string
	repo     *repository
	objects  []object // none for a chart
	chart    string   // the chart's directory in the repository; empty for objects
	values   []string // files for it
	helmfile string   // the file in the repository; empty for anything else
	plain    bool     // objects are manifests that no deployer's object names
	idle     idle     // of what Kustomize made objects of
}

// The objects of a checkout.
type (
	repository = checkout.Repository
	object     = checkout.Object
	fluxPatch  = checkout.Patch
)

const (
	chartFile         = "Chart.yaml"
	kustomizationFile = "kustomization.yaml"
)

const groupArgoCD = "argoproj.io"

// FindApp reads what is at a path: a directory with a Chart.yaml is a chart, and values are the files of
// values for it; a helmfile.yaml, or a directory with one, is helmfile's; a directory with a
// kustomization.yaml is what Kustomize makes of it; any other directory or file has objects of Argo CD
// or of Flux, or manifests without either. Errors name file and line.
func FindApp(ctx context.Context, at string, values []string) (*App, error) {
	repo, rel, err := checkout.Open(at)
	if err == nil {
		err = repo.Shared()
	}
	if err != nil {
		return nil, fmt.Errorf("read the app in %s: %w", at, err)
	}
	file := strings.TrimSuffix(path.Base(rel), statefile.Template)
	a := &App{repo: repo, name: strings.TrimSuffix(file, path.Ext(file))}
	if rel == "." {
		a.name = filepath.Base(repo.Root)
	}
	if repo.Has(path.Join(rel, chartFile)) {
		a.Deployer, a.chart, a.values = bundle.Helm, rel, values
		l := newLayout(ctx, repo)
		defer l.by.close()
		objects, err := l.deployers(a)
		if err == nil {
			err = a.forDeployer(objects)
		}
		return a, err
	}
	if a.helmfile, err = helmfileOf(repo, rel); err != nil {
		return nil, err
	}
	if len(values) > 0 {
		return nil, fmt.Errorf("--values is for a chart, and %s has no %s", at, chartFile)
	}
	if a.helmfile != "" {
		a.Deployer = bundle.Helmfile
		return a, nil
	}
	if repo.HasKustomization(rel) {
		l := newLayout(ctx, repo)
		defer l.by.close()
		a.objects, err = l.build(rel, overlay{})
		a.idle = l.idle
	} else {
		a.objects, err = repo.Objects(rel)
	}
	if err != nil {
		return nil, err
	}
	if err := a.forDeployer(a.objects); err != nil || a.Deployer != "" {
		return a, err
	}
	a.Deployer, a.plain = bundle.Helm, true
	if inner := a.kustomizations(); !repo.HasKustomization(rel) && len(inner) > 0 {
		return nil, fmt.Errorf("%s has no kustomization.yaml, and directories in it have: pass the path of one, e.g. %s", at, strings.Join(lists.AtMost(inner, 5), ", "))
	}
	if len(a.objects) == 0 {
		others := ""
		if all := a.chartsBelow(rel); len(all) > 0 {
			others = fmt.Sprintf("; of the charts below it (%s) pass the path of one, or write a %s that names several with their values", strings.Join(lists.AtMost(all, 5), ", "), bundle.HelmfileRoot)
		}
		return nil, fmt.Errorf("%s has no %s, no %s, and no object of Kubernetes%s", at, chartFile, bundle.HelmfileRoot, others)
	}
	return a, nil
}

// chartsBelow are the directories of charts below a directory, as people name them, without charts in charts.
func (a *App) chartsBelow(dir string) (all []string) {
	_, err := a.repo.Walk(dir, func(name string) bool {
		is := a.repo.Has(path.Join(name, chartFile))
		if is {
			all = append(all, a.repo.Shown(name))
		}
		return is || strings.HasPrefix(path.Base(name), ".")
	})
	if err != nil {
		return nil
	}
	return all
}

// forDeployer makes the app one of the deployer that objects are for, if there is one.
func (a *App) forDeployer(objects []object) error {
	switch argo, flux := ofDeployers(objects); {
	case argo != nil && flux != nil:
		return a.repo.Bad(*flux, nil, "%s %s is Flux's, and %s has an Application of Argo CD: one lane delivers one of both; pass the path of one", flux.Kind(), flux.Name(), a.repo.At(*argo))
	case argo != nil:
		a.Deployer = bundle.ArgoCDGit
	case flux != nil:
		a.Deployer = bundle.FluxGit
	}
	return nil
}

// ofDeployers gives the first object of Argo CD that delivers, and the first of Flux; nil without one.
func ofDeployers(objects []object) (argo, flux *object) {
	for i := range objects {
		switch o := &objects[i]; {
		case argo == nil && ofArgoCD(*o):
			argo = o
		case flux == nil && (o.Group() == groupHelm && o.Kind() == kindRelease || o.Group() == groupKustomize && o.Kind() == kindKustomization):
			flux = o
		}
	}
	return argo, flux
}

// Before is an older state of the app at another path: it has the app's name, which is that of what delivers it, and what the
// user has said of it.
func (a *App) Before(ctx context.Context, at string) (*App, error) {
	old, err := FindApp(ctx, at, a.values)
	if err != nil {
		return nil, err
	}
	if a.Cluster != nil {
		a.repo.Lend(old.repo, slices.Collect(maps.Values(a.Cluster.Repositories)))
	}
	old.name, old.Namespace, old.Environment, old.Cluster, old.Select, old.Changed, old.Since = a.name, a.Namespace, a.Environment, a.Cluster, a.Select, a.Changed, a.Since
	return old, nil
}

// At is a path in the app's repository, named from the repository's root, and whether it is in there.
func (a *App) At(name string) (string, bool) {
	full, err := filepath.Abs(name)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(a.repo.Root, full)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// Same reports whether the app's repository has the same at a path as that of another app: a file, or the files of a
// directory.
func (a *App) Same(other *App, at string) bool {
	if !a.repo.HasDir(at) {
		x, err := a.repo.Read(at)
		y, other := other.repo.Read(at)
		return err == nil && other == nil && bytes.Equal(x, y)
	}
	mine, err := a.repo.Walk(at, nil)
	theirs, wrong := other.repo.Walk(at, nil)
	return err == nil && wrong == nil && slices.Equal(mine, theirs) && !slices.ContainsFunc(mine, func(name string) bool { return !a.Same(other, name) })
}

// IsHelmfile reports whether the app is a helmfile, which has environments.
func (a *App) IsHelmfile() bool { return a.helmfile != "" }

// IsChart reports whether the app is one chart, which has a release of its own.
func (a *App) IsChart() bool { return a.chart != "" }

// Name is a name for the app, from its path.
func (a *App) Name() string {
	r := &recipe.Result{}
	r.Metadata.Name = a.name
	return bundle.RecipeName(r)
}

// Open lays the app out as a bundle for a deployer's lane.
func (a *App) Open(ctx context.Context, d bundle.Deployer) (*intake.Bundle, error) {
	l := newLayout(ctx, a.repo)
	defer l.by.close()
	l.unsetIsEmpty = a.UnsetIsEmpty
	if l.cluster = a.Cluster; l.cluster == nil {
		l.cluster = &ClusterFile{}
	}
	if err := a.repo.WithOthers(l.cluster.Repositories); err != nil {
		return nil, fmt.Errorf("--cluster-file: %w", err)
	}
	l.selects = newSelection(a.Select)
	l.selects.without, l.selects.changed = a.Without, a.Changed
	l.idle.merge(a.idle)
	var err error
	if a.chart != "" && a.Deployer != bundle.Helm && !bundle.ByHelm(d.Name()) {
		if err = l.chartFor(a); err != nil {
			return nil, err
		}
	}
	switch {
	case len(a.Select) > 0 && (a.plain || a.Deployer == bundle.Helm):
		return nil, fmt.Errorf("--select chooses among Applications, HelmReleases and releases of helmfile, and %s is one app", a.shown())
	case bundle.ByHelm(d.Name()) && a.chart != "":
		err = l.release(a)
	case a.plain:
		err = l.plain(a, d.Name())
	case d.Name() == bundle.Helmfile && a.helmfile != "":
		err = l.helmfile(a)
	case (d.Name() == bundle.ArgoCDGit || d.Name() == bundle.ArgoCDOCI) && a.Deployer == bundle.ArgoCDGit:
		err = l.applications(a)
	case (d.Name() == bundle.FluxGit || d.Name() == bundle.FluxOCI) && a.Deployer == bundle.FluxGit:
		err = l.flux(a, d.Name())
	default:
		err = fmt.Errorf("%s is for the lane %s, and not for %s", a.shown(), a.Deployer, d.Name())
	}
	if err == nil {
		err = l.selects.check()
	}
	if err != nil {
		return nil, err
	}
	if l.selects.left > 0 {
		var by []string
		if len(a.Select) > 0 {
			by = append(by, "--select "+strings.Join(a.Select, ", "))
		}
		if a.Changed != nil {
			by = append(by, "--changed-since "+a.Since)
		}
		l.override("%s left out (%s)", lists.Count(l.selects.left, "app"), strings.Join(by, "; "))
	}
	dir, err := os.MkdirTemp("", "matrix-app-")
	if err != nil {
		return nil, err
	}
	l.Idle = l.idle.all()
	b, err := l.open(ctx, dir, a.shown(), d)
	return b, errors.Join(err, os.RemoveAll(dir))
}

// shown is the app's path for people.
func (a *App) shown() string {
	if a.helmfile != "" {
		return a.repo.Shown(a.helmfile)
	}
	if a.chart != "" {
		return a.repo.Shown(a.chart)
	}
	return a.repo.Shown(a.repo.Start)
}

// layout is a bundle in the making.
type layout struct {
	repo                   *repository
	cluster                *ClusterFile
	selects                *selection
	by                     *builder
	files                  map[string][]byte
	places                 map[string]intake.UserAppPlace
	size                   int
	overrides, notVerified []string
	unsetIsEmpty           bool     // variables of Kustomizations
	others                 []object // beside Applications
	projectless            []object // Applications whose project no file has
	projectsMade           []object // AppProjects that Kustomize or a chart makes
	applied                []object // by Flux
	dirs                   []string // of Applications' sources
	intake.UserAppExtra
	gated string          // the file that has Argo CD wait for Applications in sync waves
	left  map[string]bool // Applications of repositories that are not here
	idle  idle
}

func newLayout(ctx context.Context, r *repository) *layout {
	return &layout{repo: r, cluster: &ClusterFile{}, selects: newSelection(nil), by: &builder{ctx: ctx}, left: map[string]bool{}, idle: idle{builds: map[string]int{}, of: map[string]*idleEntry{}}, UserAppExtra: intake.UserAppExtra{After: map[string][]string{}, Projects: map[string]argoapi.Member{}}, files: map[string][]byte{}, places: map[string]intake.UserAppPlace{}}
}

func (l *layout) override(format string, args ...any) {
	l.overrides = append(l.overrides, "app: "+fmt.Sprintf(format, args...))
}

func (l *layout) unknown(format string, args ...any) {
	l.notVerified = append(l.notVerified, "app: "+fmt.Sprintf(format, args...))
}

// add puts a file of the repository, with this content, into the bundle.
func (l *layout) add(name, from string, content []byte, lines map[int]int) error {
	if l.size += len(content); l.size > checkout.MostBytes || len(l.files) >= checkout.MostFiles {
		return fmt.Errorf("%s needs more than %d files or %d MiB", l.repo.Shown(l.repo.Start), checkout.MostFiles, checkout.MostBytes>>20)
	}
	l.files[name] = content
	l.places[name] = intake.UserAppPlace{File: l.repo.Shown(from), Lines: lines}
	return nil
}

// copy puts a file of the repository into the bundle.
func (l *layout) copy(name, from string) error {
	content, err := l.repo.Read(from)
	if err != nil {
		return err
	}
	return l.add(name, from, content, nil)
}

// put writes a document that was changed. Its lines are those of the file that it is from.
func (l *layout) put(name string, o object) error {
	content, err := yamlx.Encode([]*yamlv3.Node{o.Node})
	if err != nil {
		return l.repo.Bad(o, nil, "it cannot be written again: %w", err)
	}
	docs, err := yamlx.Documents(content)
	if err != nil || len(docs) != 1 {
		return l.repo.Bad(o, nil, "it cannot be written again: %w", err)
	}
	return l.numbered(name, o, content, docs[0].Content[0])
}

// numbered adds a file that was written from an object, with the lines of the files that it is from.
func (l *layout) numbered(name string, o object, content []byte, now *yamlv3.Node) error {
	lines := map[int]int{}
	checkout.Number(now, o.Node, lines)
	elsewhere := map[int]recipe.Origin{}
	for at, line := range lines {
		if file, line := l.repo.Place(o, line); file != o.File {
			elsewhere[at] = recipe.Origin{File: l.repo.Shown(file), Line: line}
			delete(lines, at)
		}
	}
	if err := l.add(name, o.File, content, lines); err != nil {
		return err
	}
	p := l.places[name]
	p.Elsewhere = elsewhere
	l.places[name] = p
	return nil
}

// open writes the bundle to a directory and opens it.
func (l *layout) open(ctx context.Context, dir, called string, d bundle.Deployer) (*intake.Bundle, error) {
	for name, content := range l.files {
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("%q cannot be a file of a bundle", name)
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, err
		}
	}
	return intake.OpenLaid(ctx, intake.Laid{Dir: dir, Called: called, Places: l.places, Overrides: lists.Unique(l.overrides), NotVerified: l.notVerified, UserAppExtra: l.UserAppExtra}, d)
}
