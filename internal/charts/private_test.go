package charts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A recipe's chart is downloaded from no private address, wherever one is named: in the recipe, in an
// index, in a redirect, as the server of a registry's tokens, or in the place of its content. What is
// allowed is, and so is what the user has a repository or a login for.
func TestFetch_Private(t *testing.T) {
	dir := home(t)
	tgz := packed(t, "web", "1.0.0", "x")
	registry := newRegistry(t, "1.0.0")
	inner, seen := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v2/"):
			registry.ServeHTTP(w, r)
		case r.URL.Path == "/token":
			_, _ = fmt.Fprint(w, `{"token": "good"}`)
		default:
			files{"/index.yaml": index("web 1.0.0 web.tgz"), "/web.tgz": tgz}.ServeHTTP(w, r)
		}
	}))
	at := inner.Listener.Addr().String()
	outer, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
			registry.ServeHTTP(w, r)
		case strings.Contains(r.URL.Path, "/v2/moved/") && strings.Contains(r.URL.Path, "/blobs/"):
			http.Redirect(w, r, "http://"+at+strings.Replace(r.URL.Path, "/moved/", "/charts/", 1), http.StatusTemporaryRedirect)
		case strings.Contains(r.URL.Path, "/v2/moved/"):
			r.URL.Path = strings.Replace(r.URL.Path, "/moved/", "/charts/", 1)
			registry.ServeHTTP(w, r)
		default:
			files{"/a/index.yaml": index("web 1.0.0 http://" + at + "/web.tgz"), "/b/index.yaml": index("web 1.0.0 web.tgz"), "/b/web.tgz": []byte("redirect:http://" + at + "/web.tgz"), "/c/index.yaml": index("web 1.0.0 oci://" + at + "/charts/web:1.0.0")}.ServeHTTP(w, r)
		}
	}))
	from := outer.Listener.Addr().String()
	tokens, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q", "http://"+at+"/token"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	fetch := func(repository string, allowed ...string) error {
		f, err := NewFetcher(func(string) string { return "" }, allowed)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Fetch(t.Context(), pin(repository, "1.0.0"), "")
		return err
	}
	for _, repository := range []string{inner.URL, "oci://" + at + "/charts", outer.URL + "/a", outer.URL + "/b", outer.URL + "/c", "oci://" + from + "/moved"} {
		wantError(t, fetch(repository, from), reason.ChartDownloadFailed, at+" is on this machine or in a private network", "--allow-private "+at, "(component front)")
	}
	// The library refuses a server of tokens by itself.
	wantError(t, fetch(ociURL(tokens), tokens.Listener.Addr().String()), reason.ChartDownloadFailed, "is a private or link-local address")
	if seen.to("") > 0 {
		t.Errorf("%d requests to a private address", seen.to(""))
	}
	for _, repository := range []string{inner.URL, "oci://" + at + "/charts", outer.URL + "/a", outer.URL + "/b", outer.URL + "/c", "oci://" + from + "/moved"} {
		if err := fetch(repository, from, at); err != nil {
			t.Errorf("%s is allowed: %v", repository, err)
		}
	}
	write(t, filepath.Join(dir, "helm", "repositories.yaml"), repositoriesYAML(inner.URL, ""))
	if err := fetch(inner.URL); err != nil {
		t.Errorf("a repository of the user's: %v", err)
	}
	write(t, filepath.Join(dir, "helm", "repositories.yaml"), "repositories: []\n")
	auths, err := json.Marshal(map[string]any{"auths": map[string]any{at: map[string]string{"auth": encoded("jane", "secret")}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".docker", "config.json"), string(auths))
	if err := fetch("oci://" + at + "/charts"); err != nil {
		t.Errorf("a registry that the user has a login for: %v", err)
	}
}
