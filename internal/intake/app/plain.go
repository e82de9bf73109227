package app

import (
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/recipe/kustomization"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// plainNamespace is that of charts and manifests that are given none, as Helm and kubectl have it.
const plainNamespace = "default"

// plain lays out manifests that no deployer's object names, as one chart, in the form of a lane.
func (l *layout) plain(a *App, lane string) error {
	a.objects = l.withNamespaces(a.objects)
	name := a.Name()
	if err := nameable(name); err != nil {
		return err
	}
	switch lane {
	case bundle.FluxGit:
		return l.flux(a, lane)
	case bundle.Helm, bundle.Helm4, bundle.ArgoCDGit, bundle.ArgoCDOCI:
	default:
		return fmt.Errorf("%s is manifests, for the lanes %s, and not for %s", a.shown(), strings.Join([]string{bundle.Helm, bundle.ArgoCDGit, bundle.ArgoCDOCI, bundle.FluxGit}, ", "), lane)
	}
	l.override("the %d objects of %s are delivered as the chart of one release, in the namespace %s where they name none", len(a.objects), a.shown(), plainNamespace)
	if err := l.asChart(name, name+"/chart", a.objects); err != nil {
		return err
	}
	if bundle.ByHelm(lane) {
		line := fmt.Sprintf("release %s %s ./%s/chart\n", name, plainNamespace, name)
		return l.add("deploy.sh", a.objects[0].File, []byte(line), map[int]int{1: 1})
	}
	o, err := l.made(a, fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  destination: {server: %s, namespace: %s}
  source: {repoURL: %s, targetRevision: HEAD, path: %s/chart}
  syncPolicy: {automated: {}}
`, name, bundle.ArgoNamespace, localServer, plainNamespace, ownURL, name))
	if err != nil {
		return err
	}
	if err := l.put(name+"/application.yaml", o); err != nil {
		return err
	}
	return l.root(a, nil)
}

// made is an object that stands for a deployer's, at the place of the first manifest.
func (l *layout) made(a *App, text string) (object, error) {
	docs, err := yamlx.Documents([]byte(text))
	if err != nil {
		return object{}, l.repo.Bad(a.objects[0], nil, "%w", err)
	}
	o := checkout.New(a.objects[0].File, docs[0].Content[0])
	shift(o.Node, 1)
	return o, nil
}

// kustomizationOf stands for the Kustomization of Flux that would apply manifests.
func (l *layout) kustomizationOf(a *App) object {
	meta := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Content: []*yamlv3.Node{scalar("name"), scalar(a.Name())}}
	o := object{File: a.objects[0].File, Node: &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Content: []*yamlv3.Node{scalar("kind"), scalar(kindKustomization), scalar("metadata"), meta}}}
	shift(o.Node, 1)
	return o
}

// withNamespaces adds the namespaces that objects name and that only other files of the repository have.
func (l *layout) withNamespaces(objects []object) []object {
	there := map[string]bool{}
	for _, o := range objects {
		if o.Kind() == "Namespace" {
			there[o.Name()] = true
		}
	}
	var added []string
	for _, o := range slices.Clone(objects) {
		name := yamlx.Text(o.Node, "metadata", "namespace")
		if there[name] || l.namespace(o, yamlx.LineOf(o.Node, "metadata", "namespace"), name, false, "no object in it can be created: add the Namespace to the repository") == "" {
			there[name] = true
			continue
		}
		there[name], added = true, append(added, name)
		meta := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Content: []*yamlv3.Node{scalar("name"), scalar(name)}}
		n := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Content: []*yamlv3.Node{scalar("apiVersion"), scalar("v1"), scalar("kind"), scalar("Namespace"), scalar("metadata"), meta}}
		shift(n, o.Node.Line)
		objects = append(objects, checkout.New(o.File, n))
	}
	if len(added) > 0 {
		l.override("namespaces that objects name and that other files have are created: %s", strings.Join(lists.AtMost(added, 5), ", "))
	}
	return objects
}

// kustomizations are the directories of Kustomize below a path, as people see them.
func (a *App) kustomizations() []string {
	if !a.repo.HasDir(a.repo.Start) {
		return nil
	}
	names, err := a.repo.Walk(a.repo.Start, func(dir string) bool { return strings.HasPrefix(path.Base(dir), ".") })
	if err != nil {
		return nil
	}
	var dirs []string
	for _, name := range names {
		if slices.Contains(kustomization.Names, path.Base(name)) {
			dirs = append(dirs, a.repo.Shown(path.Dir(name)))
		}
	}
	return dirs
}
