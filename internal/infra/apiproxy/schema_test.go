package apiproxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// Of several events only the last one's request is passed on, with the ETag of what the controller
// has. Two CRDs in one packet are two.
func TestStorm(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	if got := w.query.Get("resourceVersion"); got != "10" {
		t.Errorf("the watch begins at %s", got)
	}
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12))
	c.event(t, w, next, crdEvent("MODIFIED", 13))
	c.change()
	c.want304(t)
	c.want304(t)
	c.wantRequests(t)
	c.wantDocument(t, 2)
	c.wantRequests(t, `"1"`)
	// A CRD that changes later, and one that goes.
	for i, kind := range []string{"MODIFIED", "DELETED"} {
		c.event(t, w, next, crdEvent(kind, 14+i))
		c.change()
		c.wantDocument(t, 3+i)
	}
	c.wantRequests(t, `"2"`, `"3"`)
	// An event that changes no schema, e.g. of a status: the API server says so.
	c.event(t, w, next, crdEvent("MODIFIED", 17))
	c.want304(t)
	c.wantRequests(t, `"4"`)
}

func TestSchema_Bookmarks(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("BOOKMARK", 12), crdEvent("BOOKMARK", 13))
	c.change()
	c.wantDocument(t, 2)
}

// Requests that no event caused, as after one of an APIService, make no later answer wrong.
func TestSchema_MoreRequestsThanEvents(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	for range 3 {
		c.want304(t)
	}
	c.wantRequests(t, `"1"`, `"1"`, `"1"`)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12))
	c.change()
	c.want304(t)
	c.wantDocument(t, 2)
	c.wantRequests(t, `"1"`)
}

func TestSchema_OldDocument(t *testing.T) {
	c := newCache(t)
	c.schema.mostAge = 0
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12))
	c.change()
	c.wantDocument(t, 2)
	c.want304(t)
	c.wantRequests(t, `"1"`, `"2"`)
}

// A full synchronization gets a whole document, even if requests for events are pending.
func TestSynchronization(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12), crdEvent("ADDED", 13))
	c.get(t, "/version?timeout=32s")
	c.wantDocument(t, 1)
	c.wantRequests(t, "")
	c.want304(t)
	c.wantRequests(t)
}

// kubectl is in the same program. It gets the API server's answers unchanged, and its requests do
// not count.
func TestKubectl(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12))
	whole := field(8, "paths") + field(9, "1")
	for _, header := range [][]string{{"Accept", v2Accept, "Accept-Encoding", "gzip"}, {"Accept", v2Accept, "If-None-Match", `"0"`}, {"Accept", "application/json"}} {
		if code, body := c.get(t, openAPIv2, header...); code != http.StatusOK || body != whole {
			t.Errorf("%q: got %d %q", header, code, body)
		}
	}
	c.wantRequests(t, "gzip", `"0"`, "")
	c.want304(t)
	c.wantRequests(t)
}

// Only the newest watch counts, and only while it lasts: events that the controller will never see
// cause no request.
func TestSchema_WatchEnds(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12), crdEvent("ADDED", 13))
	c.change()
	c.want304(t)
	close(w.write)
	if text, err := next(); !errors.Is(err, io.EOF) {
		t.Errorf("the watch ended with %q, %v", text, err)
	}
	c.wantDocument(t, 2)

	old, nextOld := c.open(t, 13)
	c.event(t, old, nextOld, crdEvent("ADDED", 14), crdEvent("ADDED", 15))
	_, _ = c.open(t, 13)
	c.change()
	c.wantDocument(t, 3)
	c.event(t, old, nextOld, crdEvent("ADDED", 16), crdEvent("ADDED", 17))
	c.change()
	c.wantDocument(t, 4)
}

// The controller got 304, because another request was expected, and then its watch ended. The next
// watch starts before the last event.
func TestSchema_WatchEndsBeforeRequest(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 15))
	c.change()
	c.want304(t)
	close(w.write)
	if _, err := next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	w, next = c.open(t, 20)
	if got := w.query.Get("resourceVersion"); got != "14" {
		t.Errorf("the watch begins at %s, want 14", got)
	}
	if got := w.query.Get("allowWatchBookmarks"); got != "true" {
		t.Errorf("the rest of the query is %v", w.query)
	}
	c.event(t, w, next, crdEvent("ADDED", 15))
	c.wantDocument(t, 2)
	w, _ = c.open(t, 20)
	if got := w.query.Get("resourceVersion"); got != "20" {
		t.Errorf("with the document, the watch begins at %s, want 20", got)
	}
}

// The API server renews its document a moment after the event. Where the controller asked too
// early, the event is delivered again.
func TestSchema_RequestTooEarly(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11))
	c.want304(t)
	c.wantRequests(t, `"1"`)
	c.change()
	c.schema.locked(func() {
		c.schema.quiet = 10 * time.Millisecond
		c.schema.compareLater()
	})
	if text, err := next(); !errors.Is(err, io.EOF) { // a regular end, after which the controller opens another watch
		t.Errorf("the watch ended with %q, %v", text, err)
	}
	w, next = c.open(t, 11)
	if got := w.query.Get("resourceVersion"); got != "10" {
		t.Errorf("the watch begins at %s, want 10", got)
	}
	c.event(t, w, next, crdEvent("ADDED", 11))
	c.wantDocument(t, 2)
	testkit.WantText(t, "log", c.log.String(), "the controller's is old, so the last CRD event is delivered again")
}

// If the controller has the newest document, the comparison does not end its watch.
func TestComparison(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11))
	c.change()
	c.wantDocument(t, 2)
	c.schema.compare()
	c.event(t, w, next, crdEvent("ADDED", 12))
	c.wantRequests(t, `"1"`, `"2"`)
	c.schema.compare() // the controller has not asked yet
	c.wantRequests(t)
}

// A document that did not arrive is not counted on.
func TestSchema_DocumentNotDelivered(t *testing.T) {
	c := newCache(t)
	c.mu.Lock()
	c.body = field(9, strings.Repeat("x", 32<<20))
	c.mu.Unlock()
	c.change()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.fixture.url+openAPIv2, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", v2Accept)
	resp, err := c.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // in the middle of the body
	_ = resp.Body.Close()
	c.mu.Lock()
	c.body = ""
	c.mu.Unlock()
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12))
	c.wantDocument(t, 2)
	c.wantRequests(t, `"1"`, "")
}

// One that took so long that the client may have given up is not counted on either.
func TestSchema_SlowDelivery(t *testing.T) {
	c := newCache(t)
	c.schema.slow = 0
	c.change()
	c.wantDocument(t, 2)
	c.schema.slow = time.Minute
	c.wantDocument(t, 2)
	c.want304(t)
	c.wantRequests(t, `"1"`, "", `"2"`)
}

// The proxy passes an error of the API server on, and starts the next watch before the last event.
func TestAPIServerError(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11))
	c.mu.Lock()
	c.status = http.StatusServiceUnavailable
	c.mu.Unlock()
	if code, _ := c.get(t, openAPIv2, "Accept", v2Accept); code != http.StatusServiceUnavailable {
		t.Errorf("got %d", code)
	}
	w, _ = c.open(t, 11)
	if got := w.query.Get("resourceVersion"); got != "10" {
		t.Errorf("the watch begins at %s, want 10", got)
	}
}

// If events cannot be separated, the proxy forwards every request.
func TestUncountedWatch(t *testing.T) {
	c := newCache(t)
	c.kind = "application/vnd.kubernetes.protobuf;stream=watch"
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12))
	c.change()
	c.wantDocument(t, 2)
	c.kind = ""
	w, next = c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 12), "what is this\n")
	c.change()
	c.wantDocument(t, 3)
}

// An event that cannot be delivered again ends the proxy: the run says so, and has no verdict from
// an old document.
func TestSchema_ReplayedEventGone(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, crdEvent("ADDED", 11), crdEvent("ADDED", 15))
	c.want304(t)
	w, next = c.open(t, 20)
	const gone = `{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version: 14"}}` + "\n"
	w.write <- gone
	_, _ = next()
	<-c.done
	testkit.WantText(t, "death", c.log.String(), "the last CRD event cannot be delivered again: too old resource version: 14")
	if c.died.Load() == nil {
		t.Error("it was not reported")
	}
}

// The proxy forwards the same error of a watch that it did not move back.
func TestSchema_OrdinaryGone(t *testing.T) {
	c := newCache(t)
	w, next := c.open(t, 10)
	c.event(t, w, next, `{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}`+"\n", crdEvent("ADDED", 11))
	if c.died.Load() != nil {
		t.Error("the proxy ended")
	}
}

// The documents of groups are pruned, and read without compression.
func TestGroupDocument(t *testing.T) {
	const doc = `{"openapi":"3.0.0","info":{},"paths":{"/a":{"get":{},"patch":{"parameters":[{"name":"fieldValidation"}]}}},"components":{"schemas":{"A":{}}}}`
	f := newFixture(t, ArgoCD, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "" && r.URL.Path != "/openapi/v3" {
			t.Errorf("%s: Accept-Encoding %q", r.URL.Path, got)
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/openapi/v3/proto" {
			w.Header().Set("Content-Type", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf")
		}
		_, _ = io.WriteString(w, doc)
	})
	for path, want := range map[string]string{
		"/openapi/v3/apis/a/v1?hash=1": `{"openapi":"3.0.0","info":{},"paths":{"/a":{"patch":{"parameters":[{"name":"fieldValidation"}]}}}}`,
		"/openapi/v3/proto":            doc,
		"/openapi/v3":                  doc,
	} {
		if _, got := f.get(t, path, "Accept-Encoding", "gzip"); got != want {
			t.Errorf("%s: got %s", path, got)
		}
	}
}

// The API server sends a document again only if it has changed. A client that revalidates its own
// document gets the API server's answer.
func TestGroupDocument_Unchanged(t *testing.T) {
	version := "1"
	var sent, asked []string
	f := newFixture(t, ArgoCD, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("If-None-Match"))
		w.Header().Set("Etag", `"`+version+`"`)
		if r.Header.Get("If-None-Match") == `"`+version+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		sent = append(sent, version)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"openapi":"`+version+`","info":{},"paths":{"/a":{"get":{}}}}`)
	})
	read := func(want int, doc string, header ...string) {
		t.Helper()
		if code, got := f.get(t, "/openapi/v3/apis/a/v1?hash="+version, header...); code != want || got != doc {
			t.Errorf("got %d %s, want %d %s", code, got, want, doc)
		}
	}
	first, second := `{"openapi":"1","info":{},"paths":{"/a":{}}}`, `{"openapi":"2","info":{},"paths":{"/a":{}}}`
	read(http.StatusOK, first)
	read(http.StatusOK, first)
	version = "2"
	read(http.StatusOK, second)
	read(http.StatusOK, second)
	read(http.StatusNotModified, "", "If-None-Match", `"2"`)
	read(http.StatusOK, second, "Accept", "application/json") // another media type is another document
	if want := []string{"1", "2", "2"}; !slices.Equal(sent, want) {
		t.Errorf("documents %q were sent, want %q", sent, want)
	}
	if want := []string{"", `"1"`, `"1"`, `"2"`, `"2"`, ""}; !slices.Equal(asked, want) {
		t.Errorf("asked with %q, want %q", asked, want)
	}
}

// An event is counted before any of it is handed out.
func TestSchema_CountBeforeDelivery(t *testing.T) {
	reader, writer := io.Pipe()
	told := make(chan event, 1)
	r := &eventReader{events: newEvents(reader), body: reader, of: func(e event) { told <- e }, ended: func() bool { return false }}
	go func() {
		text := crdEvent("ADDED", 7)
		_, _ = io.WriteString(writer, text[:len(text)-1]) // whole, for a client, but not for us
		_, _ = io.WriteString(writer, text[len(text)-1:])
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
	}()
	one := make([]byte, 1)
	if n, err := r.Read(one); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	select {
	case e := <-told:
		if e.Object.Metadata.ResourceVersion != "7" {
			t.Errorf("got %+v", e)
		}
	default:
		t.Error("a byte was handed out before the event was told")
	}
	if rest, err := io.ReadAll(r); string(one)+string(rest) != crdEvent("ADDED", 7) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", rest, err)
	}
}
