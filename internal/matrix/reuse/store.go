package reuse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

const (
	// recordFormat is the format of a record's file. Files of other formats are not read.
	recordFormat = 1
	// maxRecord is the largest file of a record that is read, in bytes.
	maxRecord = 8 << 20
	// keepPerCell is how many records of one cell are kept: branches alternate, and older ones do
	// not come back.
	keepPerCell = 8
)

// Record is the verdict of a cell that passed.
type Record struct {
	Format int    `json:"format"`
	Key    string `json:"key"`
	Inputs Inputs `json:"inputs"`
	// Compared are the keys of the lanes of this recipe, this one included, that passed in the same
	// run and produced the same objects.
	Compared []string `json:"compared"`
	// Run is the ID of the run, URL its page if a CI system ran it, Ended when the cell ended.
	Run   string        `json:"run"`
	URL   string        `json:"url,omitempty"`
	Ended time.Time     `json:"ended"`
	Of    result.Result `json:"result"`
	// Sum is the digest of the record without it. It detects a file that was cut off or edited; it
	// is no signature.
	Sum string `json:"sum"`
}

// Store is a directory of records, with a file per cell and key. Several runs may use it at once: a
// file appears complete or not at all, and two records of one key say the same.
type Store struct{ dir string }

// Open opens a store, and creates its directory if it does not exist.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("store of verdicts %s: %w", dir, err)
	}
	if err := os.MkdirAll(filepath.Join(abs, "cells"), 0o755); err != nil {
		return nil, fmt.Errorf("store of verdicts %s: %w", dir, err)
	}
	return &Store{dir: abs}, nil
}

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// cellDir returns a cell's directory, with escaped names: a recipe's name is untrusted text.
func (s *Store) cellDir(c result.Cell) string {
	lane := c.Deployer
	if c.From != "" {
		lane += " from " + c.From
	}
	if c.Sequence != "" {
		lane += " " + c.Sequence
	}
	return filepath.Join(s.dir, "cells", escape(c.Recipe), escape(lane))
}

func escape(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }

func (s *Store) file(c result.Cell, key string) string {
	return filepath.Join(s.cellDir(c), key+".json")
}

// Find returns the record of a cell with a key, nil if there is none. An error means that the file
// is no such record: damaged, of another version, or of another cell. Callers must treat it like
// none.
func (s *Store) Find(c result.Cell, key string) (*Record, error) {
	rec, err := read(s.file(c, key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case rec.Key != key || rec.Inputs.Key() != key || rec.Of.Cell != c:
		return nil, fmt.Errorf("%s is the record of another cell or of other inputs", s.file(c, key))
	case rec.Of.Status != result.Passed:
		return nil, fmt.Errorf("%s is of a cell that is %q, and only a pass is reused", s.file(c, key), rec.Of.Status)
	}
	return rec, nil
}

// Latest returns the newest record of a cell, nil if none can be read.
func (s *Store) Latest(c result.Cell) *Record {
	var latest *Record
	for _, f := range s.files(c) {
		if rec, err := read(f); err == nil && rec.Of.Cell == c && (latest == nil || rec.Ended.After(latest.Ended)) {
			latest = rec
		}
	}
	return latest
}

func (s *Store) files(c result.Cell) []string {
	entries, _ := os.ReadDir(s.cellDir(c)) // none, if it is not there
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".json") {
			files = append(files, filepath.Join(s.cellDir(c), e.Name()))
		}
	}
	return files
}

func read(file string) (*Record, error) {
	raw, err := filesys.File(file, maxRecord)
	if err != nil {
		return nil, fmt.Errorf("read a kept verdict: %w", err)
	}
	var rec Record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", file, err)
	}
	if rec.Format != recordFormat {
		return nil, fmt.Errorf("%s has format %d; this program reads %d", file, rec.Format, recordFormat)
	}
	sum, err := rec.sum()
	if err != nil || sum != rec.Sum {
		return nil, fmt.Errorf("%s is damaged: its digest is not that of its content", file)
	}
	return &rec, nil
}

func (r Record) sum() (string, error) {
	r.Sum = ""
	raw, err := json.Marshal(r)
	return Digest(raw), err
}

// Put stores a record, and deletes the oldest ones of the same cell.
func (s *Store) Put(rec Record) error {
	if rec.Of.Status != result.Passed {
		return fmt.Errorf("keep the verdict of %s: it is %q, and only a pass is kept", rec.Of.Cell, rec.Of.Status)
	}
	rec.Format, rec.Key = recordFormat, rec.Inputs.Key()
	var err error
	if rec.Sum, err = rec.sum(); err != nil {
		return fmt.Errorf("keep the verdict of %s: %w", rec.Of.Cell, err)
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("keep the verdict of %s: %w", rec.Of.Cell, err)
	}
	if err := os.MkdirAll(s.cellDir(rec.Of.Cell), 0o755); err != nil {
		return fmt.Errorf("keep the verdict of %s: %w", rec.Of.Cell, err)
	}
	if err := filesys.WriteFile(s.file(rec.Of.Cell, rec.Key), raw, 0o600); err != nil {
		return fmt.Errorf("keep the verdict of %s: %w", rec.Of.Cell, err)
	}
	s.forget(rec.Of.Cell)
	return nil
}

// forget deletes the oldest records of a cell. One that cannot be deleted stays, which does no
// harm.
func (s *Store) forget(c result.Cell) {
	type aged struct {
		file string
		time time.Time
	}
	var all []aged
	for _, f := range s.files(c) {
		if info, err := os.Stat(f); err == nil {
			all = append(all, aged{f, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return b.time.Compare(a.time) })
	for i := keepPerCell; i < len(all); i++ {
		_ = os.Remove(all[i].file)
	}
}

// Result returns the result of a cell that is not run again; fresh is what this run knows of it. It
// repeats what was seen then, without paths of that run's machine.
func (rec *Record) Result(fresh result.Result) result.Result {
	res := rec.Of
	res.Verdict = result.Verdict{Status: result.Reused}
	res.Reused = &result.Reuse{Run: rec.Run, URL: rec.URL, Ended: rec.Ended, Duration: rec.Of.Cost(), Key: rec.Key}
	res.ReusedFrom = []string{fmt.Sprintf("passed in run %s on %s with the same inputs", rec.Run, rec.Ended.UTC().Format("2006-01-02 15:04 MST"))}
	if rec.URL != "" {
		res.ReusedFrom[0] += ": " + rec.URL
	}
	res.Started, res.Duration, res.Phases = time.Now().UTC(), 0, nil
	res.ReadyAfter, res.SameAs = 0, nil
	res.Artifacts, res.Kubeconfig, res.Upload = "", "", nil
	res.Key, res.Known, res.Past = rec.Key, "", nil
	res.Rerun, res.Recipes, res.Data, res.Charts, res.Service, res.Cluster = fresh.Rerun, fresh.Recipes, fresh.Data, fresh.Charts, fresh.Service, fresh.Cluster
	return res
}

// Passed is a cell that passed, with what it depends on.
type Passed struct {
	Inputs Inputs
	Of     result.Result
}

// PutAll stores the cells of one run. It returns how many, and a message for each that could not be
// stored.
func (s *Store) PutAll(cells []Passed, run, url string) (kept int, problems []string) {
	keys := map[string][]string{} // by recipe
	for _, c := range cells {
		keys[c.Of.Recipe] = append(keys[c.Of.Recipe], c.Inputs.Key())
	}
	for _, c := range cells {
		rec := Record{Inputs: c.Inputs, Compared: keys[c.Of.Recipe], Run: run, URL: url, Ended: c.Of.Started.Add(c.Of.Duration).Round(0), Of: c.Of}
		if err := s.Put(rec); err != nil {
			problems = append(problems, err.Error())
			continue
		}
		kept++
	}
	return kept, problems
}
