package matrix

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/infra"
)

// fakeAPI answers GET requests by path. A path with tables is answered only when a table was asked
// for.
type fakeAPI map[string]string

func (a fakeAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	body, ok := a[req.URL.Path]
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		body = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","code":404}`
	case body == "":
		w.WriteHeader(http.StatusInternalServerError)
		body = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcd is away","reason":"InternalError","code":500}`
	case strings.Contains(body, `"kind":"Table"`) && !strings.HasPrefix(req.Header.Get("Accept"), "application/json;as=Table;v=v1;g=meta.k8s.io"):
		w.WriteHeader(http.StatusNotAcceptable)
		body = "a list and not a table was asked for: " + req.Header.Get("Accept")
	}
	_, _ = w.Write([]byte(body))
}

// tableOf is a Table as the API server renders it; columns are "Name", "Name*" with priority 1;
// rows are namespace, name and cells as JSON.
func tableOf(columns string, rows ...[]string) string {
	var heads, lines []string
	for i, c := range strings.Split(columns, ",") {
		name, wide := strings.CutSuffix(c, "*")
		format, priority := "", 0
		if i == 0 {
			format = "name"
		}
		if wide {
			priority = 1
		}
		heads = append(heads, fmt.Sprintf(`{"name":%q,"type":"string","format":%q,"priority":%d}`, name, format, priority))
	}
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf(`{"cells":[%s],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":%q,"name":%q}}}`,
			strings.Join(r[2:], ","), r[0], r[1]))
	}
	return fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[%s],"rows":[%s]}`, strings.Join(heads, ","), strings.Join(lines, ","))
}

func apiResource(name, kind string, namespaced bool, categories ...string) string {
	return fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":%v,"verbs":["get","list"],"categories":["%s"]}`, name, kind, namespaced, strings.Join(categories, `","`))
}

func resourceList(groupVersion string, resources ...string) string {
	return fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[%s]}`, groupVersion, strings.Join(resources, ","))
}

// demoAPI has pods and a Deployment, no Service, and DaemonSets that cannot be listed.
func demoAPI() fakeAPI {
	return fakeAPI{
		"/api": `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[
			{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},
			{"name":"autoscaling","versions":[{"groupVersion":"autoscaling/v2","version":"v2"},{"groupVersion":"autoscaling/v1","version":"v1"}],"preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}}]}`,
		"/api/v1":              resourceList("v1", apiResource("pods", "Pod", true, "all"), apiResource("secrets", "Secret", true), apiResource("services", "Service", true, "all")),
		"/apis/apps/v1":        resourceList("apps/v1", apiResource("daemonsets", "DaemonSet", true, "all"), apiResource("deployments", "Deployment", true, "all")),
		"/apis/autoscaling/v2": resourceList("autoscaling/v2", apiResource("horizontalpodautoscalers", "HorizontalPodAutoscaler", true, "all")),
		"/apis/autoscaling/v1": resourceList("autoscaling/v1", apiResource("horizontalpodautoscalers", "HorizontalPodAutoscaler", true, "all")),
		"/api/v1/pods": tableOf("Name,Ready,Restarts,Node*", []string{"ns", "web-1", `"web-1"`, `"1/1"`, "1234567", `"a0"`},
			[]string{"other", "p", `"p"`, `"0/1"`, "0", `"<none>"`}),
		"/api/v1/services":                              tableOf("Name,Type"),
		"/apis/apps/v1/deployments":                     tableOf("Name,Ready", []string{"ns", "web", `"web"`, `"1/1"`}),
		"/apis/apps/v1/daemonsets":                      "",
		"/api/v1/nodes":                                 tableOf("Name,Status,Internal-IP*", []string{"", "a0", `"a0"`, `"Ready"`, `"<none>"`}),
		"/apis/autoscaling/v2/horizontalpodautoscalers": tableOf("Name,Targets", []string{"ns", "web", `"web"`, `"50%"`}),
	}
}

func testDumper(t *testing.T, handler http.Handler) *dumper {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	d, err := newDump(&rest.Config{Host: server.URL}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func wantLines(t *testing.T, what string, got []byte, want ...string) {
	t.Helper()
	if text := strings.Join(want, "\n") + "\n"; string(got) != text {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, text)
	}
}

func TestDumpAll(t *testing.T) {
	got, err := testDumper(t, demoAPI()).All(t.Context())
	wantLines(t, "resources", got,
		"NAMESPACE   NAME        READY   RESTARTS",
		"ns          pod/web-1   1/1     1234567",
		"other       pod/p       0/1     0",
		"",
		"could not be read: list daemonsets.apps: etcd is away",
		"",
		"NAMESPACE   NAME                  READY",
		"ns          deployment.apps/web   1/1",
		"",
		"NAMESPACE   NAME                                      TARGETS",
		"ns          horizontalpodautoscaler.autoscaling/web   50%",
	)
	if err == nil || !strings.Contains(err.Error(), "daemonsets.apps") {
		t.Errorf("error: got %v, want it to name the kind that could not be listed", err)
	}
}

// An aggregated API whose server does not answer loses only its own kinds, and the file says so.
func TestDumpAllWithStaleAPI(t *testing.T) {
	api := demoAPI()
	api["/apis/apps/v1/daemonsets"] = tableOf("Name,Ready")
	api["/apis/autoscaling/v2"], api["/apis/autoscaling/v1"] = "", ""
	got, err := testDumper(t, api).All(t.Context())
	if err != nil {
		t.Errorf("error: %v, want none: everything else was read", err)
	}
	for _, part := range []string{"ns          deployment.apps/web   1/1", "could not be read: the kinds of autoscaling/v2: "} {
		if !strings.Contains(string(got), part) {
			t.Errorf("want %q in:\n%s", part, got)
		}
	}
}

func TestDumpWide(t *testing.T) {
	d := testDumper(t, demoAPI())
	pods, err := d.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "pods", pods, "NAMESPACE   NAME    READY   RESTARTS   NODE", "ns          web-1   1/1     1234567    a0", "other       p       0/1     0          <none>")
	nodes, err := d.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "nodes", nodes, "NAME   STATUS   INTERNAL-IP", "a0     Ready    <none>")
}

func TestDumpEmpty(t *testing.T) {
	d := testDumper(t, fakeAPI{"/api/v1/pods": tableOf("Name")})
	got, err := d.Pods(t.Context())
	if err != nil || string(got) != "No resources found\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// An API server that cannot render tables answers with the list itself.
func TestDumpNoTable(t *testing.T) {
	d := testDumper(t, fakeAPI{"/api/v1/pods": `{"kind":"PodList","apiVersion":"v1","items":[]}`})
	if got, err := d.Pods(t.Context()); err == nil || !strings.Contains(err.Error(), "list pods: the API server answered with PodList instead of a table") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDumpEvents(t *testing.T) {
	event := func(name, times string) string {
		return fmt.Sprintf(`{"cells":[%q,"said by %s"],"object":{"kind":"Event","apiVersion":"v1","metadata":{"namespace":"ns","name":%q,"creationTimestamp":"2026-01-01T00:00:00Z"},%s}}`, "?", name, name, times)
	}
	rows := []string{
		event("third", `"lastTimestamp":"2026-01-01T00:00:30Z","eventTime":null`),
		event("fourth", `"lastTimestamp":null,"eventTime":"2026-01-01T00:00:05.000001Z","series":{"count":3,"lastObservedTime":"2026-01-01T00:00:40.000002Z"}`),
		event("second", `"lastTimestamp":null,"eventTime":"2026-01-01T00:00:20.000001Z"`), // the scheduler's: it has no lastTimestamp
		event("first", `"lastTimestamp":"2026-01-01T00:00:10Z"`),
	}
	api := fakeAPI{"/api/v1/events": `{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Last Seen","type":"string"},{"name":"Message","type":"string"}],"rows":[` +
		strings.Join(rows, ",") + `]}`}
	got, err := testDumper(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if include := req.URL.Query().Get("includeObject"); include != "Object" {
			t.Errorf("includeObject: got %q; the metadata has no times to sort by", include)
		}
		api.ServeHTTP(w, req)
	})).Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "events", got, "NAMESPACE   LAST SEEN   MESSAGE", "ns          ?           said by first", "ns          ?           said by second",
		"ns          ?           said by third", "ns          ?           said by fourth")
}

func TestDumpYAML(t *testing.T) {
	object := func(kind, name string) string {
		return fmt.Sprintf(`{"apiVersion":"source.toolkit.fluxcd.io/v1","kind":%q,"metadata":{"name":%q,"namespace":"flux-system","managedFields":[{"manager":"m"}]},"spec":{"interval":"1m"}}`, kind, name)
	}
	list := func(kind string, objects ...string) string {
		return fmt.Sprintf(`{"apiVersion":"source.toolkit.fluxcd.io/v1","kind":"%sList","metadata":{"resourceVersion":"7"},"items":[%s]}`, kind, strings.Join(objects, ","))
	}
	api := fakeAPI{
		"/apis/source.toolkit.fluxcd.io/v1/ocirepositories": list("OCIRepository", object("OCIRepository", "b")),
		"/apis/source.toolkit.fluxcd.io/v1/helmcharts":      list("HelmChart", object("HelmChart", "c"), object("HelmChart", "d")),
	}
	d := testDumper(t, api)
	got, err := d.YAML(t.Context(), "", infra.OCIRepositoryGVR, infra.KustomizationGVR, infra.HelmChartGVR)
	item := func(kind, name string) []string {
		return []string{"- apiVersion: source.toolkit.fluxcd.io/v1", "  kind: " + kind, "  metadata:", "    name: " + name, "    namespace: flux-system", "  spec:", "    interval: 1m"}
	}
	wantLines(t, "yaml", got, slices.Concat(
		[]string{"# could not be read: list kustomizations.kustomize.toolkit.fluxcd.io: the server could not find the requested resource", "apiVersion: v1", "items:"},
		item("OCIRepository", "b"), item("HelmChart", "c"), item("HelmChart", "d"), []string{"kind: List", "metadata:", `  resourceVersion: ""`})...)
	if err == nil || !strings.Contains(err.Error(), "kustomizations") {
		t.Errorf("error: got %v, want it to name the kind that could not be listed", err)
	}
	if got, err := d.YAML(t.Context(), "", infra.KustomizationGVR); err == nil || got != nil {
		t.Errorf("nothing could be read: got %q, %v; want an error alone", got, err)
	}
}

// An API server that accepts connections and never answers costs the patience of one request, not
// the budget.
func TestDumpHangingServer(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-release:
		case <-req.Context().Done():
		case <-time.After(5 * time.Second): // so that a client without patience fails this test instead of hanging it
		}
	}))
	defer server.CloseClientConnections()
	d, err := newDump(&rest.Config{Host: server.URL}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() ([]byte, error){
		"resources": func() ([]byte, error) { return d.All(t.Context()) },
		"events":    func() ([]byte, error) { return d.Events(t.Context()) },
		"yaml":      func() ([]byte, error) { return d.YAML(t.Context(), "", infra.HelmChartGVR) },
	} {
		start := time.Now()
		got, err := read()
		if err == nil || len(got) > 0 || !strings.Contains(err.Error(), "the API server did not answer within 100ms") {
			t.Errorf("%s: got %q, %v; want a timeout", name, got, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s took %s with a patience of 100 ms", name, took)
		}
	}
}

func TestInCategory_SeveralVersions(t *testing.T) {
	lists := []*metav1.APIResourceList{
		{GroupVersion: "autoscaling/v2", APIResources: []metav1.APIResource{{Name: "hpas", Kind: "HPA", Verbs: []string{"list"}, Categories: []string{"all"}}}},
		{GroupVersion: "autoscaling/v1", APIResources: []metav1.APIResource{{Name: "hpas", Kind: "HPA", Verbs: []string{"list"}, Categories: []string{"all"}}}},
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "bindings", Kind: "Binding", Verbs: []string{"create"}, Categories: []string{"all"}}}},
	}
	got := inCategory(lists, "all")
	if len(got) != 1 || got[0].gvr.Version != "v2" {
		t.Errorf("got %v, want autoscaling/v2 alone", got)
	}
}
