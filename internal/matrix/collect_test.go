package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/lane/flux"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// failedCell is a cell that has come to its gate, in a cluster whose API server is at host.
func failedCell(t *testing.T, host string) *artifactsSource {
	t.Helper()
	dir := t.TempDir()
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"harness", "registry", infra.FluxSourceController, infra.FluxKustomizeController, infra.FluxHelmController} {
		if err := os.WriteFile(filepath.Join(logs, name+".log"), []byte("said by "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := bundle.ByName([]string{bundle.FluxOCI})
	if err != nil {
		t.Fatal(err)
	}
	cell := result.Cell{Recipe: "demo", Deployer: bundle.FluxOCI}
	env := lanetest.Env(fake.NewClientset(testkit.TestNodes()...), bundle.Expectation{Workloads: []bundle.Workload{testkit.Expected("Deployment", "web", 1, bundle.NodeSystem)}})
	env.Cell, env.Cluster, env.Log = cell, lanetest.Cluster{Dir: logs}, slog.New(slog.NewTextHandler(io.Discard, nil))
	env.Bundle.Files = []bundle.File{{Path: "README.md", Mode: 0o644, Content: []byte("demo\n")}}
	env.Clients.Config = &rest.Config{Host: host}
	return &artifactsSource{
		Artifacts: filepath.Join(dir, "artifacts"), RunID: "1", Lane: flux.New(d[0]), Env: env, HarnessLog: filepath.Join(logs, "harness.log"), Started: true,
		Result: &result.Result{Cell: cell, Started: time.Now()},
	}
}

var errDemo = reason.New(reason.DeployFailed, "it went wrong")

// A dead API server means that only its own files are missing, and is no error.
func TestCollectWithoutAPIServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // the port is closed again
	c := failedCell(t, server.URL)
	if err := c.Collect(t.Context(), errDemo); err != nil {
		t.Fatalf("collect: %v", err)
	}
	dir := c.Result.Artifacts
	if filepath.Base(dir) != "kwok-debug-demo-flux-oci-1" {
		t.Errorf("directory: got %s", dir)
	}
	for _, name := range []string{"resources.txt", "nodes.txt", "events.txt", "pods.txt", "flux-resources.yaml"} {
		testkit.WantText(t, name, testkit.ReadFile(t, dir, "fake-"+name), "could not be read: ", "connection refused")
	}
	for name, said := range map[string]string{
		"fake-flux-source-controller.log": infra.FluxSourceController, "fake-flux-kustomize-controller.log": infra.FluxKustomizeController,
		"fake-flux-helm-controller.log": infra.FluxHelmController, "fake-registry.log": "registry", "logs/harness.log": "harness",
	} {
		testkit.WantText(t, name, testkit.ReadFile(t, dir, name), "said by "+said)
	}
	summary := testkit.ReadFile(t, dir, "summary.md")
	testkit.WantText(t, "summary.md", summary, "# ✗ demo/flux-oci: DEPLOY_FAILED", "fake-pods.txt: list pods: ", "| `fake-pods.txt` | **not complete.**", "| `fake-registry.log` | the cell's registry")
	if next, _, _ := strings.Cut(summary, "## All files"); strings.Contains(next, "fake-flux-resources.yaml") || !strings.Contains(next, "fake-flux-source-controller.log") {
		t.Errorf("summary.md sends the reader to a file that is not complete, or not to one that is:\n%s", next)
	}
}

// Logs and summary.md exist while the API server has not answered: a harness that is killed then
// leaves them.
func TestCollectLocalFirst(t *testing.T) {
	var c *artifactsSource
	var early []byte
	var missing error
	checked := false
	var once sync.Once
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		once.Do(func() { // the first request finds everything that needs no answer; the others wait for it
			dir := filepath.Join(c.Artifacts, c.directoryName(errDemo))
			early, _ = os.ReadFile(filepath.Join(dir, "summary.md"))
			for _, name := range []string{"logs/harness.log", "cell.json", "bundle/README.md"} {
				_, err := os.Stat(filepath.Join(dir, name))
				missing = errors.Join(missing, err)
			}
			checked = true
			close(release)
		})
		<-release
		http.NotFound(w, req)
	}))
	defer server.Close()
	c = failedCell(t, server.URL)
	if err := c.Collect(t.Context(), errDemo); err != nil {
		t.Fatalf("collect: %v", err)
	}
	if !checked || missing != nil {
		t.Errorf("nothing was asked of the API server, or files that need no answer were not there by then: %v", missing)
	}
	testkit.WantText(t, "the first summary.md", string(early), "# ✗ demo/flux-oci: DEPLOY_FAILED", "fake-events.txt: was still being read")
	if last := testkit.ReadFile(t, c.Result.Artifacts, "summary.md"); strings.Contains(last, "was still being read") {
		t.Errorf("the last summary.md speaks of files that are being read:\n%s", last)
	}
}

// A pass leaves logs, bundle and both sides of the comparison, without a request to the cluster.
func TestCollectPass(t *testing.T) {
	c := failedCell(t, "http://127.0.0.1:1")
	if err := c.Collect(t.Context(), nil); err != nil {
		t.Fatalf("collect: %v", err)
	}
	if got := filepath.Base(c.Result.Artifacts); got != "kwok-logs-demo-flux-oci-1" {
		t.Errorf("directory: got %s", got)
	}
	testkit.WantText(t, "summary.md", testkit.ReadFile(t, c.Result.Artifacts, "summary.md"), "# ✓ demo/flux-oci: passed")
	if found, _ := filepath.Glob(filepath.Join(c.Result.Artifacts, "fake-*")); len(found) > 0 {
		t.Errorf("files of the cluster: %q", found)
	}
}

// A cell that never had a cluster has no files of one.
func TestCollectWithoutCluster(t *testing.T) {
	c := failedCell(t, "http://127.0.0.1:1")
	c.Env.Cluster, c.Env.Clients, c.Env.Bundle = nil, nil, nil
	if err := c.Collect(t.Context(), reason.New(reason.BundleFailed, "chart x is missing")); err != nil {
		t.Fatalf("collect: %v", err)
	}
	testkit.WantText(t, "summary.md", testkit.ReadFile(t, c.Result.Artifacts, "summary.md"), "BUNDLE_FAILED", "chart x is missing", "1. `logs/harness.log`")
	entries, err := os.ReadDir(c.Result.Artifacts)
	if err != nil || len(entries) != 3 {
		t.Errorf("got %v, %v; want cell.json, logs and summary.md", entries, err)
	}
}

// A cluster whose API server never became ready: the files say so.
func TestCollectWithoutClients(t *testing.T) {
	c := failedCell(t, "")
	c.Env.Clients = nil
	if err := c.Collect(t.Context(), reason.New(reason.ClusterFailed, "it did not start")); err != nil {
		t.Fatalf("collect: %v", err)
	}
	testkit.WantText(t, "pods.txt", testkit.ReadFile(t, c.Result.Artifacts, "fake-pods.txt"), "could not be read: the cluster's API server never became ready")
}

// What cannot be written is an error that names the file; all other files are written.
func TestCollectUnwritable(t *testing.T) {
	c := failedCell(t, "http://127.0.0.1:1")
	// A directory stands where a file must be.
	if err := os.MkdirAll(filepath.Join(c.Artifacts, c.directoryName(errDemo), "cell.json", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := c.Collect(t.Context(), errDemo)
	if err == nil || !strings.Contains(err.Error(), "write the debug artifacts to ") || !strings.Contains(err.Error(), "cell.json: ") || reason.Of(err) != reason.Internal {
		t.Errorf("got %v (%s), want cell.json named", err, reason.Of(err))
	}
	testkit.WantText(t, "summary.md", testkit.ReadFile(t, c.Result.Artifacts, "summary.md"), "cell.json: ")
	testkit.ReadFile(t, c.Result.Artifacts, "logs/harness.log")
}

// A collector that panics affects neither the others nor the run.
func TestGatherPanic(t *testing.T) {
	e := &collection{dir: t.TempDir()}
	list := []collector{
		{"bad", "", func(context.Context, string) error { panic("boom") }},
		{"good", "", fromBytes(func(context.Context) ([]byte, error) { return []byte("content"), nil })},
		{"half", "", fromBytes(func(context.Context) ([]byte, error) { return []byte("half of it"), errors.New("the rest is away") })},
	}
	e.announce(list, stillBeingRead)
	e.gather(t.Context(), list)
	if err := errors.Join(e.failed...); err == nil || err.Error() != "bad: panic: boom" {
		t.Errorf("failed: got %v", err)
	}
	if got := testkit.ReadFile(t, e.dir, "good") + "," + testkit.ReadFile(t, e.dir, "half"); got != "content,half of it" {
		t.Errorf("content: got %s", got)
	}
	if got := fmt.Sprint(e.files); got != "[{bad  panic: boom} {good  } {half  the rest is away}]" {
		t.Errorf("states: got %s", got)
	}
}

func TestLastLines(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"fewer":          {"a\nb\n", "a\nb\n"},
		"as many":        {"a\nb\nc\n", "a\nb\nc\n"},
		"more":           {"a\nb\nc\nd\n", "b\nc\nd\n"},
		"round and on":   {"a\nb\nc\nd\ne\nf\ng", "e\nf\ng"},
		"empty lines":    {"a\n\n\n", "a\n\n\n"},
		"nothing logged": {"", "the log is empty\n"},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "x.log")
			if err := os.WriteFile(log, []byte(tc.content), 0o644); err != nil {
				t.Fatal(err)
			}
			if got, err := infra.LastLines(log, 3); err != nil || string(got) != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
	if _, err := infra.LastLines(filepath.Join(t.TempDir(), "helm-controller.log"), 3); err == nil || !strings.Contains(err.Error(), "helm-controller was not started") {
		t.Errorf("no log: got %v", err)
	}
}

// cell.json has both sides of the comparison, and no content of any object.
func TestCellRecord(t *testing.T) {
	c := failedCell(t, "http://127.0.0.1:1")
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "ns", "name": "s"}, "stringData": map[string]any{"password": "in-no-file"},
	}}
	web := testkit.Expected("Deployment", "web", 1, bundle.NodeSystem)
	web.SelectorPaths = []bundle.ValuePath{{Path: "nodeSelector", Set: true}}
	c.Env.Bundle.Expectation = bundle.Expectation{
		Workloads: []bundle.Workload{web, testkit.Expected("Deployment", "later", 2, bundle.NodeAny)}, Objects: []bundle.Object{{Component: "comp", Object: secret}},
	}
	snap := lanetest.ViewOf(t, testkit.Objects(testkit.TestNodes(), testkit.Deployment("web"), []runtime.Object{testkit.Pod("web-1", "ReplicaSet", "web", "", testkit.Refused("0/4 nodes are available: no."))})...)
	g := &gate.Gate{Env: c.Env, View: snap, State: lane.State{Items: []lane.Item{{ID: "HelmRelease web", Ref: flux.Ref(flux.KindHelmRelease, "web"), State: lane.ItemSuspect, Text: "install failed"}}}, ReadErr: errors.New("connection refused")}
	c.Observed = g.Observed()
	raw, err := json.Marshal(c.cellRecord(errDemo))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("in-no-file")) {
		t.Errorf("a Secret's value is in cell.json: %s", raw)
	}
	testkit.WantText(t, "cell.json", string(raw), `"reason":"DEPLOY_FAILED"`, `"cause":"it went wrong"`, `"id":"Secret ns/s"`,
		`{"id":"Deployment ns/web","component":"comp","release":"comp","pods":1,"nodes":"system"`, `"path":"nodeSelector"`,
		`{"id":"HelmRelease web","state":"suspect","text":"install failed","object":{"group":"helm.toolkit.fluxcd.io","kind":"HelmRelease","namespace":"flux-system","name":"web"}}`, `"unreadable":"connection refused"`,
		`{"id":"Deployment ns/web","problems":["0 of 1 pods as expected (pod ns/web-1 is not scheduled)"],"pods":[{"name":"ns/web-1","phase":"Pending","ready":false,"refused":"0/4 nodes are available: no."}]}`,
		`{"id":"Deployment ns/later","absent":true,"problems":["does not exist yet"]}`,
		`{"kind":"system","taints":["kwok.x-k8s.io/node=fake:NoSchedule"],"allocatable":"cpu=16, memory=64Gi, pods=110","nodes":["s0","s1"]`)
}

// cell.json has what is delivered as a list of objects, the root marked.
func TestRecordDelivered(t *testing.T) {
	raw, err := json.Marshal(recordExpectation(bundle.Expectation{Delivered: testkit.MustDeliver("*Application root", "Application web")}).Delivered)
	const want = `[{"group":"argoproj.io","kind":"Application","namespace":"argocd","name":"root","root":true},` +
		`{"group":"argoproj.io","kind":"Application","namespace":"argocd","name":"web"}]`
	if err != nil || string(raw) != want {
		t.Errorf("got %s, %v\nwant %s", raw, err, want)
	}
}
