package app

import (
	"fmt"
	"path"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/app/argodir"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// sources lays out what an Application is made of. It may have one source, or that of a chart and
// that of this repository, from which the chart's values are.
func (l *layout) sources(o object) error {
	spec := yamlx.Find(o.node, "spec")
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
				return l.repo.badAt(o, s, "the sources of Application %s are not understood: want that of a chart, and at most one with ref, for its values", o.name())
			}
		}
	}
	if source == nil || source.Kind != yamlv3.MappingNode {
		return l.repo.bad(o, []string{"spec"}, "Application %s has no source of a chart", o.name())
	}
	if values != nil {
		if at := yamlx.Text(values, "repoURL"); !l.repo.own(at) {
			return l.repo.badAt(o, values, "the values of Application %s: %s", o.name(), l.repo.notOwn(at))
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
			return "", l.repo.badAt(o, under(source, "targetRevision"), "chart of Application %s: %w", o.name(), err)
		}
		yamlx.Set(source, "targetRevision", "!!str", v)
		return "", nil
	}
	place := under(source, "path")
	dir := path.Clean(strings.TrimPrefix(at, "/"))
	switch {
	case !l.repo.own(repo):
		return "", l.repo.badAt(o, under(source, "repoURL"), "source of Application %s: %s", o.name(), l.repo.notOwn(repo))
	case at == "" || !l.repo.hasDir(dir):
		return "", l.repo.badAt(o, place, "path %q of Application %s is no directory of this repository", at, o.name())
	}
	l.dirs = append(l.dirs, dir)
	switch {
	case l.repo.has(path.Join(dir, chartFile)):
		if err := l.chart(dir, o.name()+"/chart"); err != nil {
			return "", err
		}
	case l.repo.hasKustomization(dir):
		if err := l.kustomized(o, place, dir); err != nil {
			return "", err
		}
	default:
		if err := l.directory(o, source, dir); err != nil {
			return "", err
		}
	}
	yamlx.Drop(source, "directory")
	yamlx.Set(source, "repoURL", "!!str", ownURL)
	yamlx.Set(source, "targetRevision", "!!str", "HEAD")
	yamlx.Set(source, "path", "!!str", o.name()+"/chart")
	return dir, nil
}

// kustomized lays out what Kustomize makes of an Application's directory as a chart.
func (l *layout) kustomized(o object, place *yamlv3.Node, dir string) error {
	objects, err := l.build(dir, nil)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return l.repo.badAt(o, place, "the kustomization in %s, of Application %s, makes no object: name files under resources", l.repo.shown(dir), o.name())
	}
	l.override("Application %s: what Kustomize makes of %s is delivered as a chart", o.name(), l.repo.shown(dir))
	return l.asChart(o.name(), o.name()+"/chart", objects)
}

// under is the node under a key of a source, or the source.
func under(source *yamlv3.Node, key string) *yamlv3.Node {
	if n := yamlx.Find(source, key); n != nil {
		return n
	}
	return source
}

// manifestFiles gives those of a directory's files that Argo CD reads for a source.
func (l *layout) manifestFiles(o object, source *yamlv3.Node, dir string, names []string) ([]string, error) {
	files, err := argodir.Files(names, dir, yamlx.Find(source, "directory"))
	if err != nil {
		return nil, l.repo.badAt(o, under(source, "directory"), "Application %s: %w", o.name(), err)
	}
	return files, nil
}

// directory lays out a directory of manifests as a chart.
func (l *layout) directory(o object, source *yamlv3.Node, dir string) error {
	names, err := l.repo.walk(dir, nil)
	if err != nil {
		return err
	}
	files, err := l.manifestFiles(o, source, dir, names)
	if err != nil {
		return err
	}
	if _, err := l.repo.objectsIn(files); err != nil {
		return err
	}
	if len(files) == 0 {
		return l.repo.badAt(o, under(source, "path"), "%s, the directory of Application %s, has no Chart.yaml and no manifest", l.repo.shown(dir), o.name())
	}
	l.override("Application %s: the manifests in %s are delivered as a chart", o.name(), l.repo.shown(dir))
	return l.manifests(o.name(), o.name()+"/chart", files)
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
		case dir == "":
			return false, l.repo.badAt(o, item, "values file %s of Application %s is in the chart's archive; want $REF/PATH, a file of this repository", name, o.name())
		case strings.HasPrefix(name, "/"):
			name = strings.TrimPrefix(name, "/")
		default:
			name = path.Join(dir, name)
		}
		name = path.Clean(name)
		if !l.repo.has(name) && mayMiss {
			l.override("Application %s: values file %s is left out: it does not exist, and ignoreMissingValueFiles is set", o.name(), item.Value)
			continue
		}
		if !l.repo.has(name) {
			return false, l.repo.badAt(o, item, "values file %s of Application %s is no file of this repository", item.Value, o.name())
		}
		to := fmt.Sprintf("%s/values/%d-%s", o.name(), i, path.Base(name))
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
