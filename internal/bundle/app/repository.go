package app

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/kustomize"
	"github.com/nvidia/aicr-action/internal/util/bounded"
	"github.com/nvidia/aicr-action/internal/util/gitdir"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// What an app may have; the limits of a bundle.
const (
	mostFile  = 10 << 20 // bytes of one file
	mostBytes = 64 << 20 // bytes of all
	mostFiles = 10_000
)

const (
	chartFile         = "Chart.yaml"
	kustomizationFile = "kustomization.yaml"
)

// repository is the checkout that an app is in. Its files are named from its root, with slashes.
type repository struct {
	root    string // an absolute path without links
	start   string // the app's path in it
	working string // directory, from which people see names
	fsys    fs.FS
	remotes []string // addresses of the checkout, normal; none if it is no clone
	others  []string // files that patches are from (spots.go)
}

// hasKustomization reports whether a directory is one of Kustomize.
func (r *repository) hasKustomization(dir string) bool { return r.kustomization(dir) != "" }

// kustomization is the file that makes a directory one of Kustomize; empty if none does.
func (r *repository) kustomization(dir string) string {
	for _, name := range kustomize.Names {
		if file := path.Join(dir, name); r.has(file) {
			return file
		}
	}
	return ""
}

// openRepository finds the checkout around a path, and the path in it. Outside of a checkout, the
// working directory is the repository, or the path's own if it is elsewhere.
func openRepository(at string) (*repository, string, error) {
	full, err := filepath.Abs(at)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return nil, "", err
	}
	info, err := os.Stat(full)
	if err != nil {
		return nil, "", err
	}
	own := full
	if !info.IsDir() {
		own = filepath.Dir(full)
	}
	working, err := os.Getwd()
	if err == nil {
		working, err = filepath.EvalSymlinks(working)
	}
	if err != nil {
		return nil, "", err
	}
	r := &repository{root: own, working: working}
	if within(working, own) {
		r.root = working
	}
	if top := gitdir.Top(own); top != "" {
		r.root, r.remotes = top, remotesOf(top)
	}
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, "", err
	}
	r.fsys = root.FS()
	rel, err := filepath.Rel(r.root, full)
	r.start = filepath.ToSlash(rel)
	return r, r.start, err
}

func within(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// shown is a file's name for people: from the working directory if it is in there.
func (r *repository) shown(name string) string {
	full := filepath.Join(r.root, filepath.FromSlash(name))
	if rel, err := filepath.Rel(r.working, full); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return full
}

// at is the place of an object for people.
func (r *repository) at(o object) string {
	file, line := r.place(o, o.node.Line)
	return recipe.Origin{File: r.shown(file), Line: line}.String()
}

// bad is what is wrong with an object, at a path of keys.
func (r *repository) bad(o object, keys []string, format string, args ...any) error {
	return r.badLine(o, yamlx.LineOf(o.node, keys...), fmt.Errorf(format, args...))
}

// badAt is what is wrong with a node of an object.
func (r *repository) badAt(o object, n *yamlv3.Node, format string, args ...any) error {
	return r.badLine(o, n.Line, fmt.Errorf(format, args...))
}

func (r *repository) badLine(o object, line int, err error) error {
	file, line := r.place(o, line)
	return &recipe.FileError{File: r.shown(file), Line: line, Err: err}
}

// has reports whether the repository has a regular file of this name.
func (r *repository) has(name string) bool {
	info, err := fs.Lstat(r.fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// hasDir reports whether the repository has a directory of this name.
func (r *repository) hasDir(name string) bool {
	info, err := fs.Lstat(r.fsys, name)
	return err == nil && info.IsDir()
}

// read reads a regular file. A link is refused, since it may lead elsewhere.
func (r *repository) read(name string) ([]byte, error) {
	info, err := fs.Lstat(r.fsys, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.shown(name), err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: links are not followed", r.shown(name))
	}
	content, err := bounded.FS(r.fsys, name, mostFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.shown(name), err)
	}
	return content, nil
}

// walk gives the files below a directory, sorted. It leaves out Git's, and with skip the directories
// that it names.
func (r *repository) walk(dir string, skip func(dir string) bool) ([]string, error) {
	var names []string
	err := fs.WalkDir(r.fsys, dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != dir && (e.Name() == ".git" || skip != nil && skip(name)):
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		if names = append(names, name); len(names) > mostFiles {
			return fmt.Errorf("%s has more than %d files; pass the path of one app", r.shown(dir), mostFiles)
		}
		return nil
	})
	return names, err
}

// objects reads the objects of Kubernetes in a YAML file, or in the YAML files below a directory.
// Charts and hidden directories are left out, and so are documents without a kind, e.g. values.
func (r *repository) objects(at string) ([]object, error) {
	names := []string{at}
	if r.hasDir(at) {
		var err error
		if names, err = r.beside(at); err != nil {
			return nil, err
		}
	}
	return r.objectsIn(slices.DeleteFunc(names, func(name string) bool { return path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" }))
}

// beside gives the files below a directory that are of no chart and in no hidden directory.
func (r *repository) beside(dir string) ([]string, error) {
	return r.walk(dir, func(dir string) bool {
		return strings.HasPrefix(path.Base(dir), ".") || r.has(path.Join(dir, chartFile))
	})
}

func (r *repository) objectsIn(files []string) ([]object, error) {
	var all []object
	for _, name := range files {
		found, err := r.documents(name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// documents reads the objects of a file.
func (r *repository) documents(name string) ([]object, error) {
	content, err := r.read(name)
	if err != nil {
		return nil, err
	}
	docs, err := yamlx.Documents(content)
	if err != nil {
		p := yamlx.Problems(err)[0]
		return nil, &recipe.FileError{File: r.shown(name), Line: p.Line, Err: errors.New(p.Text)}
	}
	var all []object
	var other *object // no object of Kubernetes: an error beside one, as for kubectl, Argo CD and Flux
	for _, d := range docs {
		if len(d.Content) != 1 {
			continue
		}
		o := object{name, d.Content[0]}
		switch {
		case o.node.Tag == "!!null":
		case o.kind() == "List":
			return nil, r.bad(o, nil, "a List is not understood; write its items as documents of their own")
		case o.kind() != "" && yamlx.Text(o.node, "apiVersion") != "":
			all = append(all, o)
		case other == nil:
			other = &o
		}
	}
	if other != nil && len(all) > 0 {
		return nil, r.bad(*other, nil, "a document without apiVersion or kind, in a file with objects of Kubernetes")
	}
	return all, nil
}

// own reports whether an address is that of the checkout, or of a fork, which has the same name at
// its end. A checkout that is no clone, or one of a
// directory, has no address, so that any is taken for its own.
func (r *repository) own(address string) bool {
	return len(r.remotes) == 0 || slices.ContainsFunc(r.remotes, func(remote string) bool { return path.Base(remote) == path.Base(normal(address)) })
}

// notOwn is why a directory of another repository cannot be delivered.
func (r *repository) notOwn(address string) string {
	return fmt.Sprintf("the repository %s is not this checkout, whose remotes are %s; only charts are taken from elsewhere", address, strings.Join(r.remotes, ", "))
}

// mostOfGit is the size of a file of a clone that is read, in bytes.
const mostOfGit = 1 << 20

// remotesOf reads the remotes of a clone's configuration.
func remotesOf(dir string) []string {
	git := filepath.Join(dir, ".git")
	if text, err := bounded.Regular(git, mostOfGit); err == nil { // of a worktree or submodule
		if at, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: "); ok {
			git = at
			if !filepath.IsAbs(at) {
				git = filepath.Join(dir, at)
			}
		}
		if common, err := bounded.Regular(filepath.Join(git, "commondir"), mostOfGit); err == nil {
			git = filepath.Join(git, strings.TrimSpace(string(common)))
		}
	}
	text, err := bounded.Regular(filepath.Join(git, "config"), mostOfGit)
	if err != nil {
		return nil
	}
	var all []string
	remote := false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			remote = strings.HasPrefix(line, "[remote ")
		}
		if key, value, ok := strings.Cut(line, "="); ok && remote && strings.TrimSpace(key) == "url" && !local(strings.TrimSpace(value)) {
			all = append(all, normal(strings.TrimSpace(value)))
		}
	}
	return all
}

// local reports whether a remote is a directory of this machine, whose name says nothing of the
// repository's address.
func local(address string) bool {
	return strings.HasPrefix(address, "/") || strings.HasPrefix(address, ".") || strings.HasPrefix(address, "file:")
}

// normal is an address of a Git repository without what does not tell it from others: HOST/PATH.
func normal(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Hostname() + "/" + strings.Trim(u.Path, "/")
	} else if user, rest, ok := strings.Cut(address, "@"); ok && !strings.Contains(user, "/") { // git@HOST:PATH
		address = strings.Replace(rest, ":", "/", 1)
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(address, "/"), ".git"))
}
