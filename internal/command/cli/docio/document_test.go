package docio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

func places() Places {
	return Places{Getenv: func(string) string { return "" }, Timeout: 5 * time.Second}
}

func wantError(t *testing.T, what string, err error, r reason.Reason, part string) {
	t.Helper()
	if reason.Of(err) != r || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: got %v (%s), want %s and %q", what, err, reason.Of(err), r, part)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "recipe.yaml")
	p := places()
	ctx := t.Context()
	for _, content := range []string{"a: 1\n", "b: 2\n"} { // the second replaces the first
		if err := p.Write(ctx, "recipe", file, "yaml", []byte(content)); err != nil {
			t.Fatal(err)
		}
		data, called, err := p.Read(ctx, "recipe", file)
		if err != nil || string(data) != content || called != filepath.ToSlash(file) {
			t.Errorf("got %q, %q, %v", data, called, err)
		}
	}
	link := filepath.Join(dir, "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(ctx, "recipe", link, "yaml", []byte("c: 3\n")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "c: 3\n" {
		t.Errorf("got %q, %v", data, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("something is left: %v, %v", entries, err)
	}
	large := filepath.Join(dir, "large.yaml")
	f, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<30), f.Close()); err != nil { // a sparse file of 1 GiB
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		filepath.Join(dir, "no.yaml"):       "recipe file " + filepath.Join(dir, "no.yaml") + " does not exist",
		dir:                                 "is a directory; name the recipe file in it",
		large:                               "larger than 10 MiB",
		filepath.Join(file, "below-a-file"): "read the recipe file",
		"ftp://example.com/recipe.yaml":     "cannot be read from ftp://example.com/recipe.yaml; want a file",
		"https:///recipe.yaml":              "is not an address",
		"cm://only-one":                     "want cm://NAMESPACE/NAME",
		"cm://a/b/c":                        `"b/c" cannot be the name of a ConfigMap`,
		"cm://Upper/b":                      `"Upper" cannot be a namespace`,
		"cm:///b":                           "want cm://NAMESPACE/NAME",
	} {
		_, _, err := p.Read(ctx, "recipe", address)
		wantError(t, address, err, reason.Usage, want)
	}
	for address, want := range map[string]string{
		dir:                                  "is a directory",
		filepath.Join(dir, "none", "x.yaml"): "write the recipe to " + filepath.Join(dir, "none", "x.yaml") + ": no such file or directory",
		"https://example.com/x":              "cannot be written to",
		"cm://x":                             "want cm://NAMESPACE/NAME",
	} {
		wantError(t, "write "+address, p.Write(ctx, "recipe", address, "yaml", nil), reason.Usage, want)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestStandardStreams(t *testing.T) {
	var out bytes.Buffer
	p := places()
	p.Stdin, p.Stdout = strings.NewReader("a: 1\n"), &out
	data, called, err := p.Read(t.Context(), "recipe", "-")
	if err != nil || string(data) != "a: 1\n" || called != "standard input" {
		t.Errorf("got %q, %q, %v", data, called, err)
	}
	if err := p.Write(t.Context(), "recipe", "-", "yaml", data); err != nil || out.String() != "a: 1\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	_, _, err = p.Read(t.Context(), "recipe", "-")
	wantError(t, "nothing more", err, reason.Usage, "standard input is empty")
	p.Stdin = endless{}
	_, _, err = p.Read(t.Context(), "recipe", "-")
	wantError(t, "endless", err, reason.Usage, "more than 10 MiB")
}

// What a server may do instead of sending a recipe: each has its message, and none hangs.
func TestDownload(t *testing.T) {
	var asked []http.Header
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Header) }))
	defer elsewhere.Close()
	release := make(chan struct{})
	defer close(release)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = fmt.Fprint(w, "a: 1\n")
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/away":
			http.Redirect(w, r, elsewhere.URL+"/stolen", http.StatusFound)
		case "/html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, "Sign in")
		case "/disguised":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprint(w, "\n  <!DOCTYPE html><html>Sign in</html>")
		case "/announced":
			w.Header().Set("Content-Length", "1073741824")
			w.WriteHeader(http.StatusOK)
		case "/endless":
			block := bytes.Repeat([]byte("x"), 1<<20)
			for {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		case "/hangs":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/drips":
			_, _ = fmt.Fprint(w, "a")
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = fmt.Fprint(w, "a: 1\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	p := places()
	for _, path := range []string{"/ok", "/moved"} {
		data, called, err := p.Read(t.Context(), "recipe", server.URL+path+"?token=secret")
		if err != nil || string(data) != "a: 1\n" || called != server.URL+path {
			t.Errorf("%s: got %q, %q, %v", path, data, called, err)
		}
	}
	for path, want := range map[string]string{
		"/none":      "the server answers 404 Not Found",
		"/loop":      "redirects more than 5 times",
		"/away":      "redirects to another host, " + elsewhere.URL + "/stolen; if you trust it",
		"/html":      "sent a web page",
		"/disguised": "sent a web page",
		"/announced": "it has 1024 MiB; the limit for a recipe is 10 MiB",
		"/endless":   "it has more than 10 MiB",
		"/cut":       "announced 100 bytes, and closed the connection after 5",
		"/hangs":     "did not arrive within 200ms",
		"/drips":     "did not arrive within 200ms",
	} {
		p := places()
		if path == "/hangs" || path == "/drips" {
			p.Timeout = 200 * time.Millisecond
		}
		address := strings.Replace(server.URL, "http://", "http://user:secret@", 1) + path + "?token=secret"
		_, _, err := p.Read(t.Context(), "recipe", address)
		wantError(t, path, err, reason.DownloadFailed, "download the recipe from "+server.URL+path+": ")
		wantError(t, path, err, reason.DownloadFailed, want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the message has a secret: %v", path, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("another host was asked, with %v", asked)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	cancel(stop)
	if _, _, err := p.Read(ctx, "recipe", server.URL+"/ok"); !errors.Is(err, stop) {
		t.Errorf("interrupted: got %v", err)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	_, _, err := p.Read(t.Context(), "recipe", closed.URL+"/ok?token=secret")
	wantError(t, "nobody there", err, reason.DownloadFailed, "connection refused")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message has a secret: %v", err)
	}
	var warned []string
	p.Warn = func(text string) { warned = append(warned, text) }
	p.Timeout = time.Millisecond
	_, _, _ = p.Read(t.Context(), "recipe", "http://192.0.2.1/recipe.yaml") // an address for documentation, which no host has
	if len(warned) != 1 || !strings.Contains(warned[0], "not encrypted") {
		t.Errorf("got %q", warned)
	}
}
