package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"

	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// packed is a chart's archive with a file of this content; entries go behind.
func packed(t *testing.T, name, version, content string, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	add := func(h tar.Header, text string) {
		h.Mode, h.Size = 0o644, int64(len(text))
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, text); err != nil {
			t.Fatal(err)
		}
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: name + "/Chart.yaml"}, fmt.Sprintf("{apiVersion: v2, name: %s, version: %q}", name, version))
	add(tar.Header{Typeflag: tar.TypeReg, Name: name + "/templates/cm.yaml"}, "# "+content)
	for _, h := range entries {
		add(h, "")
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// requests are those that a server got.
type requests struct {
	mu   sync.Mutex
	list []*http.Request
}

func (r *requests) add(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, req)
}

// to counts the requests whose path has this end.
func (r *requests) to(suffix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, req := range r.list {
		if strings.HasSuffix(req.URL.Path, suffix) {
			n++
		}
	}
	return n
}

// authorized are the paths that were asked for with a login.
func (r *requests) authorized() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var paths []string
	for _, req := range r.list {
		if req.Header.Get("Authorization") != "" {
			paths = append(paths, req.URL.Path)
		}
	}
	return paths
}

// serve runs a server, and notes its requests.
func serve(t *testing.T, h http.Handler) (*httptest.Server, *requests) {
	t.Helper()
	got := &requests{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.add(r)
		h.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s, got
}

// files is a server of files by their paths; a value that begins with redirect: leads elsewhere.
type files map[string][]byte

func (f files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, ok := f[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if to, ok := strings.CutPrefix(string(content), "redirect:"); ok {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	_, _ = w.Write(content)
}

// index is an index.yaml: a line "NAME VERSION URL [DIGEST]" for each chart.
func index(lines ...string) []byte {
	entries := map[string]string{}
	for _, l := range lines {
		f := strings.Fields(l)
		entry := fmt.Sprintf("  - {apiVersion: v2, name: %s, version: %q, urls: [%q]", f[0], f[1], f[2])
		if len(f) > 3 {
			entry += ", digest: " + f[3]
		}
		entries[f[0]] += entry + "}\n"
	}
	text := "apiVersion: v1\nentries:\n"
	for name, versions := range entries {
		text += "  " + name + ":\n" + versions
	}
	return []byte(text)
}

// withLogin rejects requests without this user and password.
func withLogin(h http.Handler, user, password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// newRegistry is an OCI registry that has these archives as web:VERSION of the repository charts.
func newRegistry(t *testing.T, versions ...string) http.Handler {
	t.Helper()
	store := ociregistry.New(ociregistry.Logger(stdlog.New(io.Discard, "", 0)))
	s := httptest.NewServer(store)
	defer s.Close()
	for _, v := range versions {
		push(t, s.URL, packed(t, "web", v, "of the registry"))
	}
	return store
}

func push(t *testing.T, url string, tgz []byte) {
	t.Helper()
	ch, err := archive.Load(tgz)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := publish.PushChart(t.Context(), ch, "oci://"+strings.TrimPrefix(url, "http://")+"/charts", publish.Own()); err != nil {
		t.Fatal(err)
	}
}

// home gives the test a home without any logins, and returns it.
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"HOME": dir, "DOCKER_CONFIG": filepath.Join(dir, ".docker"), "XDG_RUNTIME_DIR": dir, "REGISTRY_AUTH_FILE": "",
		"HELM_REPOSITORY_CONFIG": filepath.Join(dir, "helm", "repositories.yaml"), "HELM_REGISTRY_CONFIG": filepath.Join(dir, "helm", "registry.json"),
	} {
		t.Setenv(name, value)
	}
	for _, sub := range []string{".docker", "helm"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func encoded(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// slept are the pauses that a fetcher made.
type slept struct {
	mu   sync.Mutex
	list []time.Duration
}

func (s *slept) sleep(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, d)
	return ctx.Err()
}

// newTestFetcher reads the logins of the test's home, and does not sleep.
func newTestFetcher(t *testing.T, env ...string) (*Fetcher, *slept) {
	t.Helper()
	getenv := func(name string) string {
		for i := 0; i < len(env); i += 2 {
			if env[i] == name {
				return env[i+1]
			}
		}
		return ""
	}
	f, err := NewFetcher(getenv, []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	s := &slept{}
	f.sleep = s.sleep
	return f, s
}

func pin(repository, version string) Pin {
	return Pin{Ref: catalog.Ref{Component: "front", Repository: repository, Name: "web", Version: version}}
}

func ociURL(s *httptest.Server) string { return "oci://" + s.Listener.Addr().String() + "/charts" }

// wantError fails the test unless err has this reason and its message these parts.
func wantError(t *testing.T, err error, class reason.Reason, parts ...string) {
	t.Helper()
	if reason.Of(err) != class {
		t.Errorf("got the reason %q, want %q: %v", reason.Of(err), class, err)
	}
	for _, part := range parts {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not have %q:\n%v", part, err)
		}
	}
}
