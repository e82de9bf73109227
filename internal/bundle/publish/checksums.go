package publish

// checksums.go compares a bundle's directory with its checksums.txt: each file is listed with its
// digest, and nothing else is there. It must not know what is in a bundle.

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// ChecksumsFile is the list of a bundle's files, as sha256sum writes it.
const ChecksumsFile = "checksums.txt"

// mostList is the largest checksums.txt that is read, in bytes.
const mostList = 10 << 20

// attestations gives the files that AICR's own CLI adds to a bundle that it signs. They are about
// checksums.txt, so that it cannot list them.
func attestations() []string {
	return []string{"attestation/aicr-attestation.sigstore.json", "attestation/bundle-attestation.sigstore.json"}
}

// ChecksumReport is what was found.
type ChecksumReport struct {
	// Files is how many files are as the list has them.
	Files int
	// Problems are sorted by file and line.
	Problems []*document.FileError
	// Attestations that are there. Nothing here verifies them.
	Attestations []string
	// Unlisted are files that the list of an older release of AICR does not have, and that deploy nothing.
	Unlisted []string
}

// resolvedFile is the resolved recipe beside a bundle for Helm. AICR's CLI until v0.20 wrote it after the list.
const resolvedFile = "recipe.yaml"

// reader collects a Report.
type reader struct {
	dir    string
	listed map[string]int // line of each file in the list
	sums   map[string]string
	index  bool // the list has the bundle's index, as it has since AICR 1.0
	report ChecksumReport
}

// Check compares a directory with its list. The error says that it cannot be read, or has no list.
func Check(dir string) (ChecksumReport, error) {
	info, err := os.Stat(dir)
	var of *fs.PathError
	switch {
	case errors.As(err, &of):
		return ChecksumReport{}, fmt.Errorf("bundle %s: %w", dir, of.Err)
	case err != nil:
		return ChecksumReport{}, err
	case !info.IsDir():
		return ChecksumReport{}, fmt.Errorf("bundle %s: it is not a directory", dir)
	}
	if info, err := os.Lstat(filepath.Join(dir, ChecksumsFile)); err == nil && !info.Mode().IsRegular() {
		return ChecksumReport{}, fmt.Errorf("bundle %s: %s is no regular file, and a link may lead out of the bundle; make the bundle again", dir, ChecksumsFile)
	}
	list, err := filesys.FS(os.DirFS(dir), ChecksumsFile, mostList)
	if errors.Is(err, fs.ErrNotExist) {
		return ChecksumReport{}, fmt.Errorf("bundle %s: it has no %s, so that nobody can tell whether it is whole; make the bundle again", dir, ChecksumsFile)
	}
	if err != nil {
		return ChecksumReport{}, fmt.Errorf("bundle %s: read %s: %w", dir, ChecksumsFile, err)
	}
	r := &reader{dir: dir, listed: map[string]int{}, sums: map[string]string{}}
	r.read(list)
	if err := r.walk(); err != nil {
		return ChecksumReport{}, err
	}
	slices.SortStableFunc(r.report.Problems, func(a, b *document.FileError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return r.report, nil
}

func (r *reader) add(name string, line int, format string, args ...any) {
	at := document.Origin{File: filepath.ToSlash(filepath.Join(r.dir, filepath.FromSlash(name))), Line: line}
	r.report.Problems = append(r.report.Problems, document.ErrorAt(at, format, args...))
}

// read reads the list. AICR's CLI of July writes paths from the root of its own machine where it
// publishes a bundle: the directory that all of them have in common is the bundle's.
func (r *reader) read(list []byte) {
	type entry struct {
		line      int
		sum, name string
	}
	var entries []entry
	root := ""
	for i, text := range bytes.Split(list, []byte("\n")) {
		line := strings.TrimRight(string(text), "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		sum, name, ok := strings.Cut(line, "  ")
		if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size || name == "" {
			r.add(ChecksumsFile, i+1, "%.80q is not a line of sha256sum: a SHA-256, two spaces and a file", line)
			continue
		}
		if path.IsAbs(name) {
			root = common(root, path.Dir(name))
		}
		entries = append(entries, entry{i + 1, sum, name})
	}
	for _, e := range entries {
		r.index = r.index || path.Base(e.name) == bundleInfoFile
		name := strings.TrimPrefix(e.name, "./")
		if path.IsAbs(name) {
			name = strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
		}
		switch first, twice := r.listed[name]; {
		case !fs.ValidPath(name) || name == ".":
			r.add(ChecksumsFile, e.line, "%.100q leads out of the bundle", e.name)
		case twice:
			r.add(ChecksumsFile, e.line, "%s is already on line %d", name, first)
		case name == ChecksumsFile || slices.Contains(attestations(), name):
			r.add(ChecksumsFile, e.line, "%s cannot be in the list, since it is about the list", name)
		default:
			r.listed[name], r.sums[name] = e.line, strings.ToLower(e.sum)
		}
	}
}

// common is the directory that two directories are in; an empty one is in every other.
func common(a, b string) string {
	if a == "" {
		return b
	}
	for a != "/" && a != b && !strings.HasPrefix(b, a+"/") {
		a = path.Dir(a)
	}
	return a
}

// walk looks at everything in the directory.
func (r *reader) walk() error {
	seen := map[string]bool{}
	var dirs []string
	err := filepath.WalkDir(r.dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(r.dir, file)
		if err != nil || rel == "." {
			return err
		}
		name := filepath.ToSlash(rel)
		switch {
		case d.IsDir():
			dirs = append(dirs, name)
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			seen[name] = true
			r.add(name, 0, "it is a symbolic link, and a bundle has only files")
			return nil
		case !d.Type().IsRegular():
			seen[name] = true
			r.add(name, 0, "it is no regular file, and a bundle has only files")
			return nil
		}
		seen[name] = true
		return r.file(name, file)
	})
	if err != nil {
		return fmt.Errorf("bundle %s: %w", r.dir, err)
	}
	for name, line := range r.listed {
		if !seen[name] {
			r.add(ChecksumsFile, line, "%s is not in the bundle", name)
		}
	}
	for _, dir := range dirs {
		holds := false
		for name := range seen {
			holds = holds || strings.HasPrefix(name, dir+"/")
		}
		if !holds {
			r.add(dir, 0, "the directory has no file, and the list none in it; remove it")
		}
	}
	return nil
}

// file compares one file with the list.
func (r *reader) file(name, file string) error {
	if name == ChecksumsFile {
		return nil
	}
	if slices.Contains(attestations(), name) {
		r.report.Attestations = append(r.report.Attestations, name)
		return nil
	}
	line, listed := r.listed[name]
	if !listed && name == resolvedFile && !r.index {
		r.report.Unlisted = append(r.report.Unlisted, name)
		return nil
	}
	if !listed {
		r.add(name, 0, "it is not in %s: it was added after the bundle was made", ChecksumsFile)
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading: what matters is in the reads
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != r.sums[name] {
		r.add(ChecksumsFile, line, "%s has the SHA-256 %s and not %s: it was changed after the bundle was made", name, sum, r.sums[name])
		return nil
	}
	r.report.Files++
	return nil
}
