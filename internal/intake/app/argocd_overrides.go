package app

import (
	"errors"
	"path"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// ownPlace are the fields of a source that a file of overrides does not change (mergeSourceParameters
// of Argo CD).
var ownPlace = []string{"chart", "path", "repoURL", "targetRevision"}

// errNoOverrides is about a file of overrides.
var errNoOverrides = errors.New("want one mapping with fields of a source, e.g. helm: Argo CD merges this file into the source of an Application")

// overridden gives an Application with what the files .argocd-source.yaml and
// .argocd-source-NAME.yaml in the directories of its sources set. Argo CD merges them into a source
// when it reads the directory; e.g. its image updater writes them.
func (l *layout) overridden(o object) (object, error) {
	spec := yamlx.Find(o.Node, "spec")
	sources := []*yamlv3.Node{yamlx.Find(spec, "source")}
	if list := yamlx.Find(spec, "sources"); list != nil {
		sources = append(sources, list.Content...)
	}
	for _, source := range sources {
		at := yamlx.Text(source, "path")
		if at == "" || !l.repo.Own(yamlx.Text(source, "repoURL")) {
			continue
		}
		for _, name := range render.ArgoSourceFiles(o.Name()) {
			file := path.Join(path.Clean(strings.TrimPrefix(at, "/")), name)
			if !l.repo.Has(file) {
				continue
			}
			if err := l.mergeFile(o, source, file); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

// mergeFile merges one file into a source.
func (l *layout) mergeFile(o object, source *yamlv3.Node, file string) error {
	content, err := l.repo.Read(file)
	if err != nil {
		return err
	}
	docs, err := yamlx.Documents(content)
	if err != nil || len(docs) > 1 || len(docs) == 1 && (len(docs[0].Content) != 1 || docs[0].Content[0].Kind != yamlv3.MappingNode) {
		return l.repo.BadLine(object{File: file}, 1, errNoOverrides)
	}
	if len(docs) == 0 {
		return nil
	}
	patch := docs[0].Content[0]
	for _, key := range ownPlace {
		yamlx.Drop(patch, key)
	}
	l.placeIn(o, patch, file)
	argoapi.MergePatch(source, patch)
	l.override("Application %s: %s is merged into its source, as Argo CD does", o.Name(), l.repo.Shown(file))
	return nil
}

// placeIn gives the nodes of another file their place in an object.
func (l *layout) placeIn(o object, n *yamlv3.Node, file string) {
	checkout.Renumber(n, func(line int) int { return l.repo.Spot(o, file, line) })
}
