package app

import (
	"path"
	"slices"

	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// namespace notes the namespace of an object, and what to do if nothing creates it. It gives the file of the
// repository that has it if the cell has to create it, since what is delivered here may not.
func (l *layout) namespace(o object, line int, namespace string, creates bool, otherwise string) (elsewhere string) {
	if intake.EveryCluster(namespace) {
		return ""
	}
	applied := slices.ContainsFunc(l.applied, func(o object) bool { return o.Kind() == "Namespace" && o.Name() == namespace })
	if !creates && !applied {
		var left string
		if elsewhere, left = l.fileOf(namespace, path.Dir(o.File)); left != "" && elsewhere == "" {
			otherwise += " (" + left + " has it, and is not delivered)"
		}
	}
	of := result.Ref{Group: o.Group(), Kind: o.Kind(), Namespace: yamlx.Text(o.Node, "metadata", "namespace"), Name: o.Name()}
	l.Namespaces = append(l.Namespaces, intake.UserAppNamespace{Of: of, At: l.repo.Origin(o, line), Name: namespace, Creates: creates || elsewhere != "", Else: otherwise})
	return elsewhere
}

// fileOf is a file of the repository that has a namespace, or may have it; empty if there is none. One in
// a directory, or beside a file, that is delivered here is left: it is delivered too, or it was forgotten.
func (l *layout) fileOf(namespace, beside string) (file, left string) {
	files, ok := l.repo.Having("kind: Namespace", namespace)
	if !ok {
		return "the repository", "" // of which not all is read
	}
	for _, file := range files {
		found, err := l.repo.Documents(file)
		if err == nil && !slices.ContainsFunc(found, func(o object) bool { return o.Kind() == "Namespace" && o.Name() == namespace }) {
			continue
		}
		if dir := path.Dir(file); dir != beside && !slices.ContainsFunc(l.dirs, func(d string) bool { return below(d, dir) }) {
			return l.repo.Shown(file), left // one that cannot be read may be a template that has it
		}
		left = l.repo.Shown(file)
	}
	return "", left
}
