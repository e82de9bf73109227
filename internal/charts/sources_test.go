package charts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// upstream is a repository with charts web 1.0.0 and web 2.0.0, and the source of a lock of both.
func upstream(t *testing.T) (*Upstream, *requests, func()) {
	t.Helper()
	home(t)
	one, two := packed(t, "web", "1.0.0", "x"), packed(t, "web", "v2.0.0", "x")
	s, got := serve(t, files{"/index.yaml": index("web 1.0.0 web.tgz", "web v2.0.0 web2.tgz"), "/web.tgz": one, "/web2.tgz": two})
	l := lockOf(t, entryYAML("front", s.URL, "web", "1.0.0", digestOf(one)), entryYAML("back", s.URL, "web", "2.0.0", digestOf(two)))
	f, _ := newTestFetcher(t)
	u := &Upstream{Lock: l, Cache: Cache{Dir: t.TempDir()}, Fetcher: func() (*Fetcher, error) { return f, nil }}
	return u, got, s.Close
}

// offline is the same source in another process, without a network.
func offline(u *Upstream) *Upstream {
	return &Upstream{Lock: u.Lock, Cache: u.Cache, Fetcher: func() (*Fetcher, error) { return nil, errors.New("there is no network") }}
}

func TestUpstream(t *testing.T) {
	u, got, stop := upstream(t)
	pins := u.Lock.Pins()
	var told []int
	if err := u.Pull(t.Context(), pins, func(done, of int) { told = append(told, done, of) }); err != nil {
		t.Fatal(err)
	}
	if len(told) != 4 || told[2] != 2 || told[3] != 2 {
		t.Errorf("told %v", told)
	}
	ch, from, err := u.Load(t.Context(), pins[0].Ref)
	if err != nil || ch.Metadata.Version != "1.0.0" || from != "upstream: "+pins[0].Repository+", "+u.Lock.Entries[0].Digest {
		t.Errorf("got %v from %q, %v", ch, from, err)
	}
	if same, _, err := u.Load(t.Context(), pins[0].Ref); err != nil || same != ch {
		t.Errorf("the chart was loaded twice, %v", err)
	}
	if n := got.to(".tgz"); n != 2 {
		t.Errorf("%d downloads", n)
	}
	// The second time there is no network.
	stop()
	again := offline(u)
	if err := Ready(t.Context(), again, [][]Pin{pins}, nil); err != nil {
		t.Error(err)
	}
	if ch, _, err := again.Load(t.Context(), pins[1].Ref); err != nil || ch.Metadata.Version != "v2.0.0" {
		t.Errorf("without a network: got %v, %v", ch, err)
	}
	// Each load compares the cached file with its digest.
	file := u.Cache.File(u.Lock.Entries[0].Digest)
	write(t, file, "something else")
	_, _, err = offline(u).Load(t.Context(), pins[0].Ref)
	if err == nil || !strings.Contains(err.Error(), "there is no network") {
		t.Errorf("a broken file of the cache: got %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the broken file is still there: %v", err)
	}
	// A lock that does not fit is refused before anything is downloaded.
	other := pins[0]
	other.Version = "3.0.0"
	wantError(t, Ready(t.Context(), offline(u), [][]Pin{{other}}, nil), reason.Usage, "recipes/charts.lock:3", "names web 3.0.0")
	unknown := pins[0]
	unknown.Component = "new"
	wantError(t, Ready(t.Context(), offline(u), [][]Pin{{unknown}}, nil), reason.Usage, "component new", "is not in recipes/charts.lock")
	_, _, err = offline(u).Load(t.Context(), unknown.Ref)
	var missing *catalog.NotFoundError
	if !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
}

// A chart that many cells load at once is downloaded whole, regardless of which load is first.
func TestUpstream_ConcurrentLoads(t *testing.T) {
	u, _, _ := upstream(t)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for _, p := range u.Lock.Pins() {
				if _, _, err := u.Load(t.Context(), p.Ref); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	left, err := os.ReadDir(filepath.Join(u.Cache.Dir, "sha256"))
	if err != nil || len(left) != 2 {
		t.Errorf("the cache has %v, %v", left, err)
	}
}

func TestMirror(t *testing.T) {
	u, _, stop := upstream(t)
	dir := filepath.Join(t.TempDir(), "a", "mirror")
	names, err := u.Mirror(t.Context(), dir)
	if err != nil || strings.Join(names, " ") != "web-1.0.0.tgz web-2.0.0.tgz" {
		t.Fatalf("got %q, %v", names, err)
	}
	stop()
	source, err := catalog.FromDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range u.Lock.Pins() {
		if _, _, err := source.Load(t.Context(), p.Ref); err != nil {
			t.Errorf("the mirror as a chart source: %v", err)
		}
	}
	if _, err := offline(u).Mirror(t.Context(), dir); err != nil {
		t.Errorf("a second time: %v", err)
	}
	write(t, filepath.Join(dir, "web-1.0.0.tgz"), "mine")
	_, err = u.Mirror(t.Context(), dir)
	wantError(t, err, reason.Usage, "web-1.0.0.tgz is there already, with other bytes")
	if mine, err := os.ReadFile(filepath.Join(dir, "web-1.0.0.tgz")); err != nil || string(mine) != "mine" {
		t.Errorf("the file was replaced: %q, %v", mine, err)
	}
	u.Lock = lockOf(t, entryYAML("front", "https://a.example", "web", "1.0.0", digestA), entryYAML("back", "https://b.example", "web", "1.0.0", digestB))
	_, err = u.Mirror(t.Context(), t.TempDir())
	wantError(t, err, reason.Usage, "recipes/charts.lock:10", "one directory cannot have both")
}

func chartDir(name, version, content string) fstest.MapFS {
	return fstest.MapFS{
		name + "/Chart.yaml":         {Data: []byte("{apiVersion: v2, name: " + name + ", version: " + version + "}")},
		name + "/templates/cm.yaml":  {Data: []byte("# " + content)},
		name + "/templates/own.yaml": {Data: []byte("# " + content)},
	}
}

// Of a list the first that has a chart counts; the next one is asked if the chart is not there, and
// for no other reason.
func TestList(t *testing.T) {
	mine := catalog.FromFS(chartDir("web", "1.0.0", "mine"), "mine")
	both := chartDir("web", "1.0.0", "theirs")
	for path, file := range chartDir("db", "1.0.0", "theirs") {
		both[path] = file
	}
	theirs := catalog.FromFS(both, "theirs")
	l := List{mine, theirs}
	if l.Name() != "mine, theirs" {
		t.Errorf("the list is called %q", l.Name())
	}
	for name, want := range map[string]string{"web": "mine (not the one in theirs, which has other content)", "db": "theirs"} {
		if _, from, err := l.Load(t.Context(), catalog.Ref{Name: name, Version: "1.0.0"}); err != nil || from != want {
			t.Errorf("%s is from %q, %v; want %q", name, from, err, want)
		}
	}
	_, _, err := l.Load(t.Context(), catalog.Ref{Name: "web", Version: "2.0.0"})
	var missing *catalog.NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
	wantError(t, reason.Wrap(reason.BundleFailed, err), reason.BundleFailed, "chart web 2.0.0 is not in chart source mine, theirs", "web 1.0.0 (mine)", "web 1.0.0 (theirs)")
	for name, fsys := range map[string]fstest.MapFS{
		"is not a readable chart": {"db-1.0.0.tgz": {Data: []byte("half a file")}},
		"values.yaml":             {"db/Chart.yaml": {Data: []byte("{apiVersion: v2, name: db, version: 1.0.0}")}, "db/values.yaml": {Data: []byte("a: [")}},
	} {
		_, _, err := (List{catalog.FromFS(fsys, "broken"), theirs}).Load(t.Context(), catalog.Ref{Name: "db", Version: "1.0.0"})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a chart that cannot be read: got %v", err)
		}
	}
}

func TestListWithUpstream(t *testing.T) {
	u, _, stop := upstream(t)
	stop()
	back := u.Lock.Pins()[1]
	own := catalog.FromFS(chartDir("web", "1.0.0", "mine"), "mine")
	front, stale, extra := u.Lock.Pins()[0], u.Lock.Pins()[0], back
	stale.Version, stale.Component, extra.Component = "1.1.0", "back", "extra"
	// What an earlier source has is not downloaded, and needs no entry.
	if err := Ready(t.Context(), List{own, offline(u)}, [][]Pin{{front}}, nil); err != nil {
		t.Error(err)
	}
	if err := Ready(t.Context(), List{own, offline(u)}, [][]Pin{{front, back}}, nil); err == nil || !strings.Contains(err.Error(), "there is no network") {
		t.Errorf("what only upstream has: got %v", err)
	}
	wantError(t, Ready(t.Context(), List{own, offline(u)}, [][]Pin{{extra}}, nil), reason.Usage, "component extra", "is not in recipes/charts.lock")
	// Looking for charts downloads none.
	for source, missing := range map[catalog.Source]bool{offline(u): true, own: false} {
		if err := Find(t.Context(), source, extra.Ref); (err != nil) != (missing || extra.Version != "1.0.0") {
			t.Errorf("%s: found %s: %v", source.Name(), extra.Name, err)
		}
	}
	if err := Find(t.Context(), List{own, offline(u)}, back.Ref); err != nil {
		t.Errorf("the lock has it: %v", err)
	}
	if err := Find(t.Context(), List{own, offline(u)}, extra.Ref); err == nil {
		t.Error("nobody has it")
	}
	// A component that the lock does not know goes on to the next source; one that it has in
	// another version does not.
	if err := Ready(t.Context(), List{offline(u), own}, [][]Pin{{extra}}, nil); err != nil {
		t.Error(err)
	}
	wantError(t, Ready(t.Context(), List{offline(u), own}, [][]Pin{{stale}}, nil), reason.Usage, "the lock does not fit the recipe", "names web 1.1.0")
	if _, _, err := (List{offline(u), own}).Load(t.Context(), stale.Ref); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("got %v", err)
	}
}
