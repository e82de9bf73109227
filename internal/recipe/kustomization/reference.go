package kustomization

import (
	"errors"
	"io/fs"
	"iter"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reference follows what one file names, from its directory.
type reference struct {
	*walker
	dir, file string
	plugins   bool
}

// fields are the keys and values of a mapping; none of anything else, which is for Kustomize to
// refuse.
func fields(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if n = target(n); n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], target(n.Content[i+1])
			if key.ShortTag() == "!!merge" {
				for _, merged := range append([]*yaml.Node{value}, value.Content...) {
					for k, v := range fields(merged) {
						if !yield(k, v) {
							return
						}
					}
				}
			} else if !yield(key, value) {
				return
			}
		}
	}
}

func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (r *reference) each(list *yaml.Node, do func(*yaml.Node)) {
	if list.Kind == yaml.SequenceNode {
		for _, n := range list.Content {
			do(target(n))
		}
	}
}

func (r *reference) field(n *yaml.Node, name string, do func(*yaml.Node)) {
	for key, value := range fields(n) {
		if key.Value == name && value.Kind == yaml.ScalarNode {
			do(value)
		}
	}
}

// ErrOutside is of a path above the directory that all files are read from.
var ErrOutside = errors.New("leads out of the directory of the recipes; copy what it names there")

// remote is what Kustomize could take for an address: a scheme, a query, the host of a repository,
// the short form of ssh.
var remote = regexp.MustCompile(`://|[?:]|//|^(git|gh)(:|@)|^[^/]+@|^(?i:github\.com)(/|$)|_git/|\.git(/|$)`)

// local gives the path that an entry names, if it is one beside its file or above it.
func (r *reference) local(n *yaml.Node) (string, bool) {
	name := n.Value
	switch {
	case n.Kind != yaml.ScalarNode || name == "":
		return "", false // Kustomize reports what it expects there
	case remote.MatchString(name):
		r.add(r.file, n.Line, "%.200q is a remote base or file, or could be taken for one; only files of the checkout are read: copy it there and name the copy", name)
	case path.IsAbs(name) || strings.Contains(name, `\`):
		r.add(r.file, n.Line, "%.200q is not a path relative to the kustomization; write it with slashes, from there", name)
	default:
		full := path.Join(r.dir, name)
		if fs.ValidPath(full) {
			return full, true
		}
		r.add(r.file, n.Line, "%.200q %w", name, ErrOutside)
	}
	return "", false
}

// file is a local path of an existing file, in the kustomization's own directory or below:
// Kustomize reads no other files.
func (r *reference) regular(n *yaml.Node) (string, bool) {
	name, ok := r.local(n)
	if !ok {
		return "", false
	}
	info, err := r.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.add(r.file, n.Line, "%s does not exist; add it or correct the path", name)
	case err != nil:
		r.add(r.file, n.Line, "%w", err)
	case info.IsDir():
		r.add(r.file, n.Line, "%s is a directory; name a file", name)
	case !within(r.dir, name):
		r.add(r.file, n.Line, "%s is neither in the directory of the kustomization nor below it, so Kustomize does not read it; move it, or make its directory a base", name)
	default:
		return name, true
	}
	return "", false
}

func within(dir, name string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") }

// data is a file of any format.
func (r *reference) data(n *yaml.Node) {
	if name, ok := r.regular(n); ok {
		r.load(name, place{r.file, n.Line})
	}
}

// manifest is a YAML file.
func (r *reference) manifest(n *yaml.Node) {
	if name, ok := r.regular(n); ok {
		if content, ok := r.load(name, place{r.file, n.Line}); ok {
			r.documents(name, content)
		}
	}
}

// resource is a YAML file, or a directory with a kustomization.
func (r *reference) resource(n *yaml.Node, plugins bool) {
	name, ok := r.local(n)
	if !ok {
		return
	}
	if info, err := r.Stat(name); err == nil && info.IsDir() {
		r.directory(name, place{r.file, n.Line}, plugins)
		return
	}
	if !plugins {
		r.manifest(n)
		return
	}
	if name, ok = r.regular(n); !ok {
		return
	}
	content, ok := r.load(name, place{r.file, n.Line})
	if !ok {
		return
	}
	docs, _ := r.documents(name, content)
	at := &reference{walker: r.walker, dir: r.dir, file: name}
	for _, doc := range docs {
		at.configuration(doc.Content[0], doc.Content[0].Line)
	}
}

// plugin is an entry of generators, transformers or validators: a path, or the configuration
// itself.
func (r *reference) plugin(n *yaml.Node) {
	if !inline(n.Value) {
		r.resource(n, true)
		return
	}
	docs, ok := r.documents(r.file, []byte(n.Value))
	for _, doc := range docs {
		if ok {
			r.configuration(doc.Content[0], n.Line)
		}
	}
}

// inline reports whether an entry that may be a path or YAML is an object's YAML. Kustomize tries
// the path first.
func inline(text string) bool {
	var doc yaml.Node
	if strings.Contains(strings.SplitN(text, "\n", 2)[0], "://") || yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 {
		return false
	}
	for key := range fields(doc.Content[0]) {
		if key.Value == "kind" {
			return true
		}
	}
	return false
}

// configuration checks the configuration of a plugin. Plugins that are compiled into Kustomize may
// run, except for the one that downloads charts.
func (r *reference) configuration(n *yaml.Node, line int) {
	var version, kind string
	r.field(n, "apiVersion", func(v *yaml.Node) { version = v.Value })
	r.field(n, "kind", func(v *yaml.Node) { kind = v.Value })
	switch {
	case version != "builtin":
		r.add(r.file, line, "%s %s is a plugin, a program that Kustomize starts, and none is ever started here; use fields of the kustomization, or a plugin of apiVersion builtin", version, kind)
		return
	case strings.HasPrefix(kind, "HelmChart"):
		r.add(r.file, line, startsHelm, kind)
		return
	}
	r.field(n, "path", r.manifest)
	r.generator(n)
	for key, value := range fields(n) {
		switch key.Value {
		case "paths":
			r.each(value, func(n *yaml.Node) {
				if !inline(n.Value) {
					r.manifest(n)
				}
			})
		case "replacements":
			r.each(value, func(n *yaml.Node) { r.field(n, "path", r.manifest) })
		}
	}
}

// generator checks an entry of configMapGenerator or secretGenerator. A file may have a key in
// front. Kustomize would read a variable without a value from the environment of its own process.
func (r *reference) generator(n *yaml.Node) {
	env := func(n *yaml.Node) {
		name, ok := r.regular(n)
		if !ok {
			return
		}
		content, ok := r.load(name, place{r.file, n.Line})
		if !ok {
			return
		}
		for i, line := range strings.Split(string(content), "\n") {
			line = strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF"))
			if line != "" && line[0] != '#' && !strings.Contains(line, "=") {
				r.add(name, i+1, "%.100q has no value, so Kustomize takes it from the environment of the machine that builds; write NAME=VALUE", line)
			}
		}
	}
	r.field(n, "env", env)
	for key, value := range fields(n) {
		switch key.Value {
		case "envs":
			r.each(value, env)
		case "files":
			r.each(value, func(n *yaml.Node) {
				if _, name, ok := strings.Cut(n.Value, "="); ok {
					n = &yaml.Node{Kind: n.Kind, Value: name, Line: n.Line}
				}
				r.data(n)
			})
		}
	}
}
