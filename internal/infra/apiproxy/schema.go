package apiproxy

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The rules below rest on what Argo CD's cluster cache does (gitops-engine, pkg/cache/cluster.go):
//
//   - For each event of its CRD watch, one after the other, it reads the whole OpenAPI v2 document once; not for a BOOKMARK. If that fails, it
//     keeps the document that it has and logs a line. So the answer "304 Not Modified" leaves it as it was.
//   - Its full synchronization, which must not fail, asks for /version before it asks for the document. No other read of the document can
//     come between, since both hold the cache's lock.
//   - A watch that ends is opened again, from the last event that was handled.
const (
	openAPIv2 = "/openapi/v2"
	openAPIv3 = "/openapi/v3/"
	crdsPath  = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	// v2Accept is the media type of the document in protobuf.
	v2Accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
)

// schema has the rules for Argo CD. It tracks which OpenAPI v2 document the controller has: the
// controller keeps an old one only while another request is certain to follow. When CRDs no longer
// change, schema compares the controller's document with the API server's. If they differ, it ends
// the controller's watch, and starts the next one before the last event, for which the controller
// reads the document again.
type schema struct {
	proxy *Proxy
	ctx   context.Context
	stop  context.CancelFunc

	// mostAge is how old the controller's document may be for an answer that leaves it unchanged
	// until the next request.
	mostAge time.Duration
	// quiet is the time without a change of CRDs after which the controller's document is compared
	// with the API server's.
	quiet time.Duration
	// slow is how long the delivery of a document may take. The controller's client gives up after
	// 32 s, which is not seen here at once.
	slow time.Duration

	turn sync.Mutex // held while a document is on its way to the controller, and while documents are compared

	mu sync.Mutex
	// watch is the newest CRD watch, whose events count; nil without one, or if its events cannot
	// be separated.
	watch *crdWatch
	// unread is how many events were handed out whose request is still to come. It may be too low,
	// which costs a read of the document, and must not be too high.
	unread    int
	events    int // all that were counted
	lastEvent time.Time
	version   uint64 // of the object of the last event
	// etag is of the document that the controller has; empty if that is not certain. asked is when
	// it was last known to be the newest.
	etag  string
	asked time.Time
	// syncing is set from the start of a full synchronization until a document was delivered. Its
	// request must not be answered with "304 Not Modified".
	syncing bool
	// behind is set while the controller may have an old document. A watch then starts before the
	// last event, for which the controller reads the document again.
	behind bool
	// replays is how often in a row the last event was delivered again; each time what follows
	// comes later.
	replays int
	timer   *time.Timer // for compare
	// groups are the pruned documents of OpenAPI v3, by path and media type.
	groups map[string]prunedDocument
}

// prunedDocument is a document of OpenAPI v3 as the controller gets it.
type prunedDocument struct {
	header http.Header
	body   []byte
}

// crdWatch is a CRD watch that goes through the proxy.
type crdWatch struct {
	cancel   context.CancelFunc
	replayed bool // it starts at an earlier event than the client requested
	ended    bool // by the proxy
}

// documentState is what is known about the OpenAPI v2 document that the controller has.
type documentState int

const (
	mustSend documentState = iota // it has none for certain, or synchronizes fully: it needs a document
	mayAsk                        // it has one: whether that is the newest, the API server says
	mayWait                       // it has a recent one and is certain to ask again: it keeps that one until then
)

// state is the state at a time. The lock is held.
func (s *schema) state(at time.Time) documentState {
	switch {
	case s.etag == "" || s.syncing:
		return mustSend
	case s.unread > 0 && at.Sub(s.asked) < s.mostAge:
		return mayWait
	}
	return mayAsk
}

type watchKey struct{}

func newSchema(p *Proxy) *schema {
	s := &schema{proxy: p, syncing: true, mostAge: time.Second, quiet: 2 * time.Second, slow: 20 * time.Second, groups: map[string]prunedDocument{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.timer = time.AfterFunc(time.Hour, s.compare)
	s.timer.Stop()
	return s
}

func (s *schema) close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.Stop()
}

func (s *schema) serve(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.Method != http.MethodGet:
	case r.URL.Path == "/version":
		s.locked(func() { s.syncing = true })
	case r.URL.Path == openAPIv2 && ofClusterCache(r):
		s.document(w, r)
		return true
	case strings.HasPrefix(r.URL.Path, openAPIv3):
		s.groupDocument(w, r)
		return true
	case r.URL.Path == crdsPath && r.URL.Query().Has("watch"):
		s.watchCRDs(w, r)
		return true
	}
	return false
}

func (s *schema) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// ofClusterCache reports whether a request is the cluster cache's. The same program contains
// kubectl, which must get the API server's answers. The client of the cache does not compress,
// because of Argo CD's cluster Secret; that of kubectl does, and revalidates its cache on disk.
func ofClusterCache(r *http.Request) bool {
	h := r.Header
	return h.Get("Accept") == v2Accept && h.Get("Accept-Encoding") == "" && h.Get("If-None-Match") == ""
}

// document answers the cluster cache's request for the OpenAPI v2 document.
func (s *schema) document(w http.ResponseWriter, r *http.Request) {
	s.turn.Lock()
	defer s.turn.Unlock()
	start, header := time.Now(), map[string]string{}
	var state documentState
	s.locked(func() {
		s.unread = max(0, s.unread-1)
		switch state = s.state(start); state {
		case mayAsk:
			header["If-None-Match"] = s.etag
		case mayWait:
			s.behind = true
			s.proxy.log.Printf("OpenAPI v2: 304, %d more events", s.unread)
		}
	})
	if state == mayWait {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	resp, body, err := s.proxy.read(r, header)
	switch {
	case err != nil:
		s.locked(s.stale)
		s.proxy.unreachable(w, r, err)
	case resp.StatusCode == http.StatusNotModified && header["If-None-Match"] != "":
		s.locked(func() { s.asked, s.behind = start, false })
		s.proxy.log.Printf("OpenAPI v2: 304 of the API server")
		w.WriteHeader(http.StatusNotModified)
	case resp.StatusCode == http.StatusOK:
		s.locked(func() { s.etag = "" }) // until it is delivered
		pruned, err := withoutPaths(body)
		if err != nil {
			s.proxy.log.Printf("OpenAPI v2: passed on as it is: %v", err)
			pruned = body
		}
		err = write(w, resp, pruned)
		s.locked(func() {
			if err != nil || r.Context().Err() != nil || time.Since(start) > s.slow {
				s.stale()
				return
			}
			s.etag, s.asked, s.behind, s.syncing = resp.Header.Get("Etag"), start, false, false
			s.compareLater()
		})
		s.proxy.log.Printf("OpenAPI v2: %d of %d bytes in %s", len(pruned), len(body), time.Since(start).Round(time.Millisecond))
	default:
		s.locked(s.stale)
		s.proxy.log.Printf("OpenAPI v2: the API server answers %s", resp.Status)
		_ = write(w, resp, body) // the client may have disconnected
	}
}

// stale notes that the controller did not get a document, and keeps its old one. The lock is held.
func (s *schema) stale() {
	s.behind = true
	s.compareLater()
}

// groupDocument answers a request for the OpenAPI v3 document of one group. For each object that it
// applies, kubectl reads the document of its group, which is the same unless a CRD has changed. So
// the proxy asks the API server to send it only if it has changed.
func (s *schema) groupDocument(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Path + " " + r.Header.Get("Accept")
	var known prunedDocument
	header := map[string]string{}
	s.locked(func() { known = s.groups[key] })
	if etag := known.header.Get("Etag"); etag != "" && r.Header.Get("If-None-Match") == "" {
		header["If-None-Match"] = etag
	}
	resp, body, err := s.proxy.read(r, header)
	switch {
	case err != nil:
		s.proxy.unreachable(w, r, err)
		return
	case resp.StatusCode == http.StatusNotModified && header["If-None-Match"] != "":
		fresh := known.header.Clone()
		fresh["Date"] = resp.Header["Date"]
		resp.StatusCode, resp.Header, body = http.StatusOK, fresh, known.body
	case resp.StatusCode == http.StatusOK && isJSON(resp.Header):
		pruned, err := patchesOnly(body)
		if err != nil {
			s.proxy.log.Printf("%s: passed on as it is: %v", r.URL.Path, err)
			break
		}
		body = pruned
		s.locked(func() { s.groups[key] = prunedDocument{resp.Header.Clone(), body} })
	}
	_ = write(w, resp, body) // the client may have disconnected
}

// watchCRDs forwards a watch of CRDs. From then on its events count, and no longer those of an
// earlier one.
func (s *schema) watchCRDs(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	watch := &crdWatch{cancel: cancel}
	out := r.Clone(context.WithValue(ctx, watchKey{}, watch))
	s.locked(func() {
		s.watch, s.unread = watch, 0
		query := r.URL.Query()
		from, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
		if err == nil && from > 0 && s.behind && s.version > 0 {
			watch.replayed = true
			query.Set("resourceVersion", strconv.FormatUint(min(from, s.version-1), 10))
			out.URL.RawQuery = query.Encode()
		}
	})
	defer s.uncounted(watch)
	s.proxy.forward.ServeHTTP(w, out)
}

// uncounted stops counting the events of a watch.
func (s *schema) uncounted(watch *crdWatch) {
	s.locked(func() {
		if s.watch == watch {
			s.watch, s.unread = nil, 0
		}
	})
}

func (s *schema) modify(resp *http.Response) error {
	watch, ok := resp.Request.Context().Value(watchKey{}).(*crdWatch)
	switch {
	case !ok:
	case resp.StatusCode == http.StatusOK && isJSON(resp.Header):
		resp.Body = &eventReader{events: newEvents(resp.Body), body: resp.Body, of: func(e event) { s.count(watch, e) }, ended: func() (ended bool) {
			s.locked(func() { ended = watch.ended })
			return ended
		}}
	default:
		s.uncounted(watch)
		if resp.StatusCode == http.StatusGone && watch.replayed {
			s.cannotReplay(resp.Status)
		}
	}
	return nil
}

// count is called for an event before any of it is handed out.
func (s *schema) count(watch *crdWatch, e event) {
	switch e.Type {
	case "ADDED", "MODIFIED", "DELETED":
		version, err := strconv.ParseUint(e.Object.Metadata.ResourceVersion, 10, 64)
		s.locked(func() {
			if s.watch != watch || err != nil {
				return
			}
			s.unread++
			s.events++
			s.lastEvent, s.version = time.Now(), version
			s.compareLater()
		})
	case "BOOKMARK":
	case "ERROR":
		if watch.replayed && e.Object.Code == http.StatusGone {
			s.cannotReplay(e.Object.Message)
		}
	default:
		s.uncounted(watch)
	}
}

// cannotReplay stops the proxy with an error: the API server no longer has the event that would
// make the controller read the document again.
func (s *schema) cannotReplay(why string) {
	go s.proxy.fail(fmt.Errorf("the controller has an old OpenAPI document, and the last CRD event cannot be delivered again: %s", why))
}

// compareLater compares once there was no event for a while. The lock is held.
func (s *schema) compareLater() {
	if s.ctx.Err() == nil {
		s.timer.Reset(s.quiet << min(s.replays, 5))
	}
}

// compare compares the controller's document with the API server's, once CRDs no longer change. The
// controller may have requested the document too early, since the API server renews it a moment
// after the event; or the controller never saw an event that was sent.
func (s *schema) compare() {
	s.turn.Lock()
	defer s.turn.Unlock()
	var watch *crdWatch
	var etag string
	var events int
	s.locked(func() {
		if s.unread > 0 && time.Since(s.lastEvent) < 5*s.quiet {
			s.compareLater() // the controller has not handled the events yet
		} else if s.version > 0 {
			watch, etag, events = s.watch, s.etag, s.events
		}
	})
	if watch == nil {
		return // the next watch starts before the last event if the controller is behind
	}
	same, err := s.newest(etag)
	s.locked(func() {
		switch {
		case err != nil || s.watch != watch || s.events != events:
			s.compareLater()
		case same:
			s.replays, s.behind = 0, false
		default:
			s.replays++
			s.behind, watch.ended = true, true
			s.proxy.log.Printf("OpenAPI v2: the controller's is old, so the last CRD event is delivered again")
			watch.cancel()
		}
	})
}

// newest reports whether the API server's document has this ETag.
func (s *schema) newest(etag string) (bool, error) {
	if etag == "" {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.slow)
	defer cancel()
	resp, err := s.proxy.get(ctx, http.Header{}, openAPIv2, nil, map[string]string{"Accept": v2Accept, "If-None-Match": etag})
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // only the status counts
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		return false, fmt.Errorf("the API server answers %s", resp.Status)
	}
	return resp.StatusCode == http.StatusNotModified, nil
}
