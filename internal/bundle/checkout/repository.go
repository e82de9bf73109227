// Package checkout has the checkout of a repository that an app is in: its files, the objects in them, and
// where a person finds a line of what was made of several files. Links are not followed. It must not know
// deployers, charts or clusters.
package checkout

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/kustomization"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// What an app may have; the limits of a bundle.
const (
	mostFile  = 10 << 20 // bytes of one file
	MostBytes = 64 << 20 // bytes of all
	MostFiles = 10_000
)

const chartFile = "Chart.yaml"

// Repository is the checkout that an app is in. Its files are named from its root, with slashes.
type Repository struct {
	Root    string // an absolute path without links
	Start   string // the app's path in it
	working string // directory, from which people see names
	FSys    fs.FS
	clone   bool     // a .git shows where its root is
	file    bool     // the app is a file
	remotes []string // addresses of the checkout, normal; none if it is no clone
	others  []string // files that patches are from (spots.go)
	// elsewhere are directories of the checkout with files of other repositories, by their normal addresses.
	elsewhere map[string]string
}

// WithOthers notes where the checkout has files of other repositories: directories by addresses. An empty one says that what
// is from there is left out.
func (r *Repository) WithOthers(dirs map[string]string) error {
	r.elsewhere = map[string]string{}
	for _, address := range slices.Sorted(maps.Keys(dirs)) {
		dir := dirs[address]
		if dir != "" {
			if dir = path.Clean(filepath.ToSlash(dir)); dir == "." || !r.HasDir(dir) {
				return fmt.Errorf("repositories: %s: %s is no directory in %s: check the repository out into one, or write \"\" to leave out what is from there", address, dirs[address], r.Root)
			}
		}
		r.elsewhere[normal(address)] = dir
	}
	return nil
}

// Elsewhere is the directory of the checkout with the files of another repository; empty if what is from there is left out.
func (r *Repository) Elsewhere(address string) (dir string, said bool) {
	dir, said = r.elsewhere[normal(address)]
	return dir, said
}

// Here reports whether the checkout has the files of a repository.
func (r *Repository) Here(address string) bool {
	dir, said := r.Elsewhere(address)
	return said && dir != "" || !said && r.Own(address)
}

// HasKustomization reports whether a directory is one of Kustomize.
func (r *Repository) HasKustomization(dir string) bool { return r.Kustomization(dir) != "" }

// Kustomization is the file that makes a directory one of Kustomize; empty if none does.
func (r *Repository) Kustomization(dir string) string {
	for _, name := range kustomization.Names {
		if file := path.Join(dir, name); r.Has(file) {
			return file
		}
	}
	return ""
}

// Open finds the checkout around a path, and the path in it. Outside of a checkout the path's own directory
// is the repository, wherever the program was started: what is beside it is not the app's to read.
func Open(at string) (*Repository, string, error) {
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
	r := &Repository{Root: own, working: working, file: own != full}
	if top := filesys.GitTop(own); top != "" && shared(top) == "" {
		r.Root, r.clone, r.remotes = top, true, remotesOf(top)
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, "", err
	}
	r.FSys = tree{root.FS(), &sync.Map{}}
	rel, err := filepath.Rel(r.Root, full)
	r.Start = filepath.ToSlash(rel)
	return r, r.Start, err
}

// Shared is an error if the app is a file among those of others: its directory would be the repository.
func (r *Repository) Shared() error {
	if what := shared(r.Root); r.file && !r.clone && what != "" {
		return fmt.Errorf("it is a file of %s, %s: an app may read all files of its directory, so put it into one of its own", r.Root, what)
	}
	return nil
}

// shared says what a directory is that has files of more than one thing, so that no .git in it makes all
// of them one repository: a user's home, one above it, and one in which each user may create files.
func shared(dir string) string {
	homes := []string{}
	if home, err := os.UserHomeDir(); err == nil {
		homes = append(homes, home)
	}
	if u, err := user.Current(); err == nil { // HOME may be another one
		homes = append(homes, u.HomeDir)
	}
	for _, home := range homes {
		if real, err := filepath.EvalSymlinks(home); err == nil && filepath.IsAbs(real) && within(dir, real) {
			if dir == real {
				return "your home directory"
			}
			return "which has your home directory in it"
		}
	}
	if info, err := os.Stat(dir); err == nil && info.Mode()&os.ModeSticky != 0 && info.Mode().Perm()&0o002 != 0 {
		return "where each user may create files"
	}
	return ""
}

// Only says, where no .git shows what the repository is, what is taken for it; empty in a clone. It is for the end of
// an error about a file that is missing.
func (r *Repository) Only() string {
	if r.clone {
		return ""
	}
	return fmt.Sprintf(", which is %s alone, since no .git shows where it begins: run `git init` in its root", r.Shown("."))
}

func within(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// Shown is a file's name for people: from the working directory if it is in there.
func (r *Repository) Shown(name string) string {
	full := filepath.Join(r.Root, filepath.FromSlash(name))
	if rel, err := filepath.Rel(r.working, full); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return full
}

// At is the place of an object for people.
func (r *Repository) At(o Object) string {
	file, line := r.Place(o, o.Node.Line)
	return recipe.Origin{File: r.Shown(file), Line: line}.String()
}

// Bad is what is wrong with an object, at a path of keys.
func (r *Repository) Bad(o Object, keys []string, format string, args ...any) error {
	return r.BadLine(o, yamlx.LineOf(o.Node, keys...), fmt.Errorf(format, args...))
}

// BadAt is what is wrong with a node of an object.
func (r *Repository) BadAt(o Object, n *yamlv3.Node, format string, args ...any) error {
	return r.BadLine(o, n.Line, fmt.Errorf(format, args...))
}

// BadLine is what is wrong with a line of an object.
func (r *Repository) BadLine(o Object, line int, err error) error {
	file, line := r.Place(o, line)
	return &recipe.FileError{File: r.Shown(file), Line: line, Err: err}
}

// Has reports whether the repository has a regular file of this name.
func (r *Repository) Has(name string) bool {
	info, err := fs.Lstat(r.FSys, name)
	return err == nil && info.Mode().IsRegular()
}

// HasDir reports whether the repository has a directory of this name.
func (r *Repository) HasDir(name string) bool {
	info, err := fs.Lstat(r.FSys, name)
	return err == nil && info.IsDir()
}

// Read reads a regular file. A link is refused, since it may lead elsewhere.
func (r *Repository) Read(name string) ([]byte, error) {
	info, err := fs.Lstat(r.FSys, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Shown(name), err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: links are not followed", r.Shown(name))
	}
	content, err := filesys.FS(r.FSys, name, mostFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Shown(name), err)
	}
	return content, nil
}

// Walk gives the files below a directory, sorted. It leaves out Git's, and with skip the directories
// that it names.
func (r *Repository) Walk(dir string, skip func(dir string) bool) ([]string, error) {
	var names []string
	err := fs.WalkDir(r.FSys, dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != dir && (e.Name() == ".git" || skip != nil && skip(name)):
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		if names = append(names, name); len(names) > MostFiles {
			return fmt.Errorf("%s has more than %d files; pass the path of one app", r.Shown(dir), MostFiles)
		}
		return nil
	})
	return names, err
}

// Having gives the YAML files that have all of these texts, but for those in hidden directories; ok is
// false if the repository has too many files.
func (r *Repository) Having(texts ...string) (files []string, ok bool) {
	names, err := r.Walk(".", func(dir string) bool { return strings.HasPrefix(path.Base(dir), ".") })
	if err != nil {
		return nil, false
	}
	for _, name := range names {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			continue
		}
		content, err := r.Read(name)
		if err == nil && !slices.ContainsFunc(texts, func(text string) bool { return !bytes.Contains(content, []byte(text)) }) {
			files = append(files, name)
		}
	}
	return files, true
}

// Objects reads the objects of Kubernetes in a YAML file, or in the YAML files below a directory.
// Charts and hidden directories are left out, and so are documents without a kind, e.g. values.
func (r *Repository) Objects(at string) ([]Object, error) {
	names := []string{at}
	if r.HasDir(at) {
		var err error
		if names, err = r.Beside(at); err != nil {
			return nil, err
		}
	}
	return r.ObjectsIn(slices.DeleteFunc(names, func(name string) bool { return path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" }))
}

// Beside gives the files below a directory that are of no chart and in no hidden directory.
func (r *Repository) Beside(dir string) ([]string, error) {
	return r.Walk(dir, func(dir string) bool {
		return strings.HasPrefix(path.Base(dir), ".") || r.Has(path.Join(dir, chartFile))
	})
}

// ObjectsIn reads the objects of files.
func (r *Repository) ObjectsIn(files []string) ([]Object, error) {
	var all []Object
	for _, name := range files {
		found, err := r.Documents(name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Documents reads the objects of a file. A document that is none is an error beside one, as for kubectl and
// Argo CD.
func (r *Repository) Documents(name string) ([]Object, error) {
	all, other, err := r.Parsed(name)
	if err == nil && other != nil && len(all) > 0 {
		err = r.Bad(*other, nil, "a document without apiVersion or kind, in a file with objects of Kubernetes")
	}
	return all, err
}

// Parsed reads the objects of a file, and its first document that is none; nil if each is one.
func (r *Repository) Parsed(name string) (all []Object, other *Object, err error) {
	content, err := r.Read(name)
	if err != nil {
		return nil, nil, err
	}
	docs, err := yamlx.Documents(content)
	if err != nil {
		p := yamlx.Problems(err)[0]
		return nil, nil, &recipe.FileError{File: r.Shown(name), Line: p.Line, Err: errors.New(p.Text)}
	}
	var nodes []*yamlv3.Node
	for _, d := range docs {
		nodes = append(nodes, listed(d.Content...)...)
	}
	for _, n := range nodes {
		o := Object{name, n}
		switch {
		case n.Tag == "!!null":
		case o.Kind() != "" && yamlx.Text(n, "apiVersion") != "":
			all = append(all, o)
		case other == nil:
			other = &o
		}
	}
	return all, other, nil
}

// listed are nodes, and in place of a List its items, as every deployer takes it.
func listed(nodes ...*yamlv3.Node) (all []*yamlv3.Node) {
	for _, n := range nodes {
		if items := yamlx.Find(n, "items"); yamlx.Text(n, "kind") == "List" && items != nil {
			all = append(all, listed(items.Content...)...)
		} else {
			all = append(all, n)
		}
	}
	return all
}

// Own reports whether an address is that of the checkout, or of a fork, which has the same name at
// its end. A checkout that is no clone, or one of a
// directory, has no address, so that any is taken for its own.
func (r *Repository) Own(address string) bool {
	return len(r.remotes) == 0 || slices.ContainsFunc(r.remotes, func(remote string) bool { return path.Base(remote) == path.Base(normal(address)) })
}

// Address is one that is the checkout's own.
func (r *Repository) Address() string {
	if len(r.remotes) == 0 {
		return "https://checkout.invalid/own"
	}
	return "https://" + r.remotes[0]
}

// NotOwn is why a directory of another repository cannot be delivered.
func (r *Repository) NotOwn(address string) string {
	return fmt.Sprintf("%s; check it out into a directory of this one, and name that in --cluster-file: `repositories: {%s: DIR}` (\"\" leaves out what is from there)", r.Foreign(address), address)
}

// Foreign says that an address is that of another repository.
func (r *Repository) Foreign(address string) string {
	return fmt.Sprintf("the repository %s is not this checkout, whose remotes are %s", address, strings.Join(r.remotes, ", "))
}

// mostOfGit is the size of a file of a clone that is read, in bytes.
const mostOfGit = 1 << 20

// remotesOf reads the remotes of a clone's configuration.
func remotesOf(dir string) []string {
	git := filepath.Join(dir, ".git")
	if text, err := filesys.Regular(git, mostOfGit); err == nil { // of a worktree or submodule
		if at, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: "); ok {
			git = at
			if !filepath.IsAbs(at) {
				git = filepath.Join(dir, at)
			}
		}
		if common, err := filesys.Regular(filepath.Join(git, "commondir"), mostOfGit); err == nil {
			git = filepath.Join(git, strings.TrimSpace(string(common)))
		}
	}
	text, err := filesys.Regular(filepath.Join(git, "config"), mostOfGit)
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

// Object is a document of a file of the repository.
type Object struct {
	File string // in the repository
	Node *yamlv3.Node
}

// New is an object of a file.
func New(file string, node *yamlv3.Node) Object { return Object{file, node} }

// Kind is its kind.
func (o Object) Kind() string { return yamlx.Text(o.Node, "kind") }

// Name is its name.
func (o Object) Name() string { return yamlx.Text(o.Node, "metadata", "name") }

// Group is its API group.
func (o Object) Group() string {
	group, _, _ := strings.Cut(yamlx.Text(o.Node, "apiVersion"), "/")
	return group
}

// Origin is the place of a node of an object.
func (r *Repository) Origin(o Object, line int) recipe.Origin {
	file, line := r.Place(o, line)
	return recipe.Origin{File: r.Shown(file), Line: line}
}
