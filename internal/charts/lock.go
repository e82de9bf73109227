package charts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// LockFile is the lock file's name in a recipes directory.
const LockFile = "charts.lock"

// lockCommand is what makes a lock file, or makes one fit again.
const lockCommand = "matrix charts lock"

// Entry is a chart in a lock file.
type Entry struct {
	Component  string `yaml:"component"`
	Repository string `yaml:"repository"`
	Chart      string `yaml:"chart"`
	Version    string `yaml:"version"`
	// Unpinned: the recipe names no version, and this one was the newest when the file was written.
	Unpinned bool `yaml:"unpinned,omitempty"`
	// Range is what names this version, where the files name a range: it was the highest one in it
	// when the file was written.
	Range string `yaml:"range,omitempty"`
	// Digest is the SHA-256 of the archive, as sha256:HEX. Size is its length in bytes.
	Digest string `yaml:"digest"`
	Size   int64  `yaml:"size"`
	// Hosts are all hosts that the download contacted, as host:port: the repository's, and those
	// that it redirected to.
	Hosts []string `yaml:"hosts,flow"`

	line int
}

// Lock is the content of a lock file.
type Lock struct {
	// File is how messages call it.
	File    string
	Entries []*Entry
}

type lockFile struct {
	Version int      `yaml:"version"`
	Charts  []*Entry `yaml:"charts"`
}

const lockVersion = 1

// mostLock is the largest lock file that is read, in bytes.
const mostLock = 10 << 20

// NoLockError is a lock file that does not exist.
type NoLockError struct{ File string }

func (e *NoLockError) Error() string {
	return fmt.Sprintf("there is no lock file %s, so the bytes of no chart are known: `%s` downloads the charts of the recipes once and writes it. Check it in", e.File, lockCommand)
}

// ReadLock reads the lock file of a recipes directory, which messages call by its name in root. Its
// errors have the reason USAGE. If the file is missing, the error is a *NoLockError.
func ReadLock(fsys fs.FS, root string) (*Lock, error) {
	file := filepath.ToSlash(filepath.Join(root, LockFile))
	if info, err := fs.Lstat(fsys, LockFile); err == nil && !info.Mode().IsRegular() {
		return nil, reason.New(reason.Usage, "%s is no regular file: a link may lead out of the directory; replace it with a copy", file)
	}
	data, err := filesys.FS(fsys, LockFile, mostLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, reason.Wrap(reason.Usage, &NoLockError{File: file})
	}
	if err != nil {
		return nil, reason.New(reason.Usage, "read the lock file: %w", err)
	}
	l, err := parseLock(file, data)
	return l, reason.Wrap(reason.Usage, err)
}

func parseLock(file string, data []byte) (*Lock, error) {
	fail := func(line int, format string, args ...any) error {
		return &recipe.FileError{File: file, Line: line, Err: fmt.Errorf(format+"; `"+lockCommand+"` writes the file again", args...)}
	}
	if err := yamlx.Check(data); err != nil {
		return nil, fail(yamlx.Problems(err)[0].Line, "%s", yamlx.Problems(err)[0].Text)
	}
	var raw lockFile
	if err := yamlx.DecodeStrict(data, &raw); err != nil {
		p := yamlx.Problems(err)[0]
		return nil, fail(p.Line, "%s", p.Text)
	}
	if raw.Version != lockVersion {
		return nil, fail(1, "version is %d: this program reads version %d", raw.Version, lockVersion)
	}
	lines := entryLines(data)
	l := &Lock{File: file, Entries: raw.Charts}
	for i, e := range l.Entries {
		if e == nil || i >= len(lines) {
			return nil, fail(1, "entry %d of charts is empty", i+1)
		}
		e.line = lines[i]
		if err := e.check(); err != nil {
			return nil, fail(e.line, "%w", err)
		}
		for _, other := range l.Entries[:i] {
			if other.Component == e.Component && e.sameChart(other) {
				return nil, fail(e.line, "component %s has chart %s %s of %s twice, here and in line %d", e.Component, e.Chart, e.Version, e.Repository, other.line)
			}
			if e.sameChart(other) && e.Digest != other.Digest {
				return nil, fail(e.line, "chart %s %s of %s has the digest %s here and %s in line %d", e.Chart, e.Version, e.Repository, e.Digest, other.Digest, other.line)
			}
		}
	}
	return l, nil
}

// entryLines are the first lines of the entries.
func entryLines(data []byte) []int {
	docs, err := yamlx.Documents(data)
	if err != nil || len(docs) == 0 {
		return nil
	}
	var lines []int
	root := docs[0].Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "charts" {
			for _, n := range root.Content[i+1].Content {
				lines = append(lines, n.Line)
			}
		}
	}
	return lines
}

func (e *Entry) sameChart(other *Entry) bool {
	return sameRepository(e.Repository, other.Repository) && e.Chart == other.Chart && e.Version == other.Version
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (e *Entry) check() error {
	if e.Component == "" || e.Version == "" {
		return errors.New("the entry has no component or no version")
	}
	if err := checkName(e.Chart); err != nil {
		return err
	}
	if err := checkRepository(e.Repository); err != nil {
		return err
	}
	if !digestForm.MatchString(e.Digest) {
		return fmt.Errorf("digest %q: want sha256: and 64 hexadecimal digits", e.Digest)
	}
	if e.Size < 1 || e.Size > archive.MostPacked {
		return fmt.Errorf("size %d: want the archive's length in bytes, at most %d", e.Size, archive.MostPacked)
	}
	return nil
}

// Find is the entry for a pin. Nil without an error: the lock file has no entry for the component.
// An error: it has some, and none fits.
func (l *Lock) Find(p Pin) (*Entry, error) {
	var near *Entry
	for _, e := range l.Entries {
		if e.Component != p.Component {
			continue
		}
		if sameRepository(e.Repository, p.Repository) && e.Chart == p.Name && (e.Version == p.Version || p.Version == "" && e.Unpinned || e.Range != "" && e.Range == p.Version) {
			return e, nil
		}
		if near == nil {
			near = e
		}
	}
	if near == nil {
		return nil, nil
	}
	from := ""
	if p.Declared.File != "" {
		from = fmt.Sprintf(" (%s)", p.Declared)
	}
	return nil, l.errorAt(near, "the lock does not fit the recipe: component %s has chart %s %s of %s here, and the recipe%s names %s %s of %s; `%s` makes it fit",
		p.Component, near.Chart, near.Version, near.Repository, from, p.Name, versionText(p.Version), p.Repository, lockCommand)
}

func (l *Lock) errorAt(e *Entry, format string, args ...any) error {
	return reason.Wrap(reason.Usage, &recipe.FileError{File: l.File, Line: e.line, Err: fmt.Errorf(format, args...)})
}

// Fits is nil if the lock has every chart of a recipe. Reason: USAGE.
func (l *Lock) Fits(pins []Pin) error {
	var errs []error
	var fitting []*Entry
	for _, p := range pins {
		e, err := l.Find(p)
		if err == nil && e == nil {
			err = p.at("its chart %s %s of %s is not in %s; `%s` adds it", p.Name, versionText(p.Version), p.Repository, l.File, lockCommand)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fitting = append(fitting, e)
	}
	return errors.Join(append(errs, l.collisions(fitting)...)...)
}

// collisions: the cell's registry has one chart of a name and version.
func (l *Lock) collisions(entries []*Entry) []error {
	var errs []error
	for i, e := range entries {
		for _, other := range entries[:i] {
			if other.Chart == e.Chart && catalog.SameVersion(other.Version, e.Version) && other.Digest != e.Digest {
				errs = append(errs, l.errorAt(e, "chart %s %s of %s (component %s) has the digest %s, and that of %s (component %s, line %d) has %s: two charts of one name and version with different bytes cannot be in one recipe; give one of them another version",
					e.Chart, e.Version, e.Repository, e.Component, e.Digest, other.Repository, other.Component, other.line, other.Digest))
				break
			}
		}
	}
	return errs
}

// Verify is nil if the lock has every chart of the recipes, and nothing that none of all has.
// Reason: USAGE.
func (l *Lock) Verify(recipes [][]Pin, all []Pin) error {
	var errs []error
	for _, pins := range recipes {
		errs = append(errs, l.Fits(pins))
	}
	if err := errors.Join(append(errs, l.unused(all))...); err != nil {
		return unique(err)
	}
	return nil
}

// unused are the entries that fit none of the pins, an error each. Reason: USAGE.
func (l *Lock) unused(pins []Pin) error {
	var errs []error
	for _, e := range l.Entries {
		if !slices.ContainsFunc(pins, func(p Pin) bool { return e.fits(p) }) {
			errs = append(errs, l.errorAt(e, "no recipe has chart %s %s of %s as component %s; `%s` removes the entry", e.Chart, e.Version, e.Repository, e.Component, lockCommand))
		}
	}
	return errors.Join(errs...)
}

func (e *Entry) fits(p Pin) bool {
	found, err := (&Lock{Entries: []*Entry{e}}).Find(p)
	return err == nil && found == e
}

// Of is the part of the lock that these pins need.
func (l *Lock) Of(pins []Pin) *Lock {
	part := &Lock{File: l.File}
	for _, e := range l.Entries {
		if slices.ContainsFunc(pins, e.fits) {
			part.Entries = append(part.Entries, e)
		}
	}
	return part
}

const lockHead = `# The charts of the recipes in this directory: where each comes from, and the digest of its bytes. Written by
# ` + "`" + lockCommand + "`" + `, and read by matrix run --charts upstream. Check it in. Where a digest changes and a version does not, somebody
# has replaced a chart that was released: find out who before you accept it.
`

// Write writes the lock to a file, in an order that depends on nothing but its entries.
func (l *Lock) Write(path string) error {
	slices.SortFunc(l.Entries, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Component, b.Component), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Chart, b.Chart), cmp.Compare(a.Version, b.Version))
	})
	var b bytes.Buffer
	b.WriteString(lockHead)
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(lockFile{Version: lockVersion, Charts: l.Entries}); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	if err := filesys.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	return nil
}
