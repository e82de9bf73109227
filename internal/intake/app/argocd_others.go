package app

// argocd_others.go is about sources of Applications in Git repositories other than this checkout, as flux_others.go is about
// those of Flux. It must not know lanes.

import (
	"path"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// ofOthers gives the sources of an Application that are in another repository the directory of this checkout that has its
// files. It reports whether the Application is left out, since one of them is not here.
func (l *layout) ofOthers(o object) (left bool) {
	spec := yamlx.Find(o.Node, "spec")
	sources := []*yamlv3.Node{yamlx.Find(spec, "source")}
	if list := yamlx.Find(spec, "sources"); list != nil {
		sources = append(sources, list.Content...)
	}
	for _, source := range sources {
		address := yamlx.Text(source, "repoURL")
		if source == nil || yamlx.Text(source, "chart") != "" || strings.HasPrefix(address, "oci://") {
			continue
		}
		dir, said := l.repo.Elsewhere(address)
		if !said && (address == "" || l.repo.Own(address) || !l.cluster.lacks(address)) {
			continue // one of another repository is refused where it is read
		}
		if dir == "" {
			l.override("Application %s (%s) is left out: the cluster file says that its repository %s is not here", o.Name(), l.repo.At(o), address)
			l.unknown("Application %s (%s): what it delivers from %s, and whether that is there before what needs it", o.Name(), l.repo.At(o), address)
			return true
		}
		l.override("Application %s (%s): %s is the repository %s, by the cluster file", o.Name(), l.repo.At(o), l.repo.Shown(dir), address)
		if at := yamlx.Text(source, "path"); at != "" {
			yamlx.Set(source, "path", "!!str", path.Join(dir, at))
			within(source, "/", "/"+dir+"/")
		}
		if ref := yamlx.Text(source, "ref"); ref != "" {
			for _, other := range sources {
				within(other, "$"+ref+"/", "$"+ref+"/"+dir+"/")
			}
		}
		yamlx.Set(source, "repoURL", "!!str", l.repo.Address())
	}
	return false
}

// within puts the values files of a source with a prefix below another one.
func within(source *yamlv3.Node, prefix, instead string) {
	files := yamlx.Find(source, "helm", "valueFiles")
	if files == nil {
		return
	}
	for _, n := range files.Content {
		if rest, ok := strings.CutPrefix(n.Value, prefix); ok {
			n.Value = instead + rest
		}
	}
}
