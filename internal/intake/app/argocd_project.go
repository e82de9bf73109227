package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
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
		l.projectless = append(l.projectless, checkout.New(o.File, yamlx.Clone(o.Node)))
		return err
	}
	l.member(o, p)
	return nil
}

// member notes an Application's project, and what that refuses of it.
func (l *layout) member(o object, p *argoapi.Project) {
	spec := yamlx.Find(o.Node, "spec")
	to := yamlx.Find(spec, "destination")
	l.Projects[o.Name()] = argoapi.Member{Project: p, Server: yamlx.Text(to, "server"), Cluster: yamlx.Text(to, "name")}
	const permit = "add it to the project, or correct it"
	refuse := func(text, then string, n *yamlv3.Node) {
		if text == "" {
			return
		}
		l.Refused = append(l.Refused, argoapi.Refusal{
			Of: result.Ref{Group: groupArgoCD, Kind: kindApplication, Namespace: bundle.ArgoNamespace, Name: o.Name()}, At: l.repo.Origin(o, n.Line),
			Text: "is refused by its project " + p.Name + " (" + p.At.String() + "), which " + text, Then: "Argo CD never syncs it: " + then,
		})
	}
	if to != nil {
		refuse(p.Destination(yamlx.Text(to, "server"), yamlx.Text(to, "name"), yamlx.Text(to, "namespace")), permit, to)
	}
	for _, w := range p.SyncWindows {
		if !w.IsFor(o.Name(), yamlx.Text(to, "server"), yamlx.Text(to, "name"), yamlx.Text(to, "namespace")) {
			continue
		}
		if err := w.Err(); err != nil {
			refuse("has a sync window that Argo CD cannot read: "+err.Error(), "correct the window", o.Node)
			continue
		}
		l.unknown("Application %s (%s): when Argo CD syncs it: its project %s has the sync window %s, and a cell heeds none", o.Name(), l.repo.At(o), p.Name, w)
	}
	sources := []*yamlv3.Node{yamlx.Find(spec, "source")}
	if list := yamlx.Find(spec, "sources"); list != nil {
		sources = append(sources, list.Content...)
	}
	for _, s := range sources {
		if url := yamlx.Text(s, "repoURL"); url != "" && url != ownURL {
			refuse(p.Source(url), permit, s)
		}
	}
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
			return l.projectOf(o)
		}
	}
	return nil, nil
}

// projectOf reads an AppProject.
func (l *layout) projectOf(o object) (*argoapi.Project, error) {
	p := &argoapi.Project{Name: o.Name(), At: l.repo.Origin(o, o.Node.Line)}
	spec := yamlx.Find(o.Node, "spec")
	if spec == nil {
		return p, nil
	}
	if err := spec.Decode(p); err != nil {
		return nil, l.repo.BadAt(o, spec, "AppProject %s: %w", o.Name(), err)
	}
	return p, nil
}

// withoutProject judges the Applications whose project no file has. Argo CD syncs nothing of them if it has none of that name
// either: that is certain only where the projects that there are can be listed, since the path has some or the cluster file
// does.
func (l *layout) withoutProject() error {
	names, certain := l.projectNames()
	for _, o := range l.projectless {
		at := yamlx.Find(o.Node, "spec", "project")
		name := at.Value
		if i := slices.IndexFunc(l.projectsMade, func(p object) bool { return p.Name() == name }); i >= 0 {
			p, err := l.projectOf(l.projectsMade[i])
			if err != nil {
				return err
			}
			l.member(o, p)
			continue
		}
		says := fmt.Sprintf("if Argo CD has it, say so in --cluster-file: `projects: [%s]`", name)
		near := lists.Nearest(name, names)
		if near != "" {
			near = "did you mean " + near + "?"
		}
		switch {
		case l.cluster.hasProject(name):
			l.override("Application %s: its project %s exists, by the cluster file", o.Name(), name)
			l.unknown("Application %s: whether its project %s permits it: no file of this repository has it", o.Name(), name)
		case !certain:
			l.unknown("Application %s (%s): whether Argo CD has its project %s, and whether that permits it: no file of this repository has it; %s", o.Name(), l.repo.Origin(o, at.Line), name, strings.TrimSpace(near+" "+says))
		default:
			there := "; " + cmp.Or(near, "there are: "+strings.Join(lists.AtMost(names, 5), ", "))
			l.Refused = append(l.Refused, argoapi.Refusal{
				Of: result.Ref{Group: groupArgoCD, Kind: kindApplication, Namespace: bundle.ArgoNamespace, Name: o.Name()}, At: l.repo.Origin(o, at.Line),
				Text: fmt.Sprintf("names the project %s, and there is no AppProject of that name%s", name, there),
				Then: "Argo CD reports InvalidSpecError and syncs nothing of the Application: correct spec.project, or add the AppProject; " + says,
			})
		}
	}
	return nil
}

// projectNames are the names of AppProjects in the repository and in the cluster file, and whether these are all: those of the
// path, or of the file, are, if no template makes some.
func (l *layout) projectNames() (names []string, certain bool) {
	names = slices.Clone(l.cluster.Projects)
	certain = len(names) > 0
	for _, o := range slices.Concat(l.others, l.projectsMade) {
		if o.Group() == groupArgoCD && o.Kind() == kindProject {
			names, certain = append(names, o.Name()), true
		}
	}
	files, all := l.repo.Having("kind: " + kindProject)
	for _, file := range files {
		found, err := l.repo.Documents(file)
		if err != nil {
			all = false // a template
			continue
		}
		for _, o := range found {
			if o.Group() == groupArgoCD && o.Kind() == kindProject && o.Name() != "" {
				names = append(names, o.Name())
				certain = certain || l.repo.Start == "." || below(l.repo.Start, file)
			}
		}
	}
	return lists.Unique(names), certain && all
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
