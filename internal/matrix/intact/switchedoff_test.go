package intact

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What the API server drops or refuses of a component that is switched off fails the cell, with the line of the manifest;
// what it takes does not, and what cannot be tried is said.
func TestSwitchedOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
		switch r.URL.Path {
		case "/api":
			answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		case "/apis":
			answer(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
		case "/api/v1":
			answer(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: []string{"create"}}}})
		default:
			sent, _ := io.ReadAll(r.Body)
			object := map[string]any{}
			if err := json.Unmarshal(sent, &object); err != nil || r.Method != http.MethodPost || !strings.Contains(r.URL.RawQuery, "dryRun=All") {
				t.Errorf("%s %s: want a creation in a dry run, %v", r.Method, r.URL, err)
			}
			if object["bad"] != nil {
				w.WriteHeader(http.StatusUnprocessableEntity)
				answer(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonInvalid, Message: "bad: Invalid value", Code: http.StatusUnprocessableEntity})
				return
			}
			delete(object, "unknown")
			answer(object)
		}
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	clients := &infra.Clients{Config: cfg, Kube: kubernetes.NewForConfigOrDie(cfg), Discovery: discovery.NewDiscoveryClientForConfigOrDie(cfg), Warnings: &infra.Warnings{}}
	for text, want := range map[string]struct{ fails, untried string }{
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}, data: {a: b}}": {},
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: ns, name: x}\nunknown: 7\n":   {fails: `ConfigMap ns/x (c): the API server drops field "unknown"`},
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: ns, name: x}\nbad: 7\n":       {fails: "ConfigMap ns/x (c): the API server refuses it: bad: Invalid value"},
		"{apiVersion: other/v1, kind: Other, metadata: {namespace: ns, name: x}}":             {untried: "Other ns/x"},
	} {
		o := bundle.Object{Component: "c", Release: "c", Manifest: &recipe.Manifest{File: "tuning.yaml", Content: []byte(text)}, Object: testkit.Parsed(t, text)}
		untried, err := SwitchedOff(t.Context(), clients, []bundle.Object{o})
		var failure *result.Failure
		if got := errors.As(err, &failure); got != (want.fails != "") {
			t.Errorf("%s: got %v", text, err)
		} else if got {
			f := failure.Findings[0]
			if f.Cause != want.fails || reason.Of(err) != reason.DeployFailed || f.Place.File != "tuning.yaml" || f.Place.Line == 0 || !strings.Contains(strings.Join(f.Story, "\n"), "is switched off on simulated nodes") {
				t.Errorf("%s: got %s, %+v", text, reason.Of(err), f)
			}
		}
		if said := strings.Join(untried, "\n"); (said != "") != (want.untried != "") || !strings.Contains(said, want.untried) {
			t.Errorf("%s: untried %q, want %q", text, said, want.untried)
		}
	}
}
