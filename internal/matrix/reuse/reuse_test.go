package reuse

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

func inputs(t *testing.T, pairs ...string) Inputs {
	t.Helper()
	in := Inputs{}
	for i := 0; i < len(pairs); i += 2 {
		if err := in.Add(pairs[i], pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func record(in Inputs, recipe, run string, ended time.Time) Record {
	of := result.Result{Cell: result.Cell{Recipe: recipe, Deployer: "helm"}, Verdict: result.Verdict{Status: result.Passed}, Pods: 3, Started: ended, Notes: []string{"a", "b"}}
	return Record{Inputs: in, Compared: []string{in.Key()}, Run: run, Ended: ended, Of: of}
}

func TestKey(t *testing.T) {
	a := inputs(t, "x", "1", "y", "2")
	for name, other := range map[string]Inputs{
		"a value": inputs(t, "x", "1", "y", "3"), "a name": inputs(t, "x", "1", "z", "2"), "one more": inputs(t, "x", "1", "y", "2", "z", "3"), "one less": inputs(t, "x", "1"),
		"exchanged": inputs(t, "x", "2", "y", "1"),
	} {
		if other.Key() == a.Key() {
			t.Errorf("%s: same key", name)
		}
	}
	if b := inputs(t, "y", "2", "x", "1"); b.Key() != a.Key() {
		t.Error("the order of inputs changes the key")
	}
	if err := a.Add("x", "again"); err == nil {
		t.Error("an input of the same name twice was taken")
	}
	if err := a.Add("bad", func() {}); err == nil {
		t.Error("an input that JSON cannot hold was taken")
	}
	got := inputs(t, "x", "1", "y", "3", "new", "1").Changed(inputs(t, "x", "1", "y", "2", "old", "1"))
	if want := []string{"new (new)", "old (gone)", "y"}; !slices.Equal(got, want) {
		t.Errorf("changed: got %q, want %q", got, want)
	}
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "verdicts")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	in, at := inputs(t, "x", "1"), time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	rec := record(in, "../../r", "run1", at)
	if err := s.Put(rec); err != nil {
		t.Fatal(err)
	}
	if outside, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); !slices.Equal(outside, []string{dir}) {
		t.Errorf("a recipe's name led out of the store: %q", outside)
	}
	got, err := s.Find(rec.Of.Cell, in.Key())
	if err != nil || got == nil || got.Run != "run1" || !got.Ended.Equal(at) || got.Of.Pods != 3 || !slices.Equal(got.Of.Notes, rec.Of.Notes) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got, err := s.Find(rec.Of.Cell, inputs(t, "x", "2").Key()); got != nil || err != nil {
		t.Errorf("other inputs: got %v, %v", got, err)
	}
	if got, err := s.Find(result.Cell{Recipe: "other", Deployer: "helm"}, in.Key()); got != nil || err != nil {
		t.Errorf("another cell: got %v, %v", got, err)
	}
	red := rec
	red.Of.Status = result.Failed
	if err := s.Put(red); err == nil {
		t.Error("a red verdict was kept")
	}
}

// A file that is not what was written is never a verdict.
func TestFind_DamagedRecord(t *testing.T) {
	in := inputs(t, "x", "1")
	for name, tt := range map[string]struct {
		change func(text string) string
		want   string
	}{
		"cut off":         {func(s string) string { return s[:len(s)/2] }, "is damaged"},
		"empty":           {func(string) string { return "" }, "is damaged"},
		"edited":          {func(s string) string { return strings.Replace(s, `"pods":3`, `"pods":4`, 1) }, "its digest is not that of its content"},
		"another format":  {func(s string) string { return strings.Replace(s, `"format":1`, `"format":9`, 1) }, "has format 9; this program reads 1"},
		"red made green":  {func(s string) string { return strings.Replace(s, `"status":"passed"`, `"status":"failed"`, 1) }, "its digest"},
		"other inputs":    {func(s string) string { return strings.Replace(s, in["x"], in["x"][1:]+"0", 1) }, "its digest"},
		"not JSON at all": {func(string) string { return "<html>" }, "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			rec := record(in, "r", "run1", time.Now().UTC())
			if err := s.Put(rec); err != nil {
				t.Fatal(err)
			}
			file := s.file(rec.Of.Cell, in.Key())
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tt.change(string(raw))), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := s.Find(rec.Of.Cell, in.Key())
			if got != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("got %v, %v; want an error with %q and the file", got, err, tt.want)
			}
			if s.Latest(rec.Of.Cell) != nil {
				t.Error("it is the latest record")
			}
			if err := s.Put(rec); err != nil {
				t.Errorf("the next run cannot replace it: %v", err)
			}
			if got, err := s.Find(rec.Of.Cell, in.Key()); got == nil || err != nil {
				t.Errorf("after the next run: %v, %v", got, err)
			}
		})
	}
	t.Run("a whole record under another key", func(t *testing.T) {
		s, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		rec := record(in, "r", "run1", time.Now().UTC())
		if err := s.Put(rec); err != nil {
			t.Fatal(err)
		}
		other := inputs(t, "x", "2").Key()
		if err := os.Rename(s.file(rec.Of.Cell, in.Key()), s.file(rec.Of.Cell, other)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Find(rec.Of.Cell, other); got != nil || err == nil || !strings.Contains(err.Error(), "of other inputs") {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// Two runs at once write the same records, and a third reads them: it sees each whole or not at
// all.
func TestStore_ConcurrentRuns(t *testing.T) {
	dir := t.TempDir()
	in := inputs(t, "x", "1")
	var wg sync.WaitGroup
	for run := range 4 {
		wg.Go(func() {
			s, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				rec := record(in, "r", fmt.Sprint("run", run), time.Now().UTC())
				if err := s.Put(rec); err != nil {
					t.Error(err)
				}
				if got, err := s.Find(rec.Of.Cell, in.Key()); err != nil || got == nil {
					t.Errorf("got %v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestForget(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var last Record
	for i := range keepPerCell + 3 {
		last = record(inputs(t, "x", fmt.Sprint(i)), "r", fmt.Sprint("run", i), start.Add(time.Duration(i)*time.Hour))
		if err := s.Put(last); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(s.file(last.Of.Cell, last.Inputs.Key()), last.Ended, last.Ended); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.files(last.Of.Cell)); n > keepPerCell+1 {
		t.Errorf("%d records of one cell are kept, want at most %d", n, keepPerCell)
	}
	if got := s.Latest(last.Of.Cell); got == nil || got.Run != last.Run {
		t.Errorf("latest: got %+v, want %s", got, last.Run)
	}
}
