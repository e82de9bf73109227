package intact

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Each object is updated in a dry run that changes nothing, and Helm's next record is created. What a
// policy denies for one reason is one finding.
func TestRefusedNext(t *testing.T) {
	const denies = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
	record := corev1.Secret{Type: "helm.sh/release.v1", ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sh.helm.release.v1.r.v1", Labels: map[string]string{"owner": "helm", "name": "r"}}}
	var mu sync.Mutex
	var asked []string
	denied := func(string) bool { return false }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
		switch {
		case r.URL.Path == "/api":
			answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		case r.URL.Path == "/apis":
			answer(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
		case r.URL.Path == "/api/v1":
			answer(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: []string{"patch"}}}})
		case strings.HasSuffix(r.URL.Path, "/pods"):
			answer(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}})
		case r.Method == http.MethodGet:
			answer(corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, Items: []corev1.Secret{record}})
		default:
			body, _ := io.ReadAll(r.Body)
			if !strings.Contains(r.URL.RawQuery, "dryRun=All") || r.Method == http.MethodPatch && string(body) != "{}" {
				t.Errorf("%s %s %s: want a dry run that changes nothing", r.Method, r.URL, body)
			}
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Method+" "+r.URL.Path)
			if !denied(r.Method) {
				w.WriteHeader(http.StatusConflict)
				answer(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: "exceeded quota", Code: http.StatusConflict})
				return
			}
			w.WriteHeader(http.StatusUnprocessableEntity)
			answer(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: `configmaps "x" is forbidden: ` + denies, Code: http.StatusUnprocessableEntity})
		}
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	clients := &infra.Clients{Config: cfg, Kube: kubernetes.NewForConfigOrDie(cfg), Discovery: discovery.NewDiscoveryClientForConfigOrDie(cfg)}
	object := func(name string, hook bool) bundle.Object {
		return bundle.Object{Component: "c", Hook: hook, Object: testkit.Parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: "+name+"}}")}
	}
	e := &bundle.Expectation{Objects: []bundle.Object{object("a", false), object("b", false), object("h", true)}, Releases: []bundle.Release{{Name: "r", Namespace: "ns", Component: "c"}}}
	for name, c := range map[string]struct {
		denied func(method string) bool
		want   []string
	}{
		"nothing": {func(string) bool { return false }, nil},
		"updates": {func(m string) bool { return m == http.MethodPatch }, []string{"ConfigMap ns/a (c): the API server would reject its next update: " + denies + " (and of 1 more objects)"}},
		"records": {func(m string) bool { return m == http.MethodPost }, []string{"Secret ns/sh.helm.release.v1.r.v1 (c): the API server would reject the next one, without which Helm delivers nothing: " + denies}},
	} {
		asked, denied = nil, c.denied
		_, found, err := refusedNext(t.Context(), clients, e)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, f.Cause)
		}
		if !slices.Equal(got, c.want) || len(asked) != 3 {
			t.Errorf("%s: got %q after %q, want %q", name, got, asked, c.want)
		}
	}
}
