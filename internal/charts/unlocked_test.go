package charts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A range stands for its highest version in the repository, which the source names; a lock keeps that
// version.
func TestUnlocked(t *testing.T) {
	home(t)
	repository, _ := serve(t, files{
		"/index.yaml":    index("web 1.9.0 web-1.9.0.tgz", "web 1.10.0 web-1.10.0.tgz", "web 2.0.0 web-2.0.0.tgz"),
		"/web-1.9.0.tgz": packed(t, "web", "1.9.0", "a"), "/web-1.10.0.tgz": packed(t, "web", "1.10.0", "b"), "/web-2.0.0.tgz": packed(t, "web", "2.0.0", "c"),
	})
	registry, _ := serve(t, newRegistry(t, "1.9.0", "1.10.0", "2.0.0"))
	f, _ := newTestFetcher(t)
	u := &Unlocked{Fetcher: func() (*Fetcher, error) { return f, nil }}
	for _, address := range []string{repository.URL, ociURL(registry)} {
		for text, want := range map[string]string{"1.9.0": "1.9.0", "1.x": "1.10.0", ">=1.2 <1.10": "1.9.0", "*": "2.0.0", "~1.9": "1.9.0"} {
			ch, from, err := u.Load(t.Context(), pin(address, text).Ref)
			if err != nil {
				t.Errorf("%s of %s: %v", text, address, err)
				continue
			}
			if told := strings.Contains(from, "("+text+" is "+want+" today)"); ch.Metadata.Version != want || told != (text != want) {
				t.Errorf("%s of %s: got %s, from %q; want %s", text, address, ch.Metadata.Version, from, want)
			}
		}
		_, _, err := u.Load(t.Context(), pin(address, ">=3").Ref)
		wantError(t, err, reason.Usage, `in the range ">=3"`, "2.0.0")
	}
	// What is locked stays when the repository has a later one.
	p := pin(repository.URL, "1.x")
	p.Ranges = true
	cache, dir := Cache{Dir: t.TempDir()}, t.TempDir()
	lock, err := Make(t.Context(), f, cache, &Lock{}, [][]Pin{{p}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Write(filepath.Join(dir, LockFile)); err != nil {
		t.Fatal(err)
	}
	if lock, err = ReadLock(os.DirFS(dir), dir); err != nil || lock.Entries[0].Version != "1.10.0" || lock.Fits([]Pin{p}) != nil {
		t.Fatalf("got %+v, %v", lock, err)
	}
	locked := &Upstream{Lock: lock, Cache: cache}
	ch, from, err := locked.Load(t.Context(), catalog.Ref{Component: p.Component, Repository: p.Repository, Name: p.Name, Version: "1.x"})
	if err != nil || ch.Metadata.Version != "1.10.0" || !strings.Contains(from, "1.x is 1.10.0 in the lock") {
		t.Errorf("got %v from %q", err, from)
	}
	if p.Ranges = false; lock.Fits([]Pin{pin(repository.URL, "2.x")}) == nil {
		t.Error("another range fits the lock")
	}
	if _, err := Make(t.Context(), f, cache, &Lock{}, [][]Pin{{p}}, nil, nil); err == nil {
		t.Error("the range of a recipe was locked")
	}
}

// All charts that cannot be had are named at once, each with its place; the others are downloaded.
func TestUnlocked_Several(t *testing.T) {
	home(t)
	repository, _ := serve(t, files{"/index.yaml": index("web 1.9.0 web-1.9.0.tgz"), "/web-1.9.0.tgz": packed(t, "web", "1.9.0", "a")})
	f, _ := newTestFetcher(t)
	u := &Unlocked{Fetcher: func() (*Fetcher, error) { return f, nil }}
	pins := []Pin{pin(repository.URL, "3.0.0"), pin(repository.URL, "1.9.0"), pin(repository.URL, "4.0.0")}
	for i := range pins {
		pins[i].Declared.File, pins[i].Declared.Line = "app.yaml", i+1
	}
	done := 0
	err := u.pull(t.Context(), pins, func(n, _ int) { done = n })
	wantError(t, err, reason.Of(u.pull(t.Context(), pins[:1], nil)), "2 charts cannot be had:", "app.yaml:1: ", "app.yaml:3: ")
	if done != 1 {
		t.Errorf("%d charts were downloaded, want 1", done)
	}
	many := &SeveralError{}
	for i := range 40 {
		many.Add(catalog.Ref{Component: fmt.Sprintf("a%d", i)}, fmt.Errorf("a%d: no such host", i))
	}
	if text := many.Error(); strings.Count(text, "\n") > 22 || !strings.Contains(text, "and 20 more: a20, ") {
		t.Errorf("got %s", text)
	}
}

// Only of charts that could not be downloaded is it said which: a file that is wrong is refused as a whole.
func TestNotDownloaded(t *testing.T) {
	away := reason.New(reason.ChartDownloadFailed, "no such host")
	several := &SeveralError{}
	several.Add(catalog.Ref{Component: "a"}, away)
	if got := NotDownloaded(reason.Wrap(reason.ChartDownloadFailed, several)); got == nil || !slices.Equal(got.Components(), []string{"a"}) || got.Error() != "no such host" {
		t.Errorf("got %v", got)
	}
	several.Add(catalog.Ref{Component: "b"}, reason.New(reason.Usage, "no chart name"))
	if NotDownloaded(several) != nil || NotDownloaded(away) != nil || NotDownloaded(nil) != nil {
		t.Error("an error of another kind is taken for one of downloads alone")
	}
}
