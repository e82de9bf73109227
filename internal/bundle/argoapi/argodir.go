package argoapi

// argodir.go selects the files of a directory that Argo CD reads as manifests.

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// DirectoryError is what is wrong with a file.
type DirectoryError struct {
	File string
	Line int
	Err  error
}

func (e *DirectoryError) Error() string { return e.Err.Error() }
func (e *DirectoryError) Unwrap() error { return e.Err }

// DirectoryFiles returns those of names, which are below dir, that Argo CD reads for a source with this field
// directory, which may be nil: files of YAML and JSON, in dir alone unless it says recurse, with the patterns of
// include and exclude for their paths from dir, in which * also stands for slashes, and without those that have
// no objects. An error names the pattern that cannot be read, or is an *Error about a file of which Argo CD fails.
func DirectoryFiles(names []string, dir string, directory *yamlv3.Node, read func(name string) ([]byte, error)) ([]string, error) {
	include, err := pattern(directory, "include")
	if err != nil {
		return nil, err
	}
	exclude, err := pattern(directory, "exclude")
	if err != nil {
		return nil, err
	}
	recurse := yamlx.Text(directory, "recurse") == "true"
	var files []string
	for _, name := range names {
		rel := name
		if dir != "." {
			rel = strings.TrimPrefix(name, dir+"/")
		}
		if !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonnet"}, path.Ext(name)) || !recurse && strings.Contains(rel, "/") ||
			exclude != nil && exclude.Match(rel) || include != nil && !include.Match(rel) {
			continue
		}
		content, err := read(name)
		if err != nil {
			return nil, err
		}
		has, line, err := objects(name, content)
		if err != nil {
			return nil, &DirectoryError{name, line, err}
		}
		if has {
			files = append(files, name)
		}
	}
	return files, nil
}

// skipped marks a file that Argo CD does not read.
const skipped = "+argocd:skip-file-rendering"

// objects reports whether Argo CD takes a file for one of objects, as its repo-server does (findManifests): it
// leaves out YAML that is something else, e.g. values, unless it looks like an object. All JSON has to be one.
func objects(name string, content []byte) (has bool, line int, err error) {
	ext := path.Ext(name)
	switch {
	case bytes.Contains(content, []byte(skipped)):
		return false, 0, nil
	case ext == ".jsonnet":
		return false, 1, errors.New("a file of Jsonnet, which Argo CD evaluates, and which is not done here; commit what it makes, or exclude it with directory.exclude")
	}
	looks := true
	for _, key := range []string{"apiVersion:", "kind:", "metadata:"} {
		looks = looks && bytes.Contains(content, []byte(key))
	}
	docs, err := yamlx.Documents(content)
	if err != nil && !looks && ext != ".json" {
		return false, 0, nil
	}
	if err != nil {
		p := yamlx.Problems(err)[0]
		return false, p.Line, errors.New(p.Text)
	}
	if ext == ".json" && len(docs) > 1 {
		return false, docs[1].Line, errors.New("a second object in a file of JSON, of which Argo CD takes one")
	}
	for _, d := range docs {
		if len(d.Content) != 1 || d.Content[0].Tag == "!!null" {
			continue
		}
		n := d.Content[0]
		kind := yamlx.Text(n, "kind")
		switch {
		case kind == "" && ext == ".json":
			return false, n.Line, errors.New("this JSON is no object of Kubernetes, for which Argo CD takes every file of JSON in the directory; exclude it with directory.exclude")
		case kind == "" && !has && !looks:
			return false, 0, nil
		case kind == "":
			return false, n.Line, errors.New("a document without apiVersion or kind, in a file with objects of Kubernetes")
		case yamlx.Text(n, "apiVersion") == "":
			return false, n.Line, fmt.Errorf("a %s without apiVersion", kind)
		}
		has = true
	}
	return has, 0, nil
}

// pattern reads one of the two; nil if it is empty.
func pattern(directory *yamlv3.Node, key string) (glob.Glob, error) {
	text := yamlx.Text(directory, key)
	if text == "" {
		return nil, nil
	}
	g, err := glob.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("directory.%s: %q is no pattern: %w", key, text, err)
	}
	return g, nil
}
