package charts

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// failing answers the first n requests whose path has this part otherwise.
type failing struct {
	http.Handler
	part   string
	answer func(w http.ResponseWriter, r *http.Request)

	mu sync.Mutex
	n  int
}

func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	fail := f.n > 0 && strings.Contains(r.URL.Path, f.part)
	if fail {
		f.n--
	}
	f.mu.Unlock()
	if fail {
		f.answer(w, r)
		return
	}
	f.Handler.ServeHTTP(w, r)
}

func busy(status int, after string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
	}
}

// repositories are an HTTP repository and an OCI registry with chart web 1.0.0, either of which
// fails at part of its work.
func repositories(t *testing.T) map[string]func(f *failing) string {
	tgz := packed(t, "web", "1.0.0", "x")
	store := newRegistry(t, "1.0.0")
	return map[string]func(f *failing) string{
		"http": func(f *failing) string {
			f.Handler = files{"/index.yaml": index("web 1.0.0 web.tgz"), "/web.tgz": tgz}
			if f.part == "" {
				f.part = "web.tgz"
			}
			s, _ := serve(t, f)
			return s.URL
		},
		"oci": func(f *failing) string {
			f.Handler = store
			if f.part == "" {
				f.part = "/manifests/"
			}
			s, _ := serve(t, f)
			return ociURL(s)
		},
	}
}

func TestBusy(t *testing.T) {
	home(t)
	in90s := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	for kind, start := range repositories(t) {
		for _, c := range []struct {
			name   string
			answer func(http.ResponseWriter, *http.Request)
			n      int
			want   []time.Duration // the pauses
		}{
			{"429 in seconds", busy(429, "7"), 1, []time.Duration{7 * time.Second}},
			{"503 without a time", busy(503, ""), 3, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
			{"503 with a date", busy(503, in90s), 1, []time.Duration{90 * time.Second}},
			{"502 and nonsense", busy(502, "soon"), 1, []time.Duration{time.Second}},
		} {
			f, pauses := newTestFetcher(t)
			if _, err := f.Fetch(t.Context(), pin(start(&failing{answer: c.answer, n: c.n}), "1.0.0"), ""); err != nil {
				t.Errorf("%s, %s: %v", kind, c.name, err)
			}
			for i := range pauses.list { // a date has no fractions
				if d := pauses.list[i]; d > 80*time.Second && d <= 90*time.Second {
					pauses.list[i] = 90 * time.Second
				}
			}
			if !slices.Equal(pauses.list, c.want) {
				t.Errorf("%s, %s: pauses of %v, want %v", kind, c.name, pauses.list, c.want)
			}
		}
		f, pauses := newTestFetcher(t)
		_, err := f.Fetch(t.Context(), pin(start(&failing{answer: busy(429, "3600"), n: 100}), "1.0.0"), "")
		wantError(t, err, reason.ChartDownloadFailed, "429 Too Many Requests", "asks to wait 1h0m0s", "longer than a download may take (5m0s)")
		if len(pauses.list) > 0 {
			t.Errorf("%s: it waited %v for nothing", kind, pauses.list)
		}
		f, pauses = newTestFetcher(t)
		_, err = f.Fetch(t.Context(), pin(start(&failing{answer: busy(503, ""), n: 100}), "1.0.0"), "")
		wantError(t, err, reason.ChartDownloadFailed, "503 Service Unavailable", "asked 5 times")
		if len(pauses.list) != 4 {
			t.Errorf("%s: pauses of %v", kind, pauses.list)
		}
	}
	// The first request to a registry is another one.
	f, _ := newTestFetcher(t)
	if _, err := f.Fetch(t.Context(), pin(repositories(t)["oci"](&failing{part: "/v2/", answer: busy(503, "1"), n: 1}), "1.0.0"), ""); err != nil {
		t.Error(err)
	}
}

// cut announces as many bytes, and sends fewer.
func cut(n int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(n))
		_, _ = w.Write([]byte("\x1f\x8b and nothing"))
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

func TestTruncated(t *testing.T) {
	home(t)
	for kind, start := range repositories(t) {
		f, _ := newTestFetcher(t)
		whole, err := f.Fetch(t.Context(), pin(start(&failing{}), "1.0.0"), "")
		if err != nil {
			t.Fatal(err)
		}
		n := len(whole.Archive)
		part := map[string]string{"http": "web.tgz", "oci": "/blobs/"}[kind]
		f, _ = newTestFetcher(t)
		if _, err := f.Fetch(t.Context(), pin(start(&failing{part: part, answer: cut(n), n: 1}), "1.0.0"), ""); err != nil {
			t.Errorf("%s, cut once: %v", kind, err)
		}
		f, _ = newTestFetcher(t)
		_, err = f.Fetch(t.Context(), pin(start(&failing{part: part, answer: cut(n), n: 100}), "1.0.0"), "")
		wantError(t, err, reason.ChartDownloadFailed, "asked 5 times", map[string]string{"http": fmt.Sprintf("the server announced %d bytes", n), "oci": "unexpected EOF"}[kind])
		if kind != "oci" {
			continue
		}
		// A registry that serves other bytes than its manifest says.
		f, _ = newTestFetcher(t)
		other := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, n)) }
		_, err = f.Fetch(t.Context(), pin(start(&failing{part: part, answer: other, n: 100}), "1.0.0"), "")
		wantError(t, err, reason.ChartDownloadFailed, "error verifying")
	}
}
