package apiproxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// objectAPI is an API server with one Deployment.
type objectAPI struct {
	mu       sync.Mutex
	ready    bool
	gone     bool
	gets     int
	queries  []string
	watching chan struct{}
	changed  chan string // events of the watch
}

const deploymentPath = "/apis/apps/v1/namespaces/ns/deployments/web"

func deployment(ready bool) string {
	status := `{"observedGeneration":1,"replicas":1,"updatedReplicas":1}`
	if ready {
		status = `{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,
			"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}`
	}
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"ns","name":"web","generation":1,"resourceVersion":"7","labels":{
		"helm.toolkit.fluxcd.io/name":"web","helm.toolkit.fluxcd.io/namespace":"flux-system"}},"spec":{"replicas":1},"status":` + status + "}"
}

func (a *objectAPI) set(ready, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ready, a.gone = ready, gone
}

func (a *objectAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "" {
		a.mu.Lock()
		a.queries = append(a.queries, r.URL.String())
		a.mu.Unlock()
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		a.watching <- struct{}{}
		for {
			select {
			case text := <-a.changed:
				if text == "" {
					return
				}
				_, _ = io.WriteString(w, strings.ReplaceAll(text, "\n", "")+"\n")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gets++
	if a.gone {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = io.WriteString(w, deployment(a.ready))
}

func newHoldFixture(t *testing.T) (*fixture, *objectAPI, *hold) {
	api := &objectAPI{watching: make(chan struct{}, 16), changed: make(chan string)}
	f := newFixture(t, Flux, api.ServeHTTP)
	h := f.rules.(*hold)
	h.longest, h.next = time.Hour, time.Hour
	return f, api, h
}

type answer struct {
	code int
	body string
}

func (f *fixture) later(t *testing.T, path string) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		code, body := f.get(t, path)
		got <- answer{code, body}
	}()
	return got
}

// The answer comes when the object is ready, and is what the API server says then.
func TestHold_UntilReady(t *testing.T) {
	f, api, _ := newHoldFixture(t)
	got := f.later(t, deploymentPath)
	<-api.watching
	api.changed <- `{"type":"MODIFIED","object":` + deployment(false) + "}"
	select {
	case a := <-got:
		t.Fatalf("answered before it was ready: %v", a)
	default:
	}
	api.set(true, false)
	api.changed <- `{"type":"MODIFIED","object":` + deployment(true) + "}"
	if a := <-got; a.code != http.StatusOK || a.body != deployment(true) {
		t.Errorf("got %v", a)
	}
	if want := "/apis/apps/v1/namespaces/ns/deployments?fieldSelector=metadata.name%3Dweb&resourceVersion=7&watch=true"; api.queries[0] != want || len(api.queries) != 1 {
		t.Errorf("watches: got %q, want %s", api.queries, want)
	}
	testkit.WantText(t, "log", f.log.String(), deploymentPath+": held for ")
}

// The wait ends with the watch: when the object is deleted, the watch breaks, or it has an error.
func TestHold_WatchEnds(t *testing.T) {
	for name, event := range map[string]string{
		"gone": `{"type":"DELETED","object":` + deployment(false) + "}", "broken": "", "error": `{"type":"ERROR","object":{"kind":"Status","code":410}}`, "no event": "<html>",
	} {
		f, api, _ := newHoldFixture(t)
		got := f.later(t, deploymentPath)
		<-api.watching
		api.set(false, name == "gone")
		api.changed <- event
		a := <-got
		if want := map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[name == "gone"]; a.code != want {
			t.Errorf("%s: got %v", name, a)
		}
	}
}

// The proxy answers a read of an object that is never ready when the time is over. All objects of a
// release share the time of a round, so that a round ends before the next one begins, and
// helm-controller reads each object in each round.
func TestHold_NeverReady(t *testing.T) {
	f, api, h := newHoldFixture(t)
	h.longest = 50 * time.Millisecond
	start := time.Now()
	for range 20 {
		if code, body := f.get(t, deploymentPath); code != http.StatusOK || body != deployment(false) {
			t.Errorf("got %d %s", code, body)
		}
	}
	if took := time.Since(start); took < h.longest {
		t.Errorf("20 reads took %s", took)
	}
	if held := strings.Count(f.log.String(), "held for"); held != 1 || api.gets != 21 {
		t.Errorf("%d reads were held, the API server was asked %d times", held, api.gets)
	}
	h.mu.Lock()
	h.next = 0
	h.mu.Unlock()
	f.get(t, deploymentPath)
	if held := strings.Count(f.log.String(), "held for"); held != 2 {
		t.Errorf("in the next round: %d reads were held", held)
	}
}

func TestHold_RoundPerRelease(t *testing.T) {
	h := newHold(nil)
	if h.longest != 4*time.Second || h.next <= h.longest || h.next >= 5*time.Second {
		t.Errorf("a round is held for %s, and the next begins after %s: helm-controller's begin every 5 s", h.longest, h.next)
	}
	a := h.until("a")
	if b := h.until("b"); !b.After(a) {
		t.Error("two releases share a round")
	}
	if again := h.until("a"); again != a {
		t.Error("a round was begun anew")
	}
	h.rounds["a"] = time.Now().Add(-h.next)
	if again := h.until("a"); !again.After(a) {
		t.Error("the next round has no time of its own")
	}
}

// A read that needs no wait is forwarded, and never held.
func TestHold_Forwarded(t *testing.T) {
	f, api, _ := newHoldFixture(t)
	for _, path := range []string{
		"/apis/helm.toolkit.fluxcd.io/v2/namespaces/a/helmreleases/b", "/apis/source.toolkit.fluxcd.io/v1/namespaces/a/helmcharts/b",
		"/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "/apis/rbac.authorization.k8s.io/v1/clusterroles/b",
		"/api/v1/namespaces/a/secrets/b", "/api/v1/namespaces/a", "/apis/apps/v1/namespaces/ns/deployments", deploymentPath + "/status", deploymentPath + "?resourceVersion=0",
		"/api/v1", "/apis/apps/v1", "/apis", "/version", "/openapi/v3/apis/apps/v1", "/",
	} {
		if code, body := f.get(t, path); code != http.StatusOK || body != deployment(false) {
			t.Errorf("%s: got %d %s", path, code, body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, f.url+deploymentPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if len(api.watching) > 0 {
		t.Error("one of these was held")
	}
}

func TestTargetOf(t *testing.T) {
	for path, want := range map[string]target{
		"/api/v1/namespaces/a/pods/b":                                 {"", "pods", "/api/v1/namespaces/a/pods", "b"},
		"/apis/apps/v1/namespaces/a/deployments/b":                    {"apps", "deployments", "/apis/apps/v1/namespaces/a/deployments", "b"},
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/b.c": {"apiextensions.k8s.io", "customresourcedefinitions", crdsPath, "b.c"},
		"/apis/x.io/v1/namespaces/a/namespaces/b":                     {"x.io", "namespaces", "/apis/x.io/v1/namespaces/a/namespaces", "b"},
		"/api/v1/namespaces/a":                                        {"", "namespaces", "/api/v1/namespaces", "a"},
		"/api/v1/namespaces/a/pods":                                   {},
		"/api/v1/namespaces/a/pods/":                                  {},
		"/api/v1/namespaces/a/pods/b/log":                             {},
		"/apis/apps":                                                  {},
		"/api":                                                        {},
		"":                                                            {},
	} {
		got, ok := targetOf(path)
		if ok != (want.name != "") || ok && got != want {
			t.Errorf("%s: got %+v, %v", path, got, ok)
		}
	}
}

func TestRelease(t *testing.T) {
	for text, want := range map[string]string{
		deployment(false): "flux-system/web",
		`{"metadata":{"namespace":"n","annotations":{"meta.helm.sh/release-name":"r","meta.helm.sh/release-namespace":"s"}}}`: "s/r",
		`{"metadata":{"namespace":"n"}}`: "n",
	} {
		var o object
		if err := json.Unmarshal([]byte(text), &o); err != nil || o.release() != want {
			t.Errorf("got %q, %v; want %q", o.release(), err, want)
		}
	}
}

// apiVersion is that of a kind of TestSettled.
func apiVersion(kind string) string {
	switch kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet":
		return "apps/v1"
	case "Job":
		return "batch/v1"
	case "Pod", "PersistentVolumeClaim":
		return "v1"
	case "CustomResourceDefinition":
		return "apiextensions.k8s.io/v1"
	case "NetworkPolicy":
		return "networking.k8s.io/v1"
	}
	return "example.com/v1"
}

func TestSettled(t *testing.T) {
	status := func(kind, status string) string {
		return fmt.Sprintf(`{"kind":%q,"metadata":{"generation":2},"spec":{"replicas":2},"status":%s}`, kind, status)
	}
	conditions := func(kind string, pairs ...string) string {
		var all []string
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, fmt.Sprintf(`{"type":%q,"status":%q}`, pairs[i], pairs[i+1]))
		}
		return status(kind, `{"conditions":[`+strings.Join(all, ",")+`]}`)
	}
	const rolledOut = `"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]`
	settled := []string{
		deployment(true),
		status("Deployment", `{"observedGeneration":2,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,`+rolledOut+`}`),
		status("Deployment", `{"observedGeneration":2,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}`),
		status("StatefulSet", `{"observedGeneration":2,"replicas":2,"readyReplicas":2,"currentReplicas":2}`),
		`{"kind":"StatefulSet","spec":{"updateStrategy":{"type":"OnDelete"}}}`,
		status("ReplicaSet", `{"observedGeneration":2,"replicas":2,"readyReplicas":2,"availableReplicas":2,"fullyLabeledReplicas":2}`),
		status("DaemonSet", `{"observedGeneration":2,"desiredNumberScheduled":3,"currentNumberScheduled":3,"updatedNumberScheduled":3,"numberAvailable":3,"numberReady":3}`),
		status("DaemonSet", `{"observedGeneration":2,"desiredNumberScheduled":0}`),
		conditions("Job", "Complete", "True"), conditions("Job", "Failed", "True"), `{"kind":"Job","spec":{"suspend":true}}`,
		status("Pod", `{"phase":"Succeeded"}`), status("Pod", `{"phase":"Failed"}`), status("Pod", `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`),
		status("PersistentVolumeClaim", `{"phase":"Bound"}`),
		conditions("CustomResourceDefinition", "NamesAccepted", "True", "Established", "True"),
		conditions("CustomResourceDefinition", "NamesAccepted", "False"),
		conditions("Cluster", "Ready", "True"), conditions("Cluster", "Other", "False"), `{"kind":"NetworkPolicy"}`, conditions("Cluster", "Stalled", "True", "Ready", "False"),
		`{"kind":"Deployment","metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`,
	}
	unsettled := []string{
		deployment(false), `{"kind":"Deployment"}`,
		status("Deployment", `{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,`+rolledOut+`}`),
		status("Deployment", `{"observedGeneration":2,"replicas":3,"updatedReplicas":2,"readyReplicas":3,"availableReplicas":3,`+rolledOut+`}`),
		status("Deployment", `{"observedGeneration":2,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,"fullyLabeledReplicas":2}`),
		status("StatefulSet", `{"observedGeneration":2,"replicas":2,"readyReplicas":1,"currentReplicas":2}`), `{"kind":"StatefulSet"}`,
		status("ReplicaSet", `{"observedGeneration":2,"replicas":2,"readyReplicas":2,"availableReplicas":1}`),
		status("DaemonSet", `{"observedGeneration":2,"desiredNumberScheduled":3,"updatedNumberScheduled":3,"numberAvailable":2,"numberReady":3}`),
		status("DaemonSet", `{"observedGeneration":2}`), status("DaemonSet", `{"desiredNumberScheduled":0}`),
		conditions("Job", "Complete", "False"), `{"kind":"Job"}`,
		status("Pod", `{"phase":"Running"}`), `{"kind":"Pod","metadata":{"annotations":{"helm.sh/hook":"test"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		status("PersistentVolumeClaim", `{"phase":"Pending"}`),
		`{"kind":"CustomResourceDefinition"}`,
		`{"kind":"CustomResourceDefinition","status":{"conditions":[{"type":"Established","status":"False","reason":"Installing"}]}}`,
		conditions("Cluster", "Ready", "False"), conditions("Cluster", "Ready", "Unknown"), conditions("Cluster", "Reconciling", "True", "Ready", "True"),
		status("Cluster", `{"observedGeneration":1}`),
	}
	for want, texts := range map[bool][]string{true: settled, false: unsettled} {
		for _, text := range texts {
			var o object
			kind := regexp.MustCompile(`"kind":"(\w+)"`).FindStringSubmatch(text)[1]
			if !strings.Contains(text, "apiVersion") {
				text = strings.Replace(text, "{", fmt.Sprintf(`{"apiVersion":%q,`, apiVersion(kind)), 1)
			}
			if err := json.Unmarshal([]byte(text), &o); err != nil || o.settled() != want {
				t.Errorf("%s: got %v, %v", text, o.settled(), err)
			}
		}
	}
}
