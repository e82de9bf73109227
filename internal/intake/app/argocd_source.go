package app

import (
	"errors"
	"fmt"
	"path"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// sources lays out what an Application is made of. It may have one source, or that of a chart and
// that of this repository, from which the chart's values are.
func (l *layout) sources(o object) error {
	spec := yamlx.Find(o.Node, "spec")
	source, list := yamlx.Find(spec, "source"), yamlx.Find(spec, "sources")
	var values *yamlv3.Node
	if list != nil && list.Kind == yamlv3.SequenceNode {
		for _, s := range list.Content {
			switch isValues := yamlx.Text(s, "ref") != ""; {
			case isValues && values == nil && yamlx.Text(s, "path")+yamlx.Text(s, "chart") == "":
				values = s
			case !isValues && source == nil:
				source = s
			default:
				return l.repo.BadAt(o, s, "the sources of Application %s are not understood: want that of a chart, and at most one with ref, for its values", o.Name())
			}
		}
	}
	if source == nil || source.Kind != yamlv3.MappingNode {
		return l.repo.Bad(o, []string{"spec"}, "Application %s has no source of a chart", o.Name())
	}
	if values != nil {
		if at := yamlx.Text(values, "repoURL"); !l.repo.Own(at) {
			return l.repo.BadAt(o, values, "the values of Application %s: %s", o.Name(), l.repo.NotOwn(at))
		}
	}
	dir, err := l.source(o, source)
	if err != nil {
		return err
	}
	used, err := l.valueFiles(o, source, values, dir)
	if err != nil {
		return err
	}
	if used {
		yamlx.Set(values, "repoURL", "!!str", ownURL)
		yamlx.Set(values, "targetRevision", "!!str", "HEAD")
		return nil
	}
	yamlx.Drop(spec, "sources")
	if yamlx.Find(spec, "source") == nil {
		spec.Content = append(spec.Content, scalar("source"), source)
	}
	return nil
}

// source lays out the directory of an Application's source, and returns it; empty for a chart from
// elsewhere.
func (l *layout) source(o object, source *yamlv3.Node) (string, error) {
	repo, at := yamlx.Text(source, "repoURL"), yamlx.Text(source, "path")
	isOCI := strings.HasPrefix(repo, "oci://") && (at == "" || path.Clean(at) == ".")
	if yamlx.Text(source, "chart") != "" || isOCI {
		if !strings.Contains(repo, "://") { // how Argo CD names an OCI registry
			yamlx.Set(source, "repoURL", "!!str", "oci://"+repo)
		}
		v, err := version(yamlx.Text(source, "targetRevision"))
		if err != nil {
			return "", l.repo.BadAt(o, under(source, "targetRevision"), "chart of Application %s: %w", o.Name(), err)
		}
		yamlx.Set(source, "targetRevision", "!!str", v)
		return "", nil
	}
	place := under(source, "path")
	dir := path.Clean(strings.TrimPrefix(at, "/"))
	switch {
	case !l.repo.Own(repo):
		return "", l.repo.BadAt(o, under(source, "repoURL"), "source of Application %s: %s", o.Name(), l.repo.NotOwn(repo))
	case at == "" || !l.repo.HasDir(dir):
		return "", l.repo.BadAt(o, place, "path %q of Application %s is no directory of this repository%s", at, o.Name(), l.repo.Only())
	}
	l.dirs = append(l.dirs, dir)
	by, err := l.madeBy(o, source, dir)
	if err != nil {
		return "", err
	}
	switch by {
	case byHelm:
		if err := l.chart(dir, o.Name()+"/chart"); err != nil {
			return "", err
		}
	case byKustomize:
		if err := l.kustomized(o, source, dir); err != nil {
			return "", err
		}
	default:
		if err := l.directory(o, source, dir); err != nil {
			return "", err
		}
	}
	yamlx.Drop(source, "kustomize")
	yamlx.Drop(source, "directory")
	yamlx.Set(source, "repoURL", "!!str", ownURL)
	yamlx.Set(source, "targetRevision", "!!str", "HEAD")
	yamlx.Set(source, "path", "!!str", o.Name()+"/chart")
	return dir, nil
}

// What makes the objects of a source that is a directory, by the fields of sources.
const (
	byHelm      = "helm"
	byKustomize = "kustomize"
	byDirectory = "directory"
)

// madeBy is what makes the objects of a directory: what the source has a field for, and otherwise what the directory has a
// file for, first Kustomize, as the repo-server decides it (ExplicitType and discovery.AppType). It is an error if a source has fields
// for two, or the directory has not the file.
func (l *layout) madeBy(o object, source *yamlv3.Node, dir string) (string, error) {
	var said []string
	for _, by := range []string{byHelm, byKustomize, byDirectory} {
		if n := yamlx.Find(source, by); n != nil && n.Tag != "!!null" {
			said = append(said, by)
		}
	}
	kustomized, chart := l.repo.HasKustomization(dir), l.repo.Has(path.Join(dir, chartFile))
	switch {
	case len(said) > 1:
		return "", l.repo.BadAt(o, yamlx.Find(source, said[1]), "Application %s sets %s, and Argo CD takes one of them for a source: remove the other", o.Name(), lists.And(said))
	case len(said) == 1 && said[0] == byKustomize && !kustomized:
		return "", l.repo.BadAt(o, yamlx.Find(source, byKustomize), "Application %s sets kustomize, and %s has no kustomization.yaml: Argo CD fails", o.Name(), l.repo.Shown(dir))
	case len(said) == 1 && said[0] == byHelm && !chart:
		return "", l.repo.BadAt(o, yamlx.Find(source, byHelm), "Application %s sets helm, and %s has no Chart.yaml: Argo CD fails", o.Name(), l.repo.Shown(dir))
	case len(said) == 1:
		return said[0], nil
	case kustomized:
		return byKustomize, nil
	case chart:
		return byHelm, nil
	}
	return byDirectory, nil
}

// kustomized lays out what Kustomize makes of an Application's directory as a chart.
func (l *layout) kustomized(o object, source *yamlv3.Node, dir string) error {
	objects, err := l.builtFor(o, source, dir)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return l.repo.BadAt(o, under(source, "path"), "the kustomization in %s, of Application %s, makes no object: name files under resources", l.repo.Shown(dir), o.Name())
	}
	l.unplaced(o, objects)
	l.override("Application %s: what Kustomize makes of %s is delivered as a chart", o.Name(), l.repo.Shown(dir))
	return l.asChart(o.Name(), o.Name()+"/chart", objects)
}

// under is the node under a key of a source, or the source.
func under(source *yamlv3.Node, key string) *yamlv3.Node {
	if n := yamlx.Find(source, key); n != nil {
		return n
	}
	return source
}

// manifestFiles gives those of a directory's files that Argo CD reads for a source.
func (l *layout) manifestFiles(o object, source *yamlv3.Node, dir string) ([]string, error) {
	names, err := l.repo.Walk(dir, nil)
	if err != nil {
		return nil, err
	}
	files, err := argoapi.DirectoryFiles(names, dir, yamlx.Find(source, "directory"), l.repo.Read)
	if wrong := (*argoapi.DirectoryError)(nil); errors.As(err, &wrong) {
		return nil, &recipe.FileError{File: l.repo.Shown(wrong.File), Line: wrong.Line, Err: fmt.Errorf("the directory of Application %s: %w", o.Name(), wrong.Err)}
	}
	if err != nil {
		return nil, l.repo.BadAt(o, under(source, "directory"), "Application %s: %w", o.Name(), err)
	}
	return files, nil
}

// directory lays out a directory of manifests as a chart.
func (l *layout) directory(o object, source *yamlv3.Node, dir string) error {
	files, err := l.manifestFiles(o, source, dir)
	if err != nil {
		return err
	}
	objects, err := l.repo.ObjectsIn(files)
	if err != nil {
		return err
	}
	l.unplaced(o, objects)
	if len(files) == 0 {
		return l.repo.BadAt(o, under(source, "path"), "%s, the directory of Application %s, has no Chart.yaml and no manifest", l.repo.Shown(dir), o.Name())
	}
	l.override("Application %s: the manifests in %s are delivered as a chart", o.Name(), l.repo.Shown(dir))
	return l.manifests(o.Name(), o.Name()+"/chart", files)
}

// valueFiles lays out the files of values that a source names. used: they are of the source values,
// which the Application then needs.
func (l *layout) valueFiles(o object, source, values *yamlv3.Node, dir string) (used bool, err error) {
	helm := yamlx.Find(source, "helm")
	yamlx.Drop(helm, "skipTests") // Argo CD creates no tests of Helm
	mayMiss := yamlx.Text(helm, "ignoreMissingValueFiles") == "true"
	yamlx.Drop(helm, "ignoreMissingValueFiles")
	files := yamlx.Find(helm, "valueFiles")
	if files == nil || files.Kind != yamlv3.SequenceNode {
		return false, nil
	}
	var there []*yamlv3.Node
	for i, item := range files.Content {
		name, byRef := item.Value, false
		switch {
		case values != nil && strings.HasPrefix(name, "$"+yamlx.Text(values, "ref")+"/"):
			name, byRef = strings.TrimPrefix(name, "$"+yamlx.Text(values, "ref")+"/"), true
		case values != nil && strings.HasPrefix(name, "$") && strings.Contains(name, "/"):
			return false, l.repo.BadAt(o, item, "values file %s of Application %s: no source has the ref %s; there is $%s", name, o.Name(), name[:strings.Index(name, "/")], yamlx.Text(values, "ref"))
		case dir == "":
			return false, l.repo.BadAt(o, item, "values file %s of Application %s is in the chart's archive; want $REF/PATH, a file of this repository", name, o.Name())
		case strings.HasPrefix(name, "/"):
			name = strings.TrimPrefix(name, "/")
		default:
			name = path.Join(dir, name)
		}
		name = path.Clean(name)
		if !l.repo.Has(name) && mayMiss {
			l.override("Application %s: values file %s is left out: it does not exist, and ignoreMissingValueFiles is set", o.Name(), item.Value)
			continue
		}
		if !l.repo.Has(name) {
			return false, l.repo.BadAt(o, item, "values file %s of Application %s is no file of this repository%s", item.Value, o.Name(), l.repo.Only())
		}
		to := fmt.Sprintf("%s/values/%d-%s", o.Name(), i, path.Base(name))
		if err := l.copy(to, name); err != nil {
			return false, err
		}
		item.Value, item.Style = "/"+to, 0
		if dir == "" && byRef {
			item.Value, used = "$"+yamlx.Text(values, "ref")+"/"+to, true
		}
		there = append(there, item)
	}
	if files.Content = there; len(there) == 0 {
		yamlx.Drop(helm, "valueFiles")
	}
	return used, nil
}
