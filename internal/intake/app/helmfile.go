package app

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/bundle/statefile"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// What a field of helmfile is to the cell's helmfile, by its place: kept fields are in the lists of
// package policy; what is here is left out, since it says how helm is called or to whom, and not
// what is installed.
var (
	leftOutOfFile    = []string{"environments", "values", "templates", "defaultInherit", "namespace", "commonLabels", "missingFileHandler", "kubeContext", "helmBinary", "kustomizeBinary", "lockFilePath"}
	leftOutOfDefault = []string{"kubeContext", "atomic", "cleanupOnFail", "historyMax", "verify", "skipDeps", "force", "reuseValues", "resetValues", "diffArgs", "syncArgs", "devel"}
	leftOutOfSource  = []string{"username", "password", "certFile", "keyFile", "caFile", "passCredentials", "skipTLSVerify", "keyring", "verify", "forceUpdate"}
	leftOutOfRelease = []string{"kubeContext", "atomic", "cleanupOnFail", "historyMax", "verify", "skipDeps", "force", "reuseValues", "resetValues", "labels", "missingFileHandler", "devel", "installed", "set", "setString", "description"}
)

// helmfileApp is files of helmfile in the making of a bundle: a level for each file.
type helmfileApp struct {
	*layout
	reader *statefile.Reader
	levels []string          // names of the files
	seen   map[string]string // releases, with their places
	read   map[string]bool   // files
}

// helmfileOf is the file of helmfile at a path: that itself, or helmfile.yaml in a directory, which
// may be a template; empty for anything else.
func helmfileOf(r *repository, at string) (string, error) {
	if r.HasDir(at) {
		for _, name := range []string{bundle.HelmfileRoot, bundle.HelmfileRoot + statefile.Template, "helmfile.yml"} {
			if r.Has(path.Join(at, name)) {
				return path.Join(at, name), nil
			}
		}
		return "", nil
	}
	if path.Ext(at) == statefile.Template {
		return at, nil // nothing else at the path of an app is a template
	}
	if ext := path.Ext(at); ext != ".yaml" && ext != ".yml" {
		return "", nil
	}
	content, err := r.Read(at)
	if err != nil {
		return "", err
	}
	docs, err := yamlx.Documents(content)
	if err != nil {
		return "", nil // a template, or what another reader tells of
	}
	for _, d := range docs {
		if len(d.Content) == 1 && yamlx.Text(d.Content[0], "kind") == "" && (yamlx.Find(d.Content[0], "releases") != nil || yamlx.Find(d.Content[0], "helmfiles") != nil) {
			return at, nil
		}
	}
	return "", nil
}

// helmfile lays out helmfile.yaml and the files that it names.
func (l *layout) helmfile(a *App) error {
	h := &helmfileApp{layout: l, reader: &statefile.Reader{Repo: l.repo, Environment: a.Environment, Note: l.override}, seen: map[string]string{}, read: map[string]bool{}}
	defer h.reader.Close()
	if err := h.file(a.helmfile, nil, nil, 0); err != nil {
		return err
	}
	if len(h.seen) == 0 {
		return &recipe.FileError{File: l.repo.Shown(a.helmfile), Err: errors.New("it has no release to install")}
	}
	text := "helmfiles:\n"
	for _, name := range h.levels {
		text += "- path: " + name + "\n"
	}
	return l.add(bundle.HelmfileRoot, a.helmfile, []byte(text), map[int]int{})
}

// file lays out what a file names, and then its own releases, as helmfile installs them. Given are
// the values that the entry which names it has for it.
func (h *helmfileApp) file(name string, by *object, given map[string]any, depth int) error {
	if h.read[name] || depth > mostNested {
		return h.repo.Bad(*by, nil, "%s is named twice, or by itself", h.repo.Shown(name))
	}
	h.read[name] = true
	state, err := h.reader.Read(h.by.ctx, name, given)
	if err != nil {
		return err
	}
	if list := yamlx.Find(state.Node, "helmfiles"); list != nil {
		for _, item := range list.Content {
			if err := h.child(state, item, depth); err != nil {
				return err
			}
		}
		yamlx.Drop(state.Node, "helmfiles")
	}
	releases := yamlx.Find(state.Node, "releases")
	if releases == nil || len(releases.Content) == 0 {
		return nil
	}
	if n := yamlx.Find(state.Node, "helmDefaults"); n != nil {
		h.drop(state.Object, n, leftOutOfDefault)
	}
	if list := yamlx.Find(state.Node, "repositories"); list != nil {
		for _, item := range list.Content {
			h.drop(state.Object, item, leftOutOfSource)
		}
	}
	var installed, kept []*yamlv3.Node
	are := map[string]bool{} // installed, by NAMESPACE/NAME; helmfile knows no default namespace
	for _, r := range releases.Content {
		on, why, err := h.reader.Settle(h.by.ctx, state, r)
		if err != nil {
			return err
		}
		are[yamlx.Text(r, "namespace")+"/"+yamlx.Text(r, "name")] = on
		if !on {
			h.override("release %s is left out: %s", yamlx.Text(r, "name"), why)
			continue
		}
		installed = append(installed, r)
	}
	for _, r := range installed {
		if err := h.needs(state.Object, r, are); err != nil {
			return err
		}
	}
	for _, r := range installed {
		if h.selects.lacks(yamlx.Text(r, "name")) {
			continue
		}
		if !h.selects.takes("release", yamlx.Text(r, "name"), cmp.Or(yamlx.Text(r, "namespace"), "default")) || !h.selects.hasChanged(yamlx.Text(r, "name")) {
			h.selects.left++
			continue
		}
		if err := h.release(state, r); err != nil {
			return err
		}
		kept = append(kept, r)
	}
	for _, r := range kept {
		h.selects.withoutOthers(r, func(need string) bool { return h.seen[path.Base(need)] != "" })
	}
	h.drop(state.Object, state.Node, leftOutOfFile)
	if releases.Content = kept; len(kept) == 0 {
		return nil
	}
	level := fmt.Sprintf("level-%d.yaml", len(h.levels))
	h.levels = append(h.levels, level)
	return h.put(level, state.Object)
}

// child lays out an entry of helmfiles, which names a file, or several by a pattern.
func (h *helmfileApp) child(state *statefile.State, item *yamlv3.Node, depth int) error {
	name := item.Value
	var given map[string]any
	if item.Kind == yamlv3.MappingNode {
		name = yamlx.Text(item, "path")
		for _, key := range yamlx.Keys(item) {
			if key != "path" && key != "values" {
				return h.repo.BadAt(state.Object, item, "this entry of helmfiles has %s, which may change what is installed; want a path, and values", key)
			}
		}
		var err error
		if given, err = h.reader.Values(h.by.ctx, state, yamlx.Find(item, "values"), false, false); err != nil {
			return err
		}
	}
	files, err := h.reader.Named(state, item, name)
	if err != nil {
		return err
	}
	for _, at := range files {
		if h.repo.HasDir(at) {
			if at, err = helmfileOf(h.repo, at); err != nil {
				return err
			}
		}
		if at == "" || !h.repo.Has(at) {
			return h.repo.BadAt(state.Object, item, "%s is no file of helmfile in this repository, nor a directory with one", name)
		}
		if err := h.file(at, &object{File: state.File, Node: item}, given, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// drop leaves out fields that say how helm is called.
func (h *helmfileApp) drop(state object, n *yamlv3.Node, fields []string) {
	for _, key := range fields {
		if value := yamlx.Find(n, key); value != nil && key == "kubeContext" {
			h.override("%s: the cell's cluster takes the place of the context %s", h.repo.Shown(state.File), value.Value)
		}
		yamlx.Drop(n, key)
	}
}

// needs refuses a need of what the file does not have, as helmfile does, and drops one of a release that is not installed, of which helmfile
// warns. A release without a namespace is in none, whatever the cluster's default is, and a need without one is in the release's own.
func (h *helmfileApp) needs(state object, r *yamlv3.Node, are map[string]bool) (err error) {
	list := yamlx.Find(r, "needs")
	if list == nil {
		return nil
	}
	list.Content = slices.DeleteFunc(list.Content, func(n *yamlv3.Node) bool {
		parts := strings.Split(n.Value, "/")
		if len(parts) > 2 { // with a context, which is left out
			return false
		}
		id := n.Value
		if len(parts) == 1 {
			id = yamlx.Text(r, "namespace") + "/" + id
		}
		on, there := are[id]
		switch {
		case !there && err == nil:
			err = h.repo.BadAt(state, n, "release %s needs %s, and no release of this file has that name in that namespace; helmfile refuses it", yamlx.Text(r, "name"), n.Value)
		case there && !on:
			h.override("release %s needs %s, which is left out: helmfile warns, and installs it all the same", yamlx.Text(r, "name"), n.Value)
		}
		return there && !on
	})
	return err
}

// release lays out a release with its chart and values, if these are in the repository.
func (h *helmfileApp) release(s *statefile.State, r *yamlv3.Node) error {
	state, o := s.Object, checkout.New(s.File, r)
	name := yamlx.Text(r, "name")
	if err := nameable(name); err != nil {
		return h.repo.BadAt(state, r, "%w", err)
	}
	if before, again := h.seen[name]; again {
		return h.repo.BadAt(state, r, "a second release %s; the first is at %s: give them different names, or pass the path of one file", name, before)
	}
	h.seen[name] = h.repo.At(o)
	if n := yamlx.Find(r, "secrets"); n != nil {
		return h.repo.BadAt(state, n, "the secrets of release %s are values that SOPS has encrypted, and their key is not here: run a copy of the file with test values", name)
	}
	if err := h.valuesOf(s, r); err != nil { // whose templates see the chart as the file has it
		return err
	}
	if err := h.chartOf(state, r, s.Dir); err != nil {
		return err
	}
	if yamlx.Text(r, "namespace") == "" { // for templates of values it has none
		yamlx.Set(r, "namespace", "!!str", "default")
	}
	h.drop(state, r, leftOutOfRelease)
	if strings.HasPrefix(yamlx.Text(r, "chart"), "./") {
		yamlx.Set(r, "skipDeps", "!!bool", "true") // they are in the chart's directory, and without Chart.lock they would be downloaded again
	}
	return nil
}

// chartOf lays out a release's chart if it is a directory here.
func (h *helmfileApp) chartOf(state object, r *yamlv3.Node, from string) error {
	name, chart := yamlx.Text(r, "name"), yamlx.Text(r, "chart")
	dir := path.Join(from, chart)
	switch {
	case h.repo.Has(path.Join(dir, chartFile)):
		if err := h.layout.chart(dir, name+"/chart"); err != nil {
			return err
		}
		yamlx.Set(r, "chart", "!!str", "./"+name+"/chart")
		yamlx.Drop(r, "version")
		return nil
	case strings.HasPrefix(chart, ".") || strings.HasPrefix(chart, "/") || chart == "":
		return h.repo.BadAt(state, under(r, "chart"), "chart %q of release %s is no directory with a %s of this repository%s", chart, name, chartFile, h.repo.Only())
	}
	v, err := version(yamlx.Text(r, "version"))
	if err != nil {
		return h.repo.BadAt(state, under(r, "version"), "chart of release %s: %w", name, err)
	}
	yamlx.Set(r, "version", "!!str", v)
	return nil
}

// timed gives a date among values its time: helmfile reads values of its own file into Go's types, and writes them out for helm.
func timed(n *yamlv3.Node) {
	if at := (time.Time{}); n.ShortTag() == "!!timestamp" && n.Decode(&at) == nil {
		n.Value = at.Format(time.RFC3339Nano)
	}
	for _, c := range n.Content {
		timed(c)
	}
}

// valuesOf lays out a release's values as files.
func (h *helmfileApp) valuesOf(s *statefile.State, r *yamlv3.Node) error {
	state := s.Object
	name := yamlx.Text(r, "name")
	list := yamlx.Find(r, "values")
	if list == nil {
		list = &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq", Line: r.Line}
	}
	var files []*yamlv3.Node
	for i, item := range list.Content {
		to := fmt.Sprintf("%s/values/%d.yaml", name, i)
		switch {
		case item.Kind == yamlv3.MappingNode:
			timed(item)
			if err := h.put(to, checkout.New(state.File, item)); err != nil {
				return err
			}
		case item.Kind != yamlv3.ScalarNode:
			return h.repo.BadAt(state, item, "values of release %s: want mappings and names of files", name)
		default:
			at := path.Join(s.Dir, item.Value)
			if !h.repo.Has(at) && statefile.MayMiss(r) {
				h.override("release %s: values file %s is left out: it does not exist, and missingFileHandler is set", name, item.Value)
				continue
			}
			if !h.repo.Has(at) {
				return h.repo.BadAt(state, item, "values file %s of release %s is no file of this repository%s", item.Value, name, h.repo.Only())
			}
			content, lines, err := h.reader.ValuesFile(h.by.ctx, s, r, at)
			if err != nil {
				return err
			}
			if docs, err := yamlx.Documents(content); err == nil && len(docs) == 1 && len(docs[0].Content) == 1 && fluxapi.IsEncrypted(docs[0].Content[0]) {
				return h.repo.BadAt(state, item, "values file %s of release %s is encrypted by SOPS, and its key is not here: name a copy with test values", item.Value, name)
			}
			if err := h.add(to, at, content, lines); err != nil {
				return err
			}
		}
		files = append(files, &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: "./" + to, Line: item.Line})
	}
	set, err := h.setOf(state, r)
	if err != nil {
		return err
	}
	if set != nil {
		to := name + "/values/set.yaml"
		if err := h.set(state, name, cmp.Or(yamlx.Text(r, "namespace"), "default"), to, set); err != nil {
			return err
		}
		files = append(files, &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: "./" + to, Line: set.Line})
	}
	yamlx.Drop(r, "values")
	if len(files) > 0 {
		list.Content = files
		r.Content = append(r.Content, scalar("values"), list)
	}
	return nil
}

// setOf joins what --set and --set-string would set of a release; nil if that is nothing.
func (h *helmfileApp) setOf(state object, r *yamlv3.Node) (all *yamlv3.Node, err error) {
	for _, field := range []string{"set", "setString"} {
		list := yamlx.Find(r, field)
		if list == nil {
			continue
		}
		for _, item := range list.Content {
			for _, key := range yamlx.Keys(item) {
				if key != "name" && key != "value" {
					return nil, h.repo.BadAt(state, item, "%s of release %s has a %s; want name and value, or write it under values", field, yamlx.Text(r, "name"), key)
				}
			}
			if field == "setString" {
				yamlx.Set(item, "forceString", "!!bool", "true")
			}
		}
		if all == nil {
			all = list
		} else {
			all.Content = append(all.Content, list.Content...)
		}
	}
	return all, nil
}

// set writes what --set would set as a file of values, which comes after the others too.
func (h *helmfileApp) set(state object, name, namespace, to string, set *yamlv3.Node) error {
	values := map[string]any{}
	if _, wrong := argoapi.ApplyParameters(values, set, name, namespace); wrong != nil {
		return h.repo.BadAt(state, &yamlv3.Node{Line: wrong.Line}, "set of release %s: %w", name, wrong)
	}
	node := &yamlv3.Node{}
	if err := node.Encode(values); err != nil {
		return h.repo.BadAt(state, set, "set of release %s: %w", name, err)
	}
	shift(node, set.Line)
	return h.put(to, checkout.New(state.File, node))
}
