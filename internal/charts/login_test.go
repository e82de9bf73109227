package charts

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

func repositoriesYAML(url, more string) string {
	return fmt.Sprintf("apiVersion: v1\nrepositories:\n- {name: mine, url: %q, username: jane, password: secret%s}\n", url, more)
}

func TestLogin_HTTPRepository(t *testing.T) {
	dir := home(t)
	tgz := packed(t, "web", "1.0.0", "x")
	elsewhere, seen := serve(t, files{"/web.tgz": tgz})
	content := files{
		"/index.yaml": index("web 1.0.0 web.tgz", "web 2.0.0 "+elsewhere.URL+"/web.tgz", "web 3.0.0 there.tgz"), "/web.tgz": tgz, "/there.tgz": []byte("redirect:" + elsewhere.URL + "/web.tgz"),
	}
	repository, got := serve(t, withLogin(content, "jane", "secret"))
	f, _ := newTestFetcher(t)
	_, err := f.Fetch(t.Context(), pin(repository.URL, "1.0.0"), "")
	wantError(t, err, reason.ChartDownloadFailed, "401 Unauthorized", repository.Listener.Addr().String()+" needs a login", "helm repo add NAME URL --username USER")

	write(t, filepath.Join(dir, "helm", "repositories.yaml"), repositoriesYAML(repository.URL+"/", ""))
	f, _ = newTestFetcher(t)
	if _, err := f.Fetch(t.Context(), pin(repository.URL, "1.0.0"), ""); err != nil {
		t.Error(err)
	}
	if len(got.authorized()) != 2 {
		t.Errorf("requests with a login: %q", got.authorized())
	}
	// Credentials follow neither an address in the index nor a redirect to another host.
	for _, version := range []string{"2.0.0", "3.0.0"} {
		if _, err := f.Fetch(t.Context(), pin(repository.URL, version), ""); err == nil || !strings.Contains(err.Error(), "by its own Chart.yaml") {
			t.Errorf("version %s: got %v", version, err)
		}
	}
	if seen.to("/web.tgz") != 2 || len(seen.authorized()) > 0 {
		t.Errorf("the other host got %d requests, and logins in %q", seen.to("/web.tgz"), seen.authorized())
	}
	// The user configured Helm to pass them.
	write(t, filepath.Join(dir, "helm", "repositories.yaml"), repositoriesYAML(repository.URL, ", pass_credentials_all: true"))
	f, _ = newTestFetcher(t)
	_, _ = f.Fetch(t.Context(), pin(repository.URL, "2.0.0"), "")
	if len(seen.authorized()) != 1 {
		t.Errorf("pass_credentials_all: logins in %q", seen.authorized())
	}
	write(t, filepath.Join(dir, "helm", "repositories.yaml"), "repositories: [")
	if _, err := NewFetcher(os.Getenv, nil); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "Helm's repositories") {
		t.Errorf("a broken file: got %v", err)
	}
}

// A repository with TLS is left for one without by no redirect, and by no address in its index.
func TestRedirect_TLSToPlainHTTP(t *testing.T) {
	dir := home(t)
	plain, seen := serve(t, files{"/index.yaml": index("web 1.0.0 web.tgz")})
	safe := httptest.NewUnstartedServer(files{"/index.yaml": []byte("redirect:" + plain.URL + "/index.yaml"), "/charts/index.yaml": index("web 1.0.0 " + plain.URL + "/web.tgz")})
	safe.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	safe.StartTLS()
	defer safe.Close()
	ca := filepath.Join(dir, "ca.pem")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: safe.Certificate().Raw})))
	f, _ := newTestFetcher(t)
	if _, err := f.Fetch(t.Context(), pin(safe.URL, "1.0.0"), ""); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: got %v", err)
	}
	write(t, filepath.Join(dir, "helm", "repositories.yaml"), repositoriesYAML(safe.URL, fmt.Sprintf(", caFile: %q", ca)))
	f, _ = newTestFetcher(t)
	_, err := f.Fetch(t.Context(), pin(safe.URL, "1.0.0"), "")
	wantError(t, err, reason.ChartDownloadFailed, "redirects to "+plain.URL, "which is not encrypted")
	write(t, filepath.Join(dir, "helm", "repositories.yaml"), repositoriesYAML(safe.URL+"/charts", fmt.Sprintf(", caFile: %q", ca)))
	f, _ = newTestFetcher(t)
	_, err = f.Fetch(t.Context(), pin(safe.URL+"/charts", "1.0.0"), "")
	wantError(t, err, reason.ChartDownloadFailed, "index.yaml leads to "+plain.URL, "which is not encrypted")
	if seen.to("") > 0 {
		t.Error("the server without TLS was asked")
	}
}

// tokens is a registry's way of logging in: it sends the client to its token server, which requires
// the login.
func tokens(h http.Handler, user, password string) http.Handler {
	issuer := withLogin(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"token": "good"}`) }), user, password)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			issuer.ServeHTTP(w, r)
		case r.Header.Get("Authorization") != "Bearer good":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"registry\"", "http://"+r.Host+"/token"))
			w.WriteHeader(http.StatusUnauthorized)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

func TestLogin_Registry(t *testing.T) {
	store := newRegistry(t, "1.0.0")
	for kind, handler := range map[string]http.Handler{"basic": withLogin(store, "jane", "secret"), "token": tokens(store, "jane", "secret")} {
		s, _ := serve(t, handler)
		host := s.Listener.Addr().String()
		auths, err := json.Marshal(map[string]any{"auths": map[string]any{host: map[string]string{"auth": encoded("jane", "secret")}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name  string
			login func(dir string)
			ok    bool
		}{
			{"none", func(string) {}, false},
			{"docker login", func(dir string) { write(t, filepath.Join(dir, ".docker", "config.json"), string(auths)) }, true},
			{"helm registry login", func(dir string) { write(t, filepath.Join(dir, "helm", "registry.json"), string(auths)) }, true},
			{"credential helper", func(dir string) {
				write(t, filepath.Join(dir, "docker-credential-test"), "#!/bin/sh\nread host\n[ \"$host\" = \""+host+"\" ] && echo '{\"Username\": \"jane\", \"Secret\": \"secret\"}'\n")
				t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
				write(t, filepath.Join(dir, ".docker", "config.json"), fmt.Sprintf(`{"credHelpers": {%q: "test"}}`, host))
			}, true},
			{"another password", func(dir string) {
				write(t, filepath.Join(dir, ".docker", "config.json"), strings.Replace(string(auths), encoded("jane", "secret"), encoded("jane", "old"), 1))
			}, false},
		} {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				c.login(home(t))
				f, _ := newTestFetcher(t)
				_, err := f.Fetch(t.Context(), pin(ociURL(s), "1.0.0"), "")
				if c.ok && err != nil {
					t.Error(err)
				}
				if !c.ok {
					wantError(t, err, reason.ChartDownloadFailed, "401", host+" needs a login", "helm registry login "+host, "docker login "+host)
				}
			})
		}
	}
}

// A registry may have its blobs elsewhere. The login stays.
func TestBlob_OtherHost(t *testing.T) {
	dir := home(t)
	store := newRegistry(t, "1.0.0")
	blobs, seen := serve(t, store)
	s, got := serve(t, withLogin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/blobs/") {
			http.Redirect(w, r, blobs.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		store.ServeHTTP(w, r)
	}), "jane", "secret"))
	write(t, filepath.Join(dir, ".docker", "config.json"), fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, s.Listener.Addr().String(), encoded("jane", "secret")))
	f, _ := newTestFetcher(t)
	d, err := f.Fetch(t.Context(), pin(ociURL(s), "1.0.0"), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.authorized()) == 0 || seen.to("") == 0 || len(seen.authorized()) > 0 {
		t.Errorf("logins: at the registry %q, at the other host %q", got.authorized(), seen.authorized())
	}
	if want := []string{blobs.Listener.Addr().String(), s.Listener.Addr().String()}; !slices.Contains(d.Hosts, want[0]) || !slices.Contains(d.Hosts, want[1]) {
		t.Errorf("hosts %q, want %q", d.Hosts, want)
	}
}
