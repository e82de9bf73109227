package app

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const (
	kindApplication = "Application"
	createNamespace = "CreateNamespace=true" // the option of an Application
)

// ownURL stands for the address of the bundle until the lane knows it.
const ownURL = "https://app.invalid/bundle.git"

// localServer is the cluster that Argo CD runs in.
const localServer = argoapi.LocalServer

// mostNested is how deep Applications may have Applications.
const mostNested = 10

// applications lays out Applications as a root and a directory for each.
func (l *layout) applications(a *App) error {
	seen, objects := map[string]known{}, a.objects
	if a.chart != "" {
		if err := l.besideChart(a, seen); err != nil {
			return err
		}
		objects = slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return !ofArgoCD(o) })
	}
	if err := l.each(objects, seen, nil); err != nil {
		return err
	}
	for name, before := range l.After {
		l.After[name] = slices.DeleteFunc(before, func(other string) bool {
			_, delivered := seen[other]
			return !delivered && (l.selects.some() || l.left[other])
		})
	}
	l.notDelivered()
	if err := l.withoutProject(); err != nil {
		return err
	}
	return l.root(a, seen)
}

// besideChart lays out what the chart of an app renders besides Applications, as the Application that would
// have the chart.
func (l *layout) besideChart(a *App, seen map[string]known) error {
	o, err := l.made(a, fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  destination: {server: %s, namespace: %s}
`, a.Name(), bundle.ArgoNamespace, localServer, cmp.Or(a.Namespace, plainNamespace)))
	if err != nil {
		return err
	}
	l.waves(a.objects)
	return l.beside(o, a.objects, seen)
}

// known is an Application that is laid out, with its place and its text.
type known struct{ at, text string }

// notDelivered notes what was passed beside Applications, and is in no directory that one delivers.
func (l *layout) notDelivered() {
	var others []string
	for _, o := range l.others {
		if o.Group() == groupArgoCD && o.Kind() == kindProject {
			continue // what it permits is looked at
		}
		name := fmt.Sprintf("%s %s (%s)", o.Kind(), o.Name(), l.repo.At(o))
		if !slices.Contains(others, name) && !slices.ContainsFunc(l.dirs, func(dir string) bool { return below(dir, path.Dir(o.File)) }) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		l.unknown("only Applications are delivered, and not %s", strings.Join(lists.AtMost(others, 5), ", "))
	}
}

// root adds the Application that the lane starts with.
func (l *layout) root(a *App, seen map[string]known) error {
	name := "apps-of-" + a.Name()
	if app, ok := seen[name]; ok {
		return fmt.Errorf("the Application at %s is called %s, like the one that the lane starts with: pass another name, as in matrix run NAME --app PATH", app.at, name)
	}
	root := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  destination: {server: %s, namespace: %s}
  source:
    repoURL: %s
    targetRevision: HEAD
    path: .
    directory: {recurse: true, include: '*/application.yaml', exclude: '*/chart/*'}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`, name, bundle.ArgoNamespace, localServer, bundle.ArgoNamespace, ownURL)
	return l.add("app-of-apps.yaml", a.repo.Start, []byte(root), map[int]int{})
}

// each lays out the Applications among objects. Of those whose source is a directory of Applications,
// it lays out these. within are the Applications in whose sources the objects are.
func (l *layout) each(objects []object, seen map[string]known, within []string) error {
	for _, o := range objects {
		inside := append(slices.Clone(within), l.itself(o))
		switch {
		case o.Group() == groupArgoCD && o.Kind() == kindApplicationSet:
			made, err := l.generated(o)
			if err != nil {
				return err
			}
			if err := l.each(made, seen, inside); err != nil {
				return err
			}
			continue
		case o.Group() != groupArgoCD || o.Kind() != kindApplication:
			l.others = append(l.others, o)
			continue
		}
		if len(within) > mostNested {
			return l.repo.Bad(o, nil, "Applications are nested more than %d deep", mostNested)
		}
		o = checkout.New(o.File, yamlx.Clone(o.Node))
		if l.ofOthers(o) {
			l.left[o.Name()] = true
			continue
		}
		o, err := l.overridden(o)
		if err != nil {
			return err
		}
		inner, err := l.nested(o)
		if err != nil {
			return err
		}
		if inner != nil {
			l.waves(inner)
			if err := l.beside(o, inner, seen); err != nil {
				return err
			}
			// An Application may manage itself: it is laid out once.
			inner = slices.DeleteFunc(slices.Clone(inner), func(i object) bool { return !ofArgoCD(i) || slices.Contains(inside, l.itself(i)) })
			if len(inner) > 0 {
				l.override("Application %s (%s) is replaced by the Applications in %s", o.Name(), l.repo.At(o), l.repo.Shown(ownDir(o)))
			}
			if err := l.each(inner, seen, inside); err != nil {
				return err
			}
			continue
		}
		if parts := l.split(o); len(parts) > 1 {
			if err := l.each(parts, seen, within); err != nil {
				return err
			}
			continue
		}
		if l.selects.lacks(o.Name()) {
			continue
		}
		if !l.selects.takes(kindApplication, o.Name(), yamlx.Text(o.Node, "spec", "destination", "namespace")) || !l.selects.hasChanged(o.Name()) {
			l.selects.left++
			continue
		}
		text, err := yamlx.Encode([]*yamlv3.Node{o.Node})
		if err != nil {
			return l.repo.Bad(o, nil, "it cannot be written again: %w", err)
		}
		this := known{l.repo.At(o), string(text)}
		before, again := seen[o.Name()]
		if before == this {
			continue // it was passed, and is in the directory of an Application that was passed too
		}
		if again {
			return l.repo.Bad(o, []string{"metadata", "name"}, "a second Application %s; the first is at %s", o.Name(), before.at)
		}
		seen[o.Name()] = this
		if err := l.application(o); err != nil {
			return err
		}
	}
	return nil
}

// itself is what tells an Application, or what makes some, from any other: its place, kind and name.
func (l *layout) itself(o object) string { return l.repo.At(o) + " " + o.Kind() + " " + o.Name() }

// ownDir is the directory of the repository that an Application's source has.
func ownDir(o object) string {
	return path.Clean(strings.TrimPrefix(yamlx.Text(o.Node, "spec", "source", "path"), "/"))
}

// nested gives the Applications that an Application's source makes: a directory of them, what
// Kustomize makes of one, or a chart. It gives nil if there are none.
func (l *layout) nested(o object) ([]object, error) {
	dir := ownDir(o)
	if yamlx.Text(o.Node, "spec", "source", "path") == "" || !l.repo.Own(yamlx.Text(o.Node, "spec", "source", "repoURL")) || !l.repo.HasDir(dir) {
		return nil, nil
	}
	source := yamlx.Find(o.Node, "spec", "source")
	by, err := l.madeBy(o, source, dir)
	if err != nil {
		return nil, err
	}
	var inner []object
	switch by {
	case byHelm:
		inner, err = l.chartOfApps(o, dir)
	case byKustomize:
		inner, err = l.builtFor(o, source, dir)
	default:
		var files []string
		if files, err = l.manifestFiles(o, source, dir); err == nil {
			inner, err = l.repo.ObjectsIn(files)
		}
	}
	if err != nil || !slices.ContainsFunc(inner, ofArgoCD) {
		return nil, err
	}
	return inner, nil
}

// ofArgoCD reports whether an object is an Application, or makes some.
func ofArgoCD(o object) bool {
	return o.Group() == groupArgoCD && (o.Kind() == kindApplication || o.Kind() == kindApplicationSet)
}

// application lays out an Application, with its chart and values if they are in the repository.
func (l *layout) application(o object) error {
	if err := nameable(o.Name()); err != nil {
		return l.repo.Bad(o, []string{"metadata", "name"}, "%w", err)
	}
	rest := checkout.New(o.File, yamlx.Clone(o.Node)) // what is set for Kustomize is done here
	yamlx.Drop(yamlx.Find(rest.Node, "spec", "source"), "kustomize")
	if list := yamlx.Find(rest.Node, "spec", "sources"); list != nil {
		for _, s := range list.Content {
			yamlx.Drop(s, "kustomize")
		}
	}
	if err := l.allowed(rest); err != nil {
		return err
	}
	if err := l.inProject(o); err != nil {
		return err
	}
	l.differences(o)
	if err := l.sources(o); err != nil {
		return err
	}
	l.here(o)
	return l.put(o.Name()+"/application.yaml", o)
}

// differences notes the entries of spec.ignoreDifferences that name an object.
func (l *layout) differences(o object) {
	list := yamlx.Find(o.Node, "spec", "ignoreDifferences")
	for i := 0; list != nil && i < len(list.Content); i++ {
		n := list.Content[i]
		d := argoapi.Difference{Application: o.Name(), Group: yamlx.Text(n, "group"), Kind: yamlx.Text(n, "kind"), Namespace: yamlx.Text(n, "namespace"), Name: yamlx.Text(n, "name"), At: l.repo.Origin(o, n.Line)}
		if d.Name != "" {
			l.Differences = append(l.Differences, d)
		}
	}
}

// allowed refuses an object with a field that may make a controller fetch or run something else.
func (l *layout) allowed(o object) error {
	var fields map[string]any
	if err := o.Node.Decode(&fields); err != nil {
		return l.repo.Bad(o, nil, "not an object: %w", err)
	}
	if refused := policy.Check(o.Kind(), fields); refused != nil {
		return l.repo.Bad(o, refused.Path, "%s %s: %w", o.Kind(), o.Name(), refused)
	}
	return nil
}

// here makes an Application one of the cell's cluster, which syncs by itself.
func (l *layout) here(o object) {
	meta, spec := yamlx.Find(o.Node, "metadata"), yamlx.Find(o.Node, "spec")
	yamlx.Set(meta, "namespace", "!!str", bundle.ArgoNamespace)
	if yamlx.Text(spec, "project") != "default" {
		yamlx.Set(spec, "project", "!!str", "default")
	}
	to := child(spec, "destination")
	if at := yamlx.Text(to, "name") + yamlx.Text(to, "server"); at != localServer && at != "in-cluster" {
		l.override("Application %s is deployed to the cell's cluster, in place of %s", o.Name(), at)
	}
	yamlx.Drop(to, "name")
	yamlx.Set(to, "server", "!!str", localServer)
	if yamlx.Text(to, "namespace") == "" {
		yamlx.Set(to, "namespace", "!!str", "default")
	}
	policy := child(spec, "syncPolicy")
	if yamlx.Find(policy, "automated") == nil {
		child(policy, "automated")
		l.override("Application %s syncs by itself (syncPolicy.automated)", o.Name())
	}
	options := yamlx.Find(policy, "syncOptions")
	if options == nil || options.Kind != yamlv3.SequenceNode {
		options = &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq"}
		yamlx.Drop(policy, "syncOptions")
		policy.Content = append(policy.Content, scalar("syncOptions"), options)
	}
	creates := slices.ContainsFunc(options.Content, func(n *yamlv3.Node) bool { return n.Value == createNamespace })
	if file := l.namespace(o, yamlx.LineOf(o.Node, "spec", "destination", "namespace"), yamlx.Text(to, "namespace"), creates, "Argo CD fails to sync: add "+createNamespace+" to spec.syncPolicy.syncOptions, or the Namespace to the repository"); file != "" {
		options.Content = append(options.Content, scalar(createNamespace))
		l.override("Application %s creates its namespace (%s), which %s has", o.Name(), createNamespace, file)
	}
}

// child gives the mapping under a key, and makes one where there is none.
func child(n *yamlv3.Node, key string) *yamlv3.Node {
	if c := yamlx.Find(n, key); c != nil && c.Kind == yamlv3.MappingNode {
		return c
	}
	yamlx.Drop(n, key)
	c := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map"}
	n.Content = append(n.Content, scalar(key), c)
	return c
}

func scalar(text string) *yamlv3.Node {
	return &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: text}
}
