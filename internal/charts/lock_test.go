package charts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var (
	digestA = "sha256:" + strings.Repeat("a", 64)
	digestB = "sha256:" + strings.Repeat("b", 64)
)

func entryYAML(component, repository, chart, version, digest string) string {
	return fmt.Sprintf("  - component: %s\n    repository: %s\n    chart: %s\n    version: %q\n    digest: %s\n    size: 10\n    hosts: [\"a:443\"]\n", component, repository, chart, version, digest)
}

func lockOf(t *testing.T, entries ...string) *Lock {
	t.Helper()
	l, err := ReadLock(fstest.MapFS{LockFile: {Data: []byte("version: 1\ncharts:\n" + strings.Join(entries, ""))}}, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestReadLock_Invalid(t *testing.T) {
	good := entryYAML("web", "https://a.example", "web", "1.0.0", digestA)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"not YAML":             {"version: 1\ncharts: [", []string{"recipes/charts.lock:"}},
		"another version":      {"version: 2\ncharts: []\n", []string{"recipes/charts.lock:1", "version is 2"}},
		"unknown field":        {"version: 1\ncharts:\n  - component: x\n    sha: y\n", []string{"recipes/charts.lock:4", "sha"}},
		"empty entry":          {"version: 1\ncharts:\n  -\n", []string{"entry 1 of charts is empty"}},
		"no version":           {"version: 1\ncharts:\n" + strings.Replace(good, "1.0.0", "", 1), []string{"recipes/charts.lock:3", "no version"}},
		"digest in capitals":   {"version: 1\ncharts:\n" + strings.Replace(good, digestA, strings.ToUpper(digestA), 1), []string{"recipes/charts.lock:3", "64 hexadecimal digits"}},
		"digest that is short": {"version: 1\ncharts:\n" + strings.Replace(good, digestA, "sha256:abc", 1), []string{"recipes/charts.lock:3", `digest "sha256:abc"`}},
		"size":                 {"version: 1\ncharts:\n" + strings.Replace(good, "size: 10", "size: 0", 1), []string{"recipes/charts.lock:3", "size 0"}},
		"chart's name":         {"version: 1\ncharts:\n" + strings.Replace(good, "chart: web", "chart: ../web", 1), []string{"recipes/charts.lock:3", "chart name"}},
		"repository":           {"version: 1\ncharts:\n" + strings.Replace(good, "https://a.example", "/etc", 1), []string{"recipes/charts.lock:3", "chart repository"}},
		"twice":                {"version: 1\ncharts:\n" + good + good, []string{"recipes/charts.lock:10", "twice, here and in line 3"}},
		"two digests": {"version: 1\ncharts:\n" + good + entryYAML("front", "https://a.example/", "web", "1.0.0", digestB),
			[]string{"recipes/charts.lock:10", digestA, digestB, "in line 3"}},
	} {
		_, err := ReadLock(fstest.MapFS{LockFile: {Data: []byte(c.text)}}, "recipes")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantError(t, err, reason.Usage, append(c.want, "matrix charts lock")...)
	}
	_, err := ReadLock(fstest.MapFS{}, "recipes")
	var none *NoLockError
	if !errors.As(err, &none) {
		t.Errorf("no file: got %v", err)
	}
	wantError(t, err, reason.Usage, "there is no lock file recipes/charts.lock", "matrix charts lock")
}

func declared(component, repository, version string, line int) Pin {
	return Pin{Ref: catalog.Ref{Component: component, Repository: repository, Name: "web", Version: version}, Declared: recipe.Origin{File: "recipes/overlays/x.yaml", Line: line}}
}

// A lock that does not fit a recipe names the file and line of both, and the command that makes it
// fit.
func TestFits(t *testing.T) {
	l := lockOf(t,
		entryYAML("front", "https://a.example/", "web", "1.0.0", digestA),
		entryYAML("back", "https://b.example", "web", "1.0.0", digestB),
		entryYAML("free", "https://a.example", "web", "2.0.0", digestA)+"    unpinned: true\n")
	for name, pins := range map[string][]Pin{
		"one":      {declared("front", "https://a.example", "1.0.0", 3)},
		"unpinned": {declared("free", "https://a.example", "", 3)},
		"pinned":   {declared("free", "https://a.example", "2.0.0", 3)},
	} {
		if err := l.Fits(pins); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		pins []Pin
		want []string
	}{
		"another version":    {[]Pin{declared("front", "https://a.example", "1.0.1", 7)}, []string{"recipes/charts.lock:3", "recipes/overlays/x.yaml:7", "names web 1.0.1 of https://a.example"}},
		"another repository": {[]Pin{declared("front", "https://c.example", "1.0.0", 7)}, []string{"recipes/charts.lock:3", "of https://c.example"}},
		"no entry":           {[]Pin{declared("new", "https://a.example", "1.0.0", 7)}, []string{"recipes/overlays/x.yaml:7: component new", "is not in recipes/charts.lock"}},
		"unpinned now":       {[]Pin{declared("front", "https://a.example", "", 7)}, []string{"recipes/charts.lock:3", "(newest version)"}},
		"both":               {[]Pin{declared("new", "https://a.example", "1.0.0", 7), declared("front", "https://a.example", "9.0.0", 8)}, []string{"component new", "9.0.0"}},
	} {
		err := l.Fits(c.pins)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantError(t, err, reason.Usage, append(c.want, "matrix charts lock")...)
		var placed interface{ Position() (string, int) }
		if !errors.As(err, &placed) {
			t.Errorf("%s: the error has no place: %v", name, err)
		}
	}
	if part := l.Of([]Pin{declared("front", "https://a.example", "1.0.0", 7), declared("free", "https://a.example", "3.0.0", 8)}); len(part.Entries) != 1 || part.Entries[0].Component != "front" {
		t.Errorf("the part of two pins: %v", part.Entries)
	}
	// One recipe with two charts of one name and version and different bytes has no place in a
	// registry.
	err := l.Fits([]Pin{declared("front", "https://a.example", "1.0.0", 7), declared("back", "https://b.example", "1.0.0", 8)})
	wantError(t, err, reason.Usage, "recipes/charts.lock:10", digestA, digestB, "https://a.example", "https://b.example", "different bytes")
}

func TestVerify(t *testing.T) {
	l := lockOf(t, entryYAML("front", "https://a.example", "web", "1.0.0", digestA), entryYAML("old", "https://a.example", "web", "0.9.0", digestB))
	pins := []Pin{declared("front", "https://a.example", "1.0.0", 7)}
	wantError(t, l.Verify([][]Pin{pins}, pins), reason.Usage, "recipes/charts.lock:10", "no recipe has chart web 0.9.0", "matrix charts lock")
	all := append(pins, declared("old", "https://a.example", "0.9.0", 9))
	if err := l.Verify([][]Pin{pins, all}, all); err != nil {
		t.Error(err)
	}
	missing := []Pin{declared("new", "https://a.example", "1.0.0", 7)}
	if err := l.Verify([][]Pin{missing, missing}, append(all, missing...)); strings.Count(err.Error(), "component new") != 1 {
		t.Errorf("one fault of two recipes: got %v", err)
	}
}

// make locks the recipes of a test.
func makeLock(t *testing.T, old *Lock, cache Cache, recipes [][]Pin, keep []Pin) (*Lock, error) {
	t.Helper()
	f, _ := newTestFetcher(t)
	return Make(t.Context(), f, cache, old, recipes, keep, nil)
}

func TestMake(t *testing.T) {
	home(t)
	content := files{"/index.yaml": index("web 1.0.0 web.tgz", "web 2.0.0 web2.tgz"), "/web.tgz": packed(t, "web", "1.0.0", "x"), "/web2.tgz": packed(t, "web", "2.0.0", "x")}
	s, _ := serve(t, content)
	dir := t.TempDir()
	cache := Cache{Dir: filepath.Join(dir, "cache")}
	first, free := declared("front", s.URL, "1.0.0", 3), declared("free", s.URL, "", 4)
	made, err := makeLock(t, &Lock{File: "recipes/charts.lock"}, cache, [][]Pin{{first}, {first, free}}, []Pin{first, free})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Write(filepath.Join(dir, LockFile)); err != nil {
		t.Fatal(err)
	}
	read, err := ReadLock(os.DirFS(dir), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Entries) != 2 || read.Entries[0].Component != "free" || !read.Entries[0].Unpinned || read.Entries[0].Version != "2.0.0" || read.Entries[1].Digest != digestOf(content["/web.tgz"]) ||
		read.Entries[1].Size != int64(len(content["/web.tgz"])) || strings.Join(read.Entries[1].Hosts, "") != s.Listener.Addr().String() {
		t.Errorf("got %+v %+v", read.Entries[0], read.Entries[1])
	}
	if err := read.Fits([]Pin{first, free}); err != nil {
		t.Error(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, LockFile))
	if err != nil {
		t.Fatal(err)
	}
	// Again, and of one recipe: the same bytes, with the other's entry.
	again, err := makeLock(t, read, cache, [][]Pin{{first}}, []Pin{first, free})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Write(filepath.Join(dir, LockFile)); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, LockFile)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed (%v):\n%s", err, after)
	}
	// An entry that no recipe has any more goes.
	if fewer, err := makeLock(t, read, cache, [][]Pin{{first}}, []Pin{first}); err != nil || len(fewer.Entries) != 1 {
		t.Errorf("got %v, %v", fewer, err)
	}
	content["/web.tgz"] = packed(t, "web", "1.0.0", "other bytes")
	_, err = makeLock(t, read, cache, [][]Pin{{first}}, []Pin{first, free})
	wantError(t, err, reason.ChartChanged, read.Entries[1].Digest, "recipes/charts.lock:", digestOf(content["/web.tgz"]))
	f, _ := newTestFetcher(t)
	wantError(t, read.Again(t.Context(), f, nil), reason.ChartChanged, "recipes/charts.lock:", ": chart web 1.0.0", read.Entries[1].Digest)

	// Two repositories with different bytes for one version, in one recipe.
	other, _ := serve(t, files{"/index.yaml": index("web 1.0.0 web.tgz"), "/web.tgz": packed(t, "web", "1.0.0", "a third")})
	_, err = makeLock(t, &Lock{File: "recipes/charts.lock"}, cache, [][]Pin{{first, declared("back", other.URL, "1.0.0", 8)}}, nil)
	wantError(t, err, reason.Usage, s.URL, other.URL, "different bytes")
	if _, err = makeLock(t, &Lock{File: "recipes/charts.lock"}, cache, [][]Pin{{first}, {declared("back", other.URL, "1.0.0", 8)}}, nil); err != nil {
		t.Errorf("in two recipes: %v", err)
	}
	_, err = makeLock(t, &Lock{}, cache, [][]Pin{{declared("front", "", "1.0.0", 3)}}, nil)
	wantError(t, err, reason.Usage, "recipes/overlays/x.yaml:3", "no chart repository is given")
}
