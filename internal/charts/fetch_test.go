package charts

import (
	"archive/tar"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestHTTPRepository(t *testing.T) {
	home(t)
	old, now, next := packed(t, "web", "1.9.0", "old"), packed(t, "web", "v1.10.0", "now"), packed(t, "web", "2.0.0-rc.1", "next")
	elsewhere, _ := serve(t, files{"/dl/web-1.10.0.tgz": now})
	repository, got := serve(t, files{
		"/charts/index.yaml":       index("web 1.9.0 web-1.9.0.tgz", "web v1.10.0 "+elsewhere.URL+"/dl/web-1.10.0.tgz", "web 2.0.0-rc.1 sub/web.tgz", "other 1.0.0 x.tgz"),
		"/charts/web-1.9.0.tgz":    old,
		"/charts/sub/web.tgz":      next,
		"/empty/index.yaml":        []byte("<html>hello</html>"),
		"/lost/index.yaml":         index("web 1.0.0 nowhere.tgz"),
		"/liar/index.yaml":         index("web 3.0.0 ../charts/web-1.9.0.tgz"),
		"/prerelease/index.yaml":   index("web 1.0.0-a x.tgz"),
		"/strange-kind/index.yaml": index("web 1.0.0 file:///etc/passwd"),
	})
	f, _ := newTestFetcher(t)
	u, err := url.Parse(elsewhere.URL)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string][]byte{"1.9.0": old, "v1.9.0": old, "1.10.0": now, "": now, "2.0.0-rc.1": next} {
		for _, address := range []string{repository.URL + "/charts", repository.URL + "/charts/"} {
			d, err := f.Fetch(t.Context(), pin(address, version), "")
			if err != nil {
				t.Errorf("version %q: %v", version, err)
				continue
			}
			if !bytes.Equal(d.Archive, want) || d.Digest != digestOf(want) || d.Chart.Name() != "web" {
				t.Errorf("version %q: got %s %s", version, d.Chart.Metadata.Version, d.Digest)
			}
			if slices.Contains(d.Hosts, u.Host) != bytes.Equal(want, now) || !slices.Contains(d.Hosts, repository.Listener.Addr().String()) {
				t.Errorf("version %q: hosts %q", version, d.Hosts)
			}
		}
	}
	if n := got.to("/charts/index.yaml"); n != 1 {
		t.Errorf("the index was read %d times", n)
	}
	for _, c := range []struct {
		path, version string
		want          []string
	}{
		{"/charts", "1.11.0", []string{"no version 1.11.0 of chart web; it has 2.0.0-rc.1, v1.10.0, 1.9.0"}},
		{"/charts", "1", []string{"no version 1 of chart web"}}, // a range is no version
		{"/none", "1.0.0", []string{"/none/index.yaml answers 404 Not Found", "check source, chart and version"}},
		{"/empty", "1.0.0", []string{"is not the index of a chart repository"}},
		{"/lost", "1.0.0", []string{"/lost/nowhere.tgz answers 404"}},
		{"/liar", "3.0.0", []string{`it is chart "web" "1.9.0" by its own Chart.yaml`}},
		{"/prerelease", "", []string{"only pre-releases"}},
		{"/strange-kind", "1.0.0", []string{"file:///etc/passwd is an address of a kind"}},
	} {
		_, err := f.Fetch(t.Context(), pin(repository.URL+c.path, c.version), "")
		wantError(t, err, reason.ChartDownloadFailed, append(c.want, "component front")...)
	}
}

func TestOCIRegistry(t *testing.T) {
	home(t)
	store := newRegistry(t, "1.9.0", "1.10.0", "1.11.0-rc.1", "2.0.0+build.5")
	s, _ := serve(t, store)
	f, _ := newTestFetcher(t)
	for version, want := range map[string]string{"1.9.0": "1.9.0", "1.10.0": "1.10.0", "": "2.0.0+build.5", "2.0.0+build.5": "2.0.0+build.5"} {
		d, err := f.Fetch(t.Context(), pin(ociURL(s), version), "")
		if err != nil {
			t.Errorf("version %q: %v", version, err)
			continue
		}
		if d.Chart.Metadata.Version != want || !slices.Contains(d.Hosts, s.Listener.Addr().String()) {
			t.Errorf("version %q: got %s, hosts %q", version, d.Chart.Metadata.Version, d.Hosts)
		}
	}
	for _, version := range []string{"3.0.0", "v1.9.0"} { // a tag is a name: controllers would not find it either
		_, err := f.Fetch(t.Context(), pin(ociURL(s), version), "")
		wantError(t, err, reason.ChartDownloadFailed, "answers 404", "check source, chart and version")
	}
	// An index.yaml may lead to a registry.
	repository, _ := serve(t, files{"/index.yaml": index("web 2.0.0+build.5 " + ociURL(s) + "/web:2.0.0_build.5")})
	if _, err := f.Fetch(t.Context(), pin(repository.URL, "2.0.0+build.5"), ""); err != nil {
		t.Error(err)
	}
}

// A chart whose bytes changed under the same version is refused, with both digests.
func TestChanged(t *testing.T) {
	home(t)
	store := newRegistry(t, "1.0.0")
	s, got := serve(t, store)
	first, second := packed(t, "web", "1.0.0", "first"), packed(t, "web", "1.0.0", "second")
	content := files{"/index.yaml": index("web 1.0.0 web.tgz"), "/web.tgz": second}
	repository, _ := serve(t, content)
	f, _ := newTestFetcher(t)
	for _, address := range []string{repository.URL, ociURL(s)} {
		now, err := f.Fetch(t.Context(), pin(address, "1.0.0"), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Fetch(t.Context(), pin(address, "1.0.0"), now.Digest); err != nil {
			t.Error(err)
		}
		blobs := got.to(strings.TrimPrefix(now.Digest, "sha256:"))
		_, err = f.Fetch(t.Context(), pin(address, "1.0.0"), digestOf(first))
		if got.to(strings.TrimPrefix(now.Digest, "sha256:")) != blobs {
			t.Error("a blob with another digest was downloaded") // the manifest has it already
		}
		wantError(t, err, reason.ChartChanged, digestOf(first), now.Digest, "changed under the same version", "charts.lock", "matrix charts lock", address)
	}
	// What the repository itself says of its archive has to hold when it is locked.
	content["/index.yaml"] = index("web 1.0.0 web.tgz " + strings.TrimPrefix(digestOf(first), "sha256:"))
	f, _ = newTestFetcher(t)
	_, err := f.Fetch(t.Context(), pin(repository.URL, "1.0.0"), "")
	wantError(t, err, reason.ChartDownloadFailed, "is not what the repository's index.yaml says", digestOf(first), digestOf(second))
}

// What an archive has in it is looked at before Helm reads it, and how large it is before it is
// read.
func TestHostileArchives(t *testing.T) {
	home(t)
	link := packed(t, "web", "1.0.0", "x", tar.Header{Typeflag: tar.TypeSymlink, Name: "web/values.yaml", Linkname: "/etc/passwd"})
	parent := packed(t, "web", "1.0.0", "x", tar.Header{Typeflag: tar.TypeReg, Name: "web/../../evil"})
	f, _ := newTestFetcher(t)
	twice := packed(t, "web", "1.0.0", "x", tar.Header{Typeflag: tar.TypeReg, Name: "other/Chart.yaml"})
	for want, tgz := range map[string][]byte{
		"it has two files Chart.yaml":                twice,
		`a link, "web/values.yaml" to "/etc/passwd"`: link,
		`the path "web/../../evil" in it leads out`:  parent,
		`it is chart "other" "1.0.0" by its own`:     packed(t, "other", "1.0.0", "x"),
		"gzip: invalid header":                       []byte("<html>log in</html>"),
	} {
		s, _ := serve(t, files{"/index.yaml": index("web 1.0.0 web.tgz"), "/web.tgz": tgz})
		_, err := f.Fetch(t.Context(), pin(s.URL, "1.0.0"), "")
		class := reason.ChartDownloadFailed
		if tgz := string(tgz); tgz == string(link) || tgz == string(parent) || tgz == string(twice) { // another download brings the same
			class = reason.BundleFailed
		}
		wantError(t, err, class, want)
		if class == reason.BundleFailed { // as from a directory
			dir := t.TempDir()
			write(t, filepath.Join(dir, "web-1.0.0.tgz"), string(tgz))
			source, err := catalog.FromDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = source.Load(t.Context(), pin("", "1.0.0").Ref)
			wantError(t, err, class, want)
		}
	}
	large, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".yaml") {
			_, _ = w.Write(index("web 1.0.0 web.tgz"))
			return
		}
		w.Header().Set("Content-Length", "200000000")
		_, _ = w.Write(make([]byte, 1000))
	}))
	_, err := f.Fetch(t.Context(), pin(large.URL, "1.0.0"), "")
	wantError(t, err, reason.ChartDownloadFailed, "190 MB is more than a chart may have (100 MB)")
	endless, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // without a length
		for range archive.MostPacked>>20 + 1 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}))
	_, err = f.Fetch(t.Context(), pin(endless.URL, "1.0.0"), "")
	wantError(t, err, reason.ChartDownloadFailed, "100 MB is more than a chart may have")
}

func TestAddress_Invalid(t *testing.T) {
	home(t)
	f, _ := newTestFetcher(t)
	for address, want := range map[string]string{
		"":                                 "no chart repository is given",
		"file:///etc":                      "https://, http:// or oci://",
		"git+https://example.com/x":        "https://, http:// or oci://",
		"https://user:secret@example.com/": "has a user name or password in it",
		"https:///charts":                  "has no host",
		"https://example.com/'x":           "characters that no address",
		"https://example.com/\nx":          "invalid control character",
	} {
		_, err := f.Fetch(t.Context(), pin(address, "1.0.0"), "")
		wantError(t, err, reason.Usage, want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
	for _, version := range []string{"1.x", "^1.2.0", ">=1", "latest"} {
		_, err := f.Fetch(t.Context(), pin("https://example.com", version), "")
		wantError(t, err, reason.Usage, "names no single version")
	}
	bad := pin("https://example.com", "1.0.0")
	bad.Name = "../x"
	_, err := f.Fetch(t.Context(), bad, "")
	wantError(t, err, reason.Usage, "chart name")
	// The metadata service of a cloud's machine is no chart repository.
	_, err = f.Fetch(t.Context(), pin("http://169.254.169.254/latest", "1.0.0"), "")
	wantError(t, err, reason.ChartDownloadFailed, "metadata service or a link-local one")
}

// A proxy of the environment is used, and this machine is reached without one.
func TestProxy(t *testing.T) {
	home(t)
	tgz := packed(t, "web", "1.0.0", "x")
	proxy, got := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "charts.example.test" {
			http.Error(w, "not a request to a proxy", http.StatusBadRequest)
			return
		}
		files{"/index.yaml": index("web 1.0.0 web.tgz"), "/web.tgz": tgz}.ServeHTTP(w, r)
	}))
	f, _ := newTestFetcher(t, "HTTP_PROXY", proxy.URL)
	if _, err := f.Fetch(t.Context(), pin("http://charts.example.test", "1.0.0"), ""); err != nil {
		t.Error(err)
	}
	if n := got.to("/web.tgz"); n != 1 {
		t.Errorf("the proxy was asked %d times for the chart", n)
	}
	f, _ = newTestFetcher(t, "HTTP_PROXY", proxy.URL, "NO_PROXY", "charts.example.test")
	if _, err := f.Fetch(t.Context(), pin("http://charts.example.test", "1.0.0"), ""); err == nil {
		t.Error("NO_PROXY does not count")
	}
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	defer denied.Close()
	f, _ = newTestFetcher(t, "HTTP_PROXY", denied.URL)
	_, err := f.Fetch(t.Context(), pin("http://charts.example.test", "1.0.0"), "")
	wantError(t, err, reason.ChartDownloadFailed, "the proxy needs a login")
}

// Encrypted repositories, of both kinds, are reached through the proxy by CONNECT, and nothing but
// their own hosts is asked for.
func TestProxyTLS(t *testing.T) {
	home(t)
	tgz, registry := packed(t, "web", "1.0.0", "x"), newRegistry(t, "1.0.0")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/") {
			registry.ServeHTTP(w, r)
			return
		}
		files{"/index.yaml": index("web 1.0.0 web.tgz"), "/web.tgz": tgz}.ServeHTTP(w, r)
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for repository, env := range map[string]string{"https://example.com": "HTTPS_PROXY", "oci://example.com/charts": "https_proxy"} {
		proxy, asked := testkit.Proxy(t, server.Listener.Addr().String())
		f, _ := newTestFetcher(t, env, proxy, "HTTP_PROXY", "http://127.0.0.1:1") // which is not for these
		f.transport = f.transport.WithTLS(&tls.Config{RootCAs: roots})
		d, err := f.Fetch(t.Context(), pin(repository, "1.0.0"), "")
		if err != nil {
			t.Errorf("%s: %v", repository, err)
			continue
		}
		if got := slices.Compact(asked()); !slices.Equal(got, []string{"example.com:443"}) || !slices.Equal(d.Hosts, got) {
			t.Errorf("%s: through the proxy %q, noted for controllers %q", repository, got, d.Hosts)
		}
		// Requests to this machine never use the proxy, regardless of the variables.
		local, _ := serve(t, registry)
		if _, err := f.Fetch(t.Context(), pin(ociURL(local), "1.0.0"), ""); err != nil {
			t.Errorf("a registry on this machine: %v", err)
		}
		f, _ = newTestFetcher(t, env, "http://127.0.0.1:1")
		_, err = f.Fetch(t.Context(), pin(repository, "1.0.0"), "")
		wantError(t, err, reason.ChartDownloadFailed, "proxyconnect", "127.0.0.1:1")
	}
}
