package app

import (
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const kindProject = "AppProject"

// inProject notes the project of an Application, as far as the repository has it, and whether that
// refuses its sources or its destination. The cell has only the project default.
func (l *layout) inProject(o object) error {
	spec := yamlx.Find(o.Node, "spec")
	name := yamlx.Text(spec, "project")
	if name == "" || name == "default" {
		return nil
	}
	p, err := l.project(name)
	if p == nil || err != nil {
		return err
	}
	to := yamlx.Find(spec, "destination")
	l.Projects[o.Name()] = argoapi.Member{Project: p, Server: yamlx.Text(to, "server"), Cluster: yamlx.Text(to, "name")}
	refuse := func(text string, n *yamlv3.Node) {
		if text == "" {
			return
		}
		l.Refused = append(l.Refused, argoapi.Refusal{
			Of: result.Ref{Group: groupArgoCD, Kind: kindApplication, Namespace: bundle.ArgoNamespace, Name: o.Name()}, At: l.repo.Origin(o, n.Line),
			Text: "is refused by its project " + p.Name + " (" + p.At.String() + "), which " + text, Then: "Argo CD never syncs it: add it to the project, or correct it",
		})
	}
	if to != nil {
		refuse(p.Destination(yamlx.Text(to, "server"), yamlx.Text(to, "name"), yamlx.Text(to, "namespace")), to)
	}
	sources := []*yamlv3.Node{yamlx.Find(spec, "source")}
	if list := yamlx.Find(spec, "sources"); list != nil {
		sources = append(sources, list.Content...)
	}
	for _, s := range sources {
		if url := yamlx.Text(s, "repoURL"); url != "" && url != ownURL {
			refuse(p.Source(url), s)
		}
	}
	return nil
}

// project finds an AppProject in the files of the repository; nil if none has it, or only a template.
func (l *layout) project(name string) (*argoapi.Project, error) {
	files, _ := l.repo.Having(kindProject, name)
	for _, file := range files {
		found, err := l.repo.Documents(file)
		if err != nil {
			continue // a template
		}
		for _, o := range found {
			if o.Kind() != kindProject || o.Group() != groupArgoCD || o.Name() != name {
				continue
			}
			p := &argoapi.Project{Name: name, At: l.repo.Origin(o, o.Node.Line)}
			spec := yamlx.Find(o.Node, "spec")
			if spec == nil {
				return p, nil
			}
			if err := spec.Decode(p); err != nil {
				return nil, l.repo.BadAt(o, spec, "AppProject %s: %w", name, err)
			}
			return p, nil
		}
	}
	return nil, nil
}

// unplaced notes an Application that gives its objects no namespace where one of them needs it.
func (l *layout) unplaced(o object, objects []object) {
	to := yamlx.Find(o.Node, "spec", "destination")
	i := slices.IndexFunc(objects, homeless)
	if i < 0 || to == nil || yamlx.Text(to, "namespace") != "" {
		return
	}
	l.Refused = append(l.Refused, argoapi.Refusal{
		Of: result.Ref{Group: groupArgoCD, Kind: kindApplication, Namespace: bundle.ArgoNamespace, Name: o.Name()}, At: l.repo.Origin(o, to.Line),
		Text: fmt.Sprintf("has no destination.namespace, and neither has %s %s (%s) a namespace", objects[i].Kind(), objects[i].Name(), l.repo.At(objects[i])), Then: "Argo CD calls it an invalid specification and syncs nothing of it",
	})
}
