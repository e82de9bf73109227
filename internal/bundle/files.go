package bundle

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"text/template"

	"al.essio.dev/pkg/shellescape"

	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

//go:embed templates/*.tmpl
var templates embed.FS

// errNotEmpty means that a bundle was to be written over something that is already there.
var errNotEmpty = errors.New("directory is not empty")

func sortFiles(files []File) {
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
}

// fileSet collects the files of a bundle.
type fileSet struct{ files []File }

func (s *fileSet) add(path string, content []byte) {
	s.files = append(s.files, File{Path: path, Mode: 0o644, Content: content})
}

// addYAML adds an object, or several as documents of one file.
func (s *fileSet) addYAML(path string, docs ...any) error {
	var b bytes.Buffer
	for i, doc := range docs {
		if i > 0 {
			b.WriteString("---\n")
		}
		text, err := marshal(doc)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		b.Write(text)
	}
	s.add(path, b.Bytes())
	return nil
}

// addTemplate adds a file for people, made of one of templates/.
func (s *fileSet) addTemplate(path string, mode uint32, name string, data any) error {
	t, err := template.New(name).Funcs(template.FuncMap{
		"quote": shellescape.Quote,
		// What a recipe has is code or plain text in a README.
		"plain": mdtext.Plain, "code": mdtext.Code, "cell": mdtext.CellCode,
		"line": func(text string) string { return strings.Join(strings.Fields(mdtext.Visible(text)), " ") },
		"inc":  func(i int) int { return i + 1 },
	}).ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.files = append(s.files, File{Path: path, Mode: mode, Content: b.Bytes()})
	return nil
}

// addDir adds files below a directory.
func (s *fileSet) addDir(dir string, files []File) {
	for _, f := range files {
		f.Path = dir + "/" + f.Path
		s.files = append(s.files, f)
	}
}

// finish sorts the files, refuses two of one path and adds checksums.txt.
func (s *fileSet) finish() ([]File, error) {
	sortFiles(s.files)
	for i := 1; i < len(s.files); i++ {
		if s.files[i].Path == s.files[i-1].Path {
			return nil, fmt.Errorf("bundle: two files would be called %s", s.files[i].Path)
		}
	}
	s.add(checksumsFile, checksums(s.files))
	sortFiles(s.files)
	return s.files, nil
}

// Sum sorts the files and writes checksums.txt again, for a caller that changed some of them.
func (b *Bundle) Sum() (err error) {
	s := &fileSet{files: slices.DeleteFunc(b.Files, func(f File) bool { return f.Path == checksumsFile })}
	b.Files, err = s.finish()
	return err
}

const checksumsFile = "checksums.txt"

// checksums is what `sha256sum` prints for the files, sorted by path; `sha256sum -c checksums.txt`
// verifies them.
func checksums(files []File) []byte {
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(f.Content), f.Path)
	}
	return b.Bytes()
}

// WriteTo writes the bundle's files to a directory, and creates the directory if it is missing. A
// directory with any file in it is an errNotEmpty, so that a person's files are not overwritten.
// With force the bundle's files replace files of the same name, and other files stay.
func (b *Bundle) WriteTo(dir string, force bool) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("writing the %s bundle: %w", b.Deployer, err)
	case len(entries) > 0 && !force:
		return fmt.Errorf("writing the %s bundle to %s: %w: it has %s; choose another directory or overwrite with --force", b.Deployer, dir, errNotEmpty, entries[0].Name())
	}
	for _, f := range b.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return fmt.Errorf("writing the %s bundle: %q is not inside it", b.Deployer, f.Path)
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("writing the %s bundle: %w", b.Deployer, err)
		}
		if err := os.WriteFile(path, f.Content, fs.FileMode(f.Mode)); err != nil {
			return fmt.Errorf("writing the %s bundle: %w", b.Deployer, err)
		}
		// WriteFile leaves the mode of a file that was there.
		if err := os.Chmod(path, fs.FileMode(f.Mode)); err != nil {
			return fmt.Errorf("writing the %s bundle: %w", b.Deployer, err)
		}
	}
	return nil
}
