package intake

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// What a bundle may have. The largest one of AICR's recipes has 150 files and 2 MiB.
const (
	mostFile  = 10 << 20 // bytes of one file
	mostBytes = 64 << 20 // bytes of all
	mostFiles = 10_000   // files and directories
)

const checksumsFile = "checksums.txt"

// tree is a bundle's directory, read whole.
type tree struct {
	dir   string
	name  string // of the directory, as a person can open it
	files map[string]bundle.File
	// original has the files as they are in the directory.
	original map[string]bundle.File
	notes    []string // what was read in another way than it is written
	// filled are places whose values are to be filled in where the bundle is installed.
	filled []string
	// places are of files that were made from others.
	places map[string]UserAppPlace
}

// readTree reads a directory. It rejects links and other files that are not regular, since they
// lead to content outside of the bundle.
func readTree(dir, called string) (*tree, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // opened for reading
	t := &tree{dir: dir, name: called, files: map[string]bundle.File{}}
	size, entries := 0, 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" && e.IsDir():
			return fs.SkipDir
		}
		if entries++; entries > mostFiles {
			return fmt.Errorf("%s has more than %d files and directories; no bundle needs that", dir, mostFiles)
		}
		if e.IsDir() {
			return nil
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is %s; a bundle may have regular files and directories only", t.at(name, 0), kindOf(e.Type()))
		}
		data, err := filesys.FS(root.FS(), name, mostFile)
		if err != nil {
			return t.bad(name, 0, "%w", err)
		}
		if size += len(data); size > mostBytes {
			return fmt.Errorf("%s has more than %d MiB; no bundle needs that", dir, mostBytes>>20)
		}
		mode := uint32(0o644)
		if info, err := e.Info(); err == nil && info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		t.files[name] = bundle.File{Path: name, Mode: mode, Content: data}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.leaveImage()
	if len(t.files) == 0 {
		return nil, fmt.Errorf("%s has no files", dir)
	}
	t.original = maps.Clone(t.files)
	return t, nil
}

// imageFile matches the files of an image as the OCI image layout has them. AICR's CLI packs what it pushes in the directory
// of the bundle, and leaves it there.
var imageFile = regexp.MustCompile(`^(oci-layout|index\.json|blobs/sha256/[0-9a-f]{64}|ingest/.*)$`)

// leaveImage leaves out the packed image, which is no part of the bundle, so that its list does not have it.
func (t *tree) leaveImage() {
	if f, ok := t.files["oci-layout"]; !ok || !bytes.Contains(f.Content, []byte("imageLayoutVersion")) {
		return
	}
	maps.DeleteFunc(t.files, func(name string, _ bundle.File) bool { return imageFile.MatchString(name) })
}

func kindOf(m fs.FileMode) string {
	if m&fs.ModeSymlink != 0 {
		return "a symbolic link"
	}
	return "no regular file"
}

// at is a place in the bundle.
func (t *tree) at(name string, line int) recipe.Origin {
	if p, ok := t.places[name]; ok {
		return p.Origin(line)
	}
	return recipe.Origin{File: filepath.Join(t.name, filepath.FromSlash(name)), Line: line}
}

// bad is what is wrong with a place in the bundle.
func (t *tree) bad(name string, line int, format string, args ...any) error {
	o := t.at(name, line)
	return &recipe.FileError{File: o.File, Line: o.Line, Err: fmt.Errorf(format, args...)}
}

// inside resolves a path that a file of the bundle names. One that leads out of the bundle is
// refused.
func (t *tree) inside(from string, line int, dir, name string) (string, error) {
	full := path.Join(dir, name)
	if path.IsAbs(name) || !fs.ValidPath(full) {
		return "", t.bad(from, line, "%q leads out of the bundle", name)
	}
	return full, nil
}

// noSources refuses files by which Argo CD would change a source when it reads the bundle.
func (t *tree) noSources() error {
	for _, name := range t.names() {
		if render.IsArgoSource(path.Base(name)) {
			return t.bad(name, 1, "Argo CD merges this file into the source of the Application that reads its directory, past the checks of that Application: write what it sets into the Application")
		}
	}
	return nil
}

func (t *tree) names() []string { return slices.Sorted(maps.Keys(t.files)) }

// verify compares the files with checksums.txt, if there is one, and says which files it does not
// have.
func (t *tree) verify() (warnings []string, err error) {
	sums, ok := t.files[checksumsFile]
	if !ok {
		return nil, nil
	}
	listed := map[string]bool{checksumsFile: true}
	for i, line := range strings.Split(string(sums.Content), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sum, name, ok := strings.Cut(line, " ")
		name = strings.TrimPrefix(strings.TrimLeft(name, " *"), "./")
		if !ok || len(sum) != 2*sha256.Size {
			return nil, t.bad(checksumsFile, i+1, "not a line of sha256sum: %.80q", line)
		}
		if name, err = t.mapped(i+1, name); err != nil {
			return nil, err
		}
		f, ok := t.files[name]
		if !ok {
			return nil, t.bad(checksumsFile, i+1, "%s is listed and is not in the bundle: copy all of its files, or make it again", name)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(f.Content)); !strings.EqualFold(got, sum) {
			return nil, t.bad(checksumsFile, i+1, "%s has the SHA-256 %s and not %s: it was changed after the bundle was made; make the bundle again", name, got, sum)
		}
		listed[name] = true
	}
	var others []string
	for _, name := range t.names() {
		if !listed[name] {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s does not cover %s", t.at(checksumsFile, 0), fewOf(others)))
	}
	return warnings, nil
}

// mapped gives the file of the bundle that a line of checksums.txt names. AICR's CLI of July writes
// paths from the root of its own machine where it publishes a bundle: the longest end of such a path
// that the bundle has is meant.
func (t *tree) mapped(line int, name string) (string, error) {
	if !path.IsAbs(name) {
		return t.inside(checksumsFile, line, "", name)
	}
	for rest := strings.TrimPrefix(path.Clean(name), "/"); rest != ""; {
		if _, ok := t.files[rest]; ok {
			return rest, nil
		}
		_, after, more := strings.Cut(rest, "/")
		if !more {
			break
		}
		rest = after
	}
	return "", t.bad(checksumsFile, line, "%s is listed, and no file of the bundle is at the end of this path: copy all of its files, or make it again", name)
}

// fewOf names the first three.
func fewOf(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
}

// documents reads a YAML file of the bundle. Empty documents are left out.
func (t *tree) documents(name string) ([]*yamlv3.Node, error) {
	docs, err := yamlx.Documents(t.files[name].Content)
	if err != nil {
		p := yamlx.Problems(err)[0]
		return nil, t.bad(name, p.Line, "%s", p.Text)
	}
	var roots []*yamlv3.Node
	for _, d := range docs {
		if len(d.Content) == 1 && d.Content[0].Kind == yamlv3.MappingNode {
			roots = append(roots, d.Content[0])
		} else if len(d.Content) == 1 && d.Content[0].Tag != "!!null" {
			return nil, t.bad(name, d.Content[0].Line, "this is no mapping: write an object of Kubernetes, or values for Helm")
		}
	}
	return roots, nil
}

// chart loads the chart in a directory of the bundle, with the limits for untrusted charts.
func (t *tree) chart(dir string) (*chart.Chart, error) {
	fsys, err := archive.Open(t.dir)
	if err != nil {
		return nil, err
	}
	files, err := archive.Directory(fsys, dir)
	if err != nil {
		return nil, t.bad(dir, 0, "%w", err)
	}
	for _, f := range files {
		if read, ok := t.files[path.Join(dir, f.Name)]; ok {
			f.Data = read.Content // which may be another one by now
		}
	}
	ch, err := loader.LoadFiles(files)
	if err != nil {
		return nil, t.bad(path.Join(dir, "Chart.yaml"), 0, "not a chart: %w", err)
	}
	return ch, nil
}

// replaced gives the bundle's files with others for some, and checksums.txt, if there is one, for
// what they are now.
func (t *tree) replaced(others map[string][]byte) []bundle.File {
	var files []bundle.File
	var sums bytes.Buffer
	for _, name := range t.names() {
		f := t.files[name]
		if other, ok := others[name]; ok {
			f.Content = other
		}
		if name != checksumsFile {
			files = append(files, f)
			_, _ = fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.Content), name) // a buffer does not fail
		}
	}
	if f, ok := t.files[checksumsFile]; ok {
		f.Content = sums.Bytes()
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b bundle.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}
