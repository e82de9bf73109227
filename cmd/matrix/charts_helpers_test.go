package main

import (
	"fmt"
	"io"
	"io/fs"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/kwok"
)

// upstream is where the recipes' charts come from in a test: an HTTP repository and an OCI registry
// that have the simulated charts, and a recipes directory that names them.
type upstream struct {
	recipes string
	http    *httptest.Server
	oci     *httptest.Server

	mu    sync.Mutex
	files map[string][]byte // of the HTTP repository
	asked map[string]int
}

// newUpstream starts the repositories, and gives the test a home without logins. The HTTP
// repository is at address, which has no port; the registry at 127.0.0.1, since it speaks plain
// HTTP.
func newUpstream(t *testing.T, address string) *upstream {
	t.Helper()
	dir := t.TempDir()
	for name, sub := range map[string]string{"HOME": "", "DOCKER_CONFIG": ".docker", "HELM_REPOSITORY_CONFIG": "repositories.yaml", "HELM_REGISTRY_CONFIG": "registry.json"} {
		t.Setenv(name, filepath.Join(dir, sub))
	}
	t.Setenv("AICR_ACTION_ALLOW_PRIVATE", address+",127.0.0.1")
	u := &upstream{recipes: recipesCopy(t), files: map[string][]byte{}, asked: map[string]int{}}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	u.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(u.serve), ReadHeaderTimeout: time.Minute}}
	u.http.Start()
	t.Cleanup(u.http.Close)
	store := ociregistry.New(ociregistry.Logger(stdlog.New(io.Discard, "", 0)))
	u.oci = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			u.count(r.URL.Path)
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(u.oci.Close)
	registry := u.oci.Listener.Addr().String()

	of := regexp.MustCompile(`(source|defaultRepository): (https|oci)://[^/\s]+(/?\S*)`)
	inRegistry := map[string]string{} // charts, to their repository
	err = filepath.WalkDir(u.recipes, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".yaml") {
			return err
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := of.ReplaceAllStringFunc(string(raw), func(match string) string {
			m := of.FindStringSubmatch(match)
			if m[2] == "oci" {
				return m[1] + ": oci://" + registry + m[3]
			}
			return m[1] + ": " + u.http.URL + "/charts" + m[3]
		})
		return os.WriteFile(file, []byte(text), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range u.pins(t) {
		if rest, ok := strings.CutPrefix(p.Repository, "oci://"); ok {
			inRegistry[p.Name] = rest
		}
	}
	for _, ch := range simulatedCharts(t) {
		if repository, ok := inRegistry[ch.Name()]; ok {
			if _, err := publish.PushChart(t.Context(), ch, repository, publish.Own()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		u.put(t, ch)
	}
	return u
}

// pins are the charts of the recipes that set a service.
func (u *upstream) pins(t *testing.T) []charts.Pin {
	t.Helper()
	store, _, err := (&cli.App{Getenv: func(string) string { return "" }}).Recipes(cli.RecipeDirs{Recipes: u.recipes})
	if err != nil {
		t.Fatal(err)
	}
	var all []charts.Pin
	for _, name := range store.Names() {
		if o, ok := store.Overlay(name); !ok || !o.Testable() {
			continue
		}
		resolved, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		components, err := store.Components(resolved)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, charts.Pins(components)...)
	}
	return all
}

// put publishes a chart in the HTTP repository.
func (u *upstream) put(t *testing.T, ch *chart.Chart) {
	t.Helper()
	archive, err := publish.PackChart(ch)
	if err != nil {
		t.Fatal(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.files[ch.Name()+" "+ch.Metadata.Version] = archive
}

// serve answers for every path below /charts: the recipes' repositories are several, and each has
// all charts.
func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	u.count(name)
	u.mu.Lock()
	defer u.mu.Unlock()
	if name == "index.yaml" {
		_, _ = fmt.Fprint(w, "apiVersion: v1\nentries:\n")
		for of := range u.files {
			name, version, _ := strings.Cut(of, " ")
			_, _ = fmt.Fprintf(w, "  %s:\n  - {apiVersion: v2, name: %s, version: %q, urls: [%q]}\n", name, name, version, name+"-"+version+".tgz")
		}
		return
	}
	for of, archive := range u.files {
		if strings.ReplaceAll(of, " ", "-")+".tgz" == name {
			_, _ = w.Write(archive)
			return
		}
	}
	http.NotFound(w, r)
}

func (u *upstream) count(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked[name]++
}

// asks counts the requests for names, of files and blobs, that have this part.
func (u *upstream) asks(part string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for name, times := range u.asked {
		if strings.Contains(name, part) {
			n += times
		}
	}
	return n
}

// close takes the repositories away.
func (u *upstream) close() {
	u.http.Close()
	u.oci.Close()
}

func (u *upstream) lock() string { return filepath.Join(u.recipes, charts.LockFile) }

func simulatedCharts(t *testing.T) []*chart.Chart {
	t.Helper()
	fsys, err := fs.Sub(kwok.Files, "charts")
	if err != nil {
		t.Fatal(err)
	}
	source := catalog.FromFS(fsys, "simulated")
	dirs, err := fs.Glob(fsys, "*/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []*chart.Chart
	for _, dir := range dirs {
		ch, _, err := source.Load(t.Context(), catalog.Ref{Name: filepath.Base(filepath.Dir(dir))})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ch)
	}
	return all
}
