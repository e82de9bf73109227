package helminstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra"
)

// apiServer is the part of an API server that Helm needs before and during rendering. hang, if set,
// holds up every request of a path with this suffix.
func apiServer(t *testing.T, hang string) (url string, reached chan string) {
	t.Helper()
	reached, end := make(chan string, 1000), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case reached <- r.Method + " " + r.URL.Path:
		default:
		}
		if hang != "" && strings.HasSuffix(r.URL.Path, hang) {
			<-end
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/version":
			_, _ = io.WriteString(w, `{"major": "1", "minor": "36", "gitVersion": "v1.36.1"}`)
		case r.URL.Path == "/openapi/v3":
			_, _ = io.WriteString(w, `{"paths": {"apis/coordination.k8s.io/v1": {"serverRelativeURL": "/openapi/v3/apis/coordination.k8s.io/v1"}}}`)
		case r.URL.Path == "/openapi/v3/apis/coordination.k8s.io/v1":
			_, _ = io.WriteString(w, `{"openapi": "3.0.0", "paths": {"/lease": {"patch": {"parameters": [{"name": "fieldValidation", "in": "query"}],
				"x-kubernetes-group-version-kind": {"group": "coordination.k8s.io", "version": "v1", "kind": "Lease"}}}}}`)
		case r.URL.Path == "/api":
			_, _ = io.WriteString(w, `{"kind": "APIVersions", "versions": ["v1"]}`)
		case r.URL.Path == "/apis":
			_, _ = io.WriteString(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)
		case r.URL.Path == "/api/v1":
			_, _ = io.WriteString(w, `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [
				{"name": "namespaces", "kind": "Namespace", "namespaced": false, "verbs": ["get"]},
				{"name": "secrets", "kind": "Secret", "namespaced": true, "verbs": ["get", "create"]},
				{"name": "configmaps", "kind": "ConfigMap", "namespaced": true, "verbs": ["get", "create"]}]}`)
		case strings.HasSuffix(r.URL.Path, "/namespaces/kube-system"):
			_, _ = io.WriteString(w, `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system"}}`)
		case strings.HasSuffix(r.URL.Path, "/secrets") && r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"kind": "SecretList", "apiVersion": "v1", "items": []}`)
		case r.Method == http.MethodPost || r.Method == http.MethodPut:
			if strings.HasSuffix(r.URL.Path, "/configmaps") {
				w.Header().Set("Warning", `299 - "unknown field \"dta\""`)
			}
			if strings.HasSuffix(r.Header.Get("Content-Type"), "protobuf") { // a release, in a Secret
				_, _ = io.WriteString(w, `{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "r", "namespace": "n"}}`)
				return
			}
			_, _ = io.Copy(w, r.Body)
		default:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(end) })
	return server.URL, reached
}

func newInstaller(t *testing.T, server string, limits render.Limits) *Installer {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: " + server + "}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	i := &Installer{Limits: limits, kubeconfig: kubeconfig, apiServer: server, dir: filepath.Join(dir, "helm"), log: func(string) {}, warnings: &infra.Warnings{}}
	t.Cleanup(i.Close)
	return i
}

// hostile is a release whose template is harmless unless there is a cluster.
func hostile(template string) Release {
	return Release{Name: "r", Namespace: "n", Chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*chart.File{
		{Name: "templates/a.yaml", Data: []byte("{{ if and .Release.IsInstall (lookup \"v1\" \"Namespace\" \"\" \"kube-system\") }}" + template + "{{ end }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")},
	}}}
}

func short() render.Limits {
	l := Limits()
	l.CPU, l.Memory = 3*time.Second, 400<<20
	return l
}

// A template that exceeds a limit only on a live cluster ends its own process, and the error names
// the limit. The next release gets a new process.
func TestInstall_HostileTemplate(t *testing.T) {
	const forEver = "{{ range $i := until 100000000 }}{{ range $j := until 100000000 }}{{ end }}{{ end }}"
	for name, row := range map[string]struct{ template, want string }{
		"endless": {`{{ range until 100000 }}{{ range until 100000 }}{{ $x := sha256sum "x" }}{{ end }}{{ end }}`, "rendering it takes more than 3s of CPU time"},
		"growing": {forEver, "rendering it takes more than 400 MiB of memory"},
		"text":    {"{{ repeat 40000000 \"#\" }}", "its templates make 38 MiB of text"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := (&render.Renderer{}).Release(t.Context(), render.Request{Chart: hostile(row.template).Chart, Values: map[string]any{}, Name: "r", Namespace: "n"}); err != nil {
				t.Fatalf("it is not harmless without a cluster: %v", err)
			}
			url, _ := apiServer(t, "")
			limits := short()
			if name != "endless" { // on a busy machine the time may be used up first
				limits.CPU = Limits().CPU
			}
			installer := newInstaller(t, url, limits)
			err := installer.Install(t.Context(), hostile(row.template))
			var limit *limitError
			var failed *Error
			if !errors.As(err, &limit) || !errors.As(err, &failed) || failed.Step != installing || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
			if err := installer.Install(t.Context(), hostile("")); err != nil {
				t.Errorf("the next release: %v", err)
			}
		})
	}
}

// The process ends with the cell, whatever it does: in a template that never ends, and (F39) in a
// request to an API server that hangs.
func TestInstall_CellEnds(t *testing.T) {
	for name, row := range map[string]struct{ template, hang, until string }{
		"template": {`{{ range until 100000 }}{{ range until 100000 }}{{ $x := sha256sum "x" }}{{ end }}{{ end }}`, "", "/namespaces/kube-system"},
		"request":  {"", "/version", "/version"},
	} {
		t.Run(name, func(t *testing.T) {
			url, reached := apiServer(t, row.hang)
			installer := newInstaller(t, url, Limits())
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- installer.Install(ctx, hostile(row.template)) }()
			for path := range reached {
				if strings.HasSuffix(path, row.until) {
					break
				}
			}
			time.Sleep(200 * time.Millisecond) // it is in the middle of it
			cancel()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("Helm outlives the cell")
			}
			if installer.process != nil {
				t.Error("the process is left")
			}
		})
	}
}

// A killed harness cannot kill the process: it ends with its pipes, even in the middle of a
// template.
func TestInstall_HarnessKilled(t *testing.T) {
	url, reached := apiServer(t, "")
	installer := newInstaller(t, url, Limits())
	p, err := installer.start()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Send(encode(hostile(`{{ range until 100000 }}{{ range until 100000 }}{{ $x := sha256sum "x" }}{{ end }}{{ end }}`))); err != nil {
		t.Fatal(err)
	}
	for path := range reached {
		if strings.HasSuffix(path, "/namespaces/kube-system") {
			break
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }() // closes the pipe
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		p.Kill()
		t.Fatal("the process outlives the harness")
	}
}

// What the process may do: read the kubeconfig, reach the API server. It sees no variable of the
// job's.
func TestInstall_Confined(t *testing.T) {
	t.Setenv("JOB_TOKEN", "secret")
	url, _ := apiServer(t, "")
	var dialled atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { dialled.Add(1) }))
	t.Cleanup(other.Close)
	installer := newInstaller(t, url, short())
	if p, err := installer.start(); err != nil {
		t.Fatal(err)
	} else {
		if variables, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID())); runtime.GOOS == "linux" && err != nil {
			t.Error(err)
		} else if strings.Contains(string(variables), "JOB_TOKEN") {
			t.Errorf("the process has %q", variables)
		}
		p.Close()
	}
	release := hostile("")
	release.Chart.Schema = []byte(fmt.Sprintf(`{"properties": {"a": {"$ref": %q}}}`, other.URL+"/schema.json"))
	release.Values = map[string]any{"a": 1}
	err := installer.Install(t.Context(), release)
	if err == nil || dialled.Load() > 0 {
		t.Errorf("got %v, and another address was dialled %d times", err, dialled.Load())
	}
}

// Everything that Helm and the API server print arrives, and the error is Helm's.
func TestInstall_Output(t *testing.T) {
	url, _ := apiServer(t, "")
	installer := newInstaller(t, url, Limits())
	var log []string
	installer.log = func(line string) { log = append(log, line) }
	err := installer.Install(t.Context(), hostile(`{{ fail "only on a cluster" }}`))
	var failed *Error
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "only on a cluster") || !strings.Contains(err.Error(), "templates/a.yaml") {
		t.Errorf("got %v, want the template's own error", err)
	}
	first := installer.process
	if err := installer.Install(t.Context(), hostile("")); err != nil {
		t.Fatal(err)
	}
	if installer.process != first || first == nil {
		t.Error("the second release has another process")
	}
	if got := installer.warnings.Since(0); len(got) != 1 || got[0].Object != "ConfigMap n/a" || !got[0].UnknownField() {
		t.Errorf("got the warnings %v", got)
	}
	if text := strings.Join(log, "\n"); !strings.Contains(text, "creating 1 resource(s)") {
		t.Errorf("got the log\n%s", text)
	}
}

// A second try forgets the first, and nothing else: Helm would upgrade what never was, and a rollback
// would meet the revision that failed.
func TestForgetFailed(t *testing.T) {
	for name, c := range map[string]struct{ before, after []helmrelease.Status }{
		"none":                   {},
		"an installation":        {before: []helmrelease.Status{helmrelease.StatusFailed}},
		"an upgrade":             {before: []helmrelease.Status{helmrelease.StatusDeployed, helmrelease.StatusFailed}, after: []helmrelease.Status{helmrelease.StatusDeployed}},
		"nothing of it was kept": {before: []helmrelease.Status{helmrelease.StatusDeployed}, after: []helmrelease.Status{helmrelease.StatusDeployed}},
	} {
		cfg := &action.Configuration{Releases: storage.Init(driver.NewMemory())}
		for i, status := range c.before {
			if err := cfg.Releases.Create(&helmrelease.Release{Name: "r", Version: i + 1, Info: &helmrelease.Info{Status: status}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := forgetFailed(cfg, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		left, err := cfg.Releases.History("r")
		if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		var got []helmrelease.Status
		for _, r := range left {
			got = append(got, r.Info.Status)
		}
		if !slices.Equal(got, c.after) {
			t.Errorf("%s: got %v, want %v", name, got, c.after)
		}
	}
}
