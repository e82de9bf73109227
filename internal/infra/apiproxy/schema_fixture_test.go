package apiproxy

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// fakeAPI is an API server with one OpenAPI document and CRD watches that a test writes to.
type fakeAPI struct {
	mu       sync.Mutex
	revision int        // of the document
	asked    []string   // the If-None-Match of each request for the document, with the Accept-Encoding
	status   int        // if set, in place of the document
	body     string     // if set, in place of the document
	kind     string     // the media type of watches; JSON by default
	watches  chan watch // each that is opened
}

// watch is one CRD watch that has reached the API server.
type watch struct {
	query url.Values
	write chan string
	done  <-chan struct{}
}

func (a *fakeAPI) change() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revision++
}

// requests for the document since the last call.
func (a *fakeAPI) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := a.asked
	a.asked = nil
	return got
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == openAPIv2:
		a.mu.Lock()
		etag, status, body := strconv.Quote(strconv.Itoa(a.revision)), a.status, field(8, "paths")+field(9, strconv.Itoa(a.revision))
		a.asked = append(a.asked, strings.TrimSpace(r.Header.Get("If-None-Match")+" "+r.Header.Get("Accept-Encoding")))
		if a.body != "" {
			body = a.body
		}
		a.mu.Unlock()
		w.Header().Set("Etag", etag)
		switch {
		case status != 0:
			w.WriteHeader(status)
		case r.Header.Get("If-None-Match") == etag:
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = io.WriteString(w, body)
		}
	case r.URL.Path == crdsPath && r.URL.Query().Get("watch") == "true":
		a.mu.Lock()
		kind := a.kind
		a.mu.Unlock()
		if kind == "" {
			kind = "application/json"
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		it := watch{r.URL.Query(), make(chan string), r.Context().Done()}
		a.watches <- it
		for {
			select {
			case text, ok := <-it.write:
				if !ok {
					return
				}
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			case <-it.done:
				return
			}
		}
	default:
		_, _ = fmt.Fprint(w, "{}") // the client may have disconnected
	}
}

func crdEvent(kind string, version int) string {
	return fmt.Sprintf(`{"type":%q,"object":{"kind":"CustomResourceDefinition","metadata":{"name":"a","resourceVersion":"%d"}}}`+"\n", kind, version)
}

// cache simulates Argo CD's cluster cache.
type cache struct {
	*fixture
	*fakeAPI
	schema *schema
}

// newCache has synchronized: it has read /version, and the document.
func newCache(t *testing.T) *cache {
	api := &fakeAPI{revision: 1, watches: make(chan watch, 8)}
	c := &cache{fixture: newFixture(t, ArgoCD, api.ServeHTTP), fakeAPI: api}
	c.schema = c.rules.(*schema)
	if s := c.schema; s.mostAge > time.Second || s.quiet > 5*time.Second || s.slow > 30*time.Second {
		t.Errorf("an old document lasts too long: %+v", []time.Duration{s.mostAge, s.quiet, s.slow})
	}
	c.schema.mostAge, c.schema.quiet = time.Hour, time.Hour
	c.get(t, "/version")
	c.wantDocument(t, 1)
	testkit.WantText(t, "the first request", fmt.Sprintf("%q", c.requests()), `[""]`)
	return c
}

// open opens a CRD watch. The result reads the next line that the controller gets; an error is its
// end.
func (c *cache) open(t *testing.T, from int) (watch, func() (string, error)) {
	t.Helper()
	resp := c.ask(t, fmt.Sprintf("%s?allowWatchBookmarks=true&resourceVersion=%d&watch=true", crdsPath, from))
	events := newEvents(resp.Body)
	return <-c.watches, func() (string, error) { return events.ReadString('\n') }
}

// event sends events and waits until the controller has all of them.
func (c *cache) event(t *testing.T, w watch, next func() (string, error), texts ...string) {
	t.Helper()
	w.write <- strings.Join(texts, "")
	for _, want := range texts {
		if got, err := next(); err != nil || got != want {
			t.Fatalf("event: got %q, %v; want %q", got, err, want)
		}
	}
}

func (c *cache) wantDocument(t *testing.T, revision int) {
	t.Helper()
	if code, body := c.get(t, openAPIv2+"?timeout=32s", "Accept", v2Accept); code != http.StatusOK || body != field(9, strconv.Itoa(revision)) {
		t.Errorf("document: got %d %q, want revision %d", code, body, revision)
	}
}

func (c *cache) want304(t *testing.T) {
	t.Helper()
	if code, body := c.get(t, openAPIv2+"?timeout=32s", "Accept", v2Accept); code != http.StatusNotModified || body != "" {
		t.Errorf("document: got %d %q, want 304", code, body)
	}
}

func (c *cache) wantRequests(t *testing.T, want ...string) {
	t.Helper()
	if got := c.requests(); !slices.Equal(got, want) {
		t.Errorf("the API server was asked with %q, want %q", got, want)
	}
}
