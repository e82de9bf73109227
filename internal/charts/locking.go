package charts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// Make downloads the charts of recipes and makes the lock that fits them; recipes has the pins of
// each. Entries of old that fit one of keep stay, unless Make replaces them. A chart whose bytes
// differ from those of old is an error with the reason CHART_CHANGED.
func Make(ctx context.Context, f *Fetcher, cache Cache, old *Lock, recipes [][]Pin, keep []Pin, tell func(done, of int)) (*Lock, error) {
	made := &Lock{File: old.File}
	var todo []Pin
	for _, p := range slices.Concat(recipes...) {
		if !slices.ContainsFunc(todo, func(q Pin) bool { return q.Ref == p.Ref }) {
			todo = append(todo, p)
		}
	}
	var mu sync.Mutex
	err := eachPin(ctx, todo, tell, func(ctx context.Context, p Pin) error {
		ranged := ""
		if p.Ranges && catalog.IsRange(p.Version) {
			ranged = p.Version
			var err error
			if p.Version, err = f.Resolve(ctx, p); err != nil {
				return err
			}
		}
		got, err := f.Fetch(ctx, p, "")
		if err != nil {
			return err
		}
		e := &Entry{
			Component: p.Component, Repository: p.Repository, Chart: p.Name, Version: p.Version, Range: ranged, Digest: got.Digest, Size: int64(len(got.Archive)), Hosts: got.Hosts,
		}
		if p.Version == "" {
			e.Version, e.Unpinned = got.Chart.Metadata.Version, true
		}
		if before := old.entryOf(e); before != nil && before.Digest != e.Digest {
			return old.placed(before, (&changedError{Want: before.Digest, Got: e.Digest}).of(p))
		}
		if err := cache.Put(got.Archive); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		made.Entries = append(made.Entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, e := range old.Entries {
		if made.entryOf(e) == nil && slices.ContainsFunc(keep, e.fits) && !slices.ContainsFunc(todo, e.fits) {
			made.Entries = append(made.Entries, e)
		}
	}
	var errs []error
	for _, pins := range recipes {
		errs = append(errs, made.Fits(pins))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, unique(err)
	}
	return made, nil
}

// entryOf is the entry for the same component, repository, chart and version.
func (l *Lock) entryOf(e *Entry) *Entry {
	for _, have := range l.Entries {
		if have.Component == e.Component && have.sameChart(e) {
			return have
		}
	}
	return nil
}

// Again downloads every entry again and compares. It changes nothing. Reasons: CHART_CHANGED,
// CHART_DOWNLOAD_FAILED.
func (l *Lock) Again(ctx context.Context, f *Fetcher, tell func(done, of int)) error {
	entries := map[catalog.Ref]*Entry{}
	for _, e := range l.Entries {
		entries[e.pin().Ref] = e
	}
	return eachPin(ctx, l.Pins(), tell, func(ctx context.Context, p Pin) error {
		_, err := f.Fetch(ctx, p, entries[p.Ref].Digest)
		return l.placed(entries[p.Ref], err)
	})
}

// Pins returns the charts that the entries pin, for commands that need no recipes.
func (l *Lock) Pins() []Pin {
	var pins []Pin
	for _, e := range l.Entries {
		pins = append(pins, e.pin())
	}
	return pins
}

func (e *Entry) pin() Pin {
	return Pin{Ref: catalog.Ref{Component: e.Component, Repository: e.Repository, Name: e.Chart, Version: e.Version}}
}

// Mirror writes every chart of the lock to a directory, as NAME-VERSION.tgz: a chart source for a
// machine without these repositories. The directory may be there already; a file of it with other
// bytes is an error, and no file is replaced. It returns the files' names.
func (u *Upstream) Mirror(ctx context.Context, dir string) ([]string, error) {
	names := map[string]*Entry{}
	for _, e := range u.Lock.Entries {
		name := e.Chart + "-" + e.Version + ".tgz"
		if other := names[name]; other != nil && other.Digest != e.Digest {
			return nil, u.Lock.errorAt(e, "chart %s %s comes from %s and, with other bytes, from %s (line %d): one directory cannot have both", e.Chart, e.Version, e.Repository, other.Repository, other.line)
		}
		names[name] = e
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, reason.New(reason.Usage, "make the mirror's directory: %w", err)
	}
	var written []string
	for name, e := range names {
		tgz, err := u.archive(ctx, e, e.pin())
		if err != nil {
			return nil, err
		}
		if err := writeNew(filepath.Join(dir, name), tgz); err != nil {
			return nil, err
		}
		written = append(written, name)
	}
	slices.Sort(written)
	return written, nil
}

func writeNew(path string, data []byte) error {
	have, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return filesys.WriteFile(path, data, 0o644)
	case err != nil:
		return err
	case digestOf(have) != digestOf(data):
		return reason.New(reason.Usage, "%s is there already, with other bytes: it is %s, and the lock has %s; remove it or name another directory", path, digestOf(have), digestOf(data))
	}
	return nil
}
