// Package kustomization finds the files that a kustomization is made of, and refuses those that
// Kustomize would fetch, start, or read elsewhere: remote bases, plugins, charts, links and what
// leads out of the directory. Everything it refuses has a file and a line, before anything is
// built.
//
// It reads YAML. It must not know recipes, or what a build makes of the files (package render).
package kustomization

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// The most that one kustomization may be made of. The largest public ones have 200 files in 5 MiB.
const (
	mostFiles = 2000
	mostBytes = 32 << 20
)

// Names are what Kustomize calls the file that makes a directory a kustomization.
var Names = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// File is one of the files of a kustomization.
type File struct {
	Path    string // slash separated, relative to the root of the file system
	Content []byte
}

// Problem is what is wrong with a kustomization. It is about the directory that was asked for if
// File is empty.
type Problem struct {
	File string // as File.Path has it
	Line int    // 1-based; 0 for the file as a whole
	Err  error
}

// Reader reads the files. It must refuse links, what is too large, and paths that lead out of it.
type Reader interface {
	Read(name string) ([]byte, error)
	// Stat follows no link. A name that does not exist is fs.ErrNotExist.
	Stat(name string) (fs.FileInfo, error)
}

// Walk finds the files of the kustomization in a directory, and of those that it names, in the
// order in which it meets them. If there is a problem, the files are not all.
func Walk(r Reader, dir string) ([]File, []Problem) {
	w := &walker{Reader: r, visited: map[string]bool{}}
	if info, err := r.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		w.add("", 0, "the directory %s does not exist; add it or correct the path", dir)
	} else if err != nil {
		w.add("", 0, "%w", err)
	} else if !info.IsDir() {
		w.add("", 0, "%s is not a directory; name the directory of a kustomization.yaml", dir)
	} else {
		w.directory(dir, place{}, false)
	}
	return w.files, w.problems
}

type walker struct {
	Reader
	files    []File
	size     int
	visited  map[string]bool // directories and files
	problems []Problem
}

// place is the line of a kustomization that names something.
type place struct {
	file string
	line int
}

func (w *walker) add(file string, line int, format string, args ...any) {
	w.problems = append(w.problems, Problem{file, line, fmt.Errorf(format, args...)})
}

func (w *walker) full() bool { return len(w.files) > mostFiles || w.size > mostBytes }

// load reads a file once; false if it is known already, or cannot be read.
func (w *walker) load(name string, at place) ([]byte, bool) {
	if w.visited[name] || w.full() {
		return nil, false
	}
	w.visited[name] = true
	content, err := w.Read(name)
	if err != nil {
		w.add(at.file, at.line, "%w", err)
		return nil, false
	}
	w.files = append(w.files, File{name, content})
	if w.size += len(content); w.full() {
		w.add(at.file, at.line, "with %s the kustomization has %d files and %d MiB; the limits are %d files and %d MiB", name, len(w.files), w.size>>20, mostFiles, mostBytes>>20)
		return nil, false
	}
	return content, true
}

// directory reads the kustomization of a directory. With plugins, what its resources have are the
// configurations of plugins.
func (w *walker) directory(dir string, at place, plugins bool) {
	if w.visited[dir] {
		return
	}
	w.visited[dir] = true
	var found []string
	for _, name := range Names {
		if _, err := w.Stat(path.Join(dir, name)); err == nil {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		w.add(at.file, at.line, "%s has no kustomization.yaml; add one or correct the path", dir)
		return
	case 1:
	default:
		w.add(at.file, at.line, "%s has both %s; Kustomize takes one: remove the others", dir, strings.Join(found, " and "))
		return
	}
	file := path.Join(dir, found[0])
	content, ok := w.load(file, place{at.file, at.line})
	if !ok {
		return
	}
	docs, ok := w.documents(file, content)
	if !ok {
		return
	}
	if len(docs) != 1 || docs[0].Content[0].Kind != yaml.MappingNode {
		w.add(file, 1, "it has %d YAML documents; a kustomization is one, and a mapping", len(docs))
		return
	}
	w.kustomization(&reference{walker: w, dir: dir, file: file, plugins: plugins}, docs[0].Content[0])
}

// documents parses a file. What is wrong with one that Kustomize cannot read either is said here,
// with its line.
func (w *walker) documents(file string, content []byte) ([]*yaml.Node, bool) {
	docs, err := yamlx.Documents(content)
	if err == nil {
		return slices.DeleteFunc(docs, func(d *yaml.Node) bool { return len(d.Content) == 0 || d.Content[0].ShortTag() == "!!null" }), true
	}
	var large *yamlx.TooLargeError
	if errors.As(err, &large) {
		w.add(file, large.Line, "%w", err)
		return nil, false
	}
	for _, p := range yamlx.Problems(err) {
		w.add(file, p.Line, "malformed YAML: %s; correct it", p.Text)
	}
	return nil, false
}

// startsHelm is the error of what makes objects of a chart. Of the deployers, only Argo CD does it, with
// --enable-helm among its kustomize.buildOptions.
const startsHelm = "%s has Kustomize start helm, which is never done here, and by Argo CD only with --enable-helm; deliver the chart by itself: as a component of type Helm, an Application or a HelmRelease"

// kustomization follows the fields that name files, and refuses those that need a program or a
// network.
func (w *walker) kustomization(r *reference, root *yaml.Node) {
	for key, value := range fields(root) {
		switch key.Value {
		case "resources", "bases":
			r.each(value, func(n *yaml.Node) { r.resource(n, r.plugins) })
		case "components":
			r.each(value, func(n *yaml.Node) { r.resource(n, r.plugins) })
		case "generators", "transformers", "validators":
			r.each(value, r.plugin)
		case "crds", "configurations":
			r.each(value, r.data)
		case "openapi":
			r.field(value, "path", r.data)
		case "patches", "patchesJson6902", "replacements":
			r.each(value, func(n *yaml.Node) { r.field(n, "path", r.manifest) })
		case "patchesStrategicMerge":
			r.each(value, func(n *yaml.Node) {
				if !inline(n.Value) {
					r.manifest(n)
				}
			})
		case "configMapGenerator", "secretGenerator":
			r.each(value, r.generator)
		case "helmCharts", "helmChartInflationGenerator", "helmGlobals":
			w.add(r.file, key.Line, startsHelm, key.Value)
		}
	}
}
