package intact

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// The status of a workload is sent by its controller and that of one pod of each owner by its
// kubelet, in a dry run and as it is.
func TestRefusedStatus(t *testing.T) {
	const denies = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
	yes := true
	pod := func(name string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "s", UID: "1", Controller: &yes}}}, Spec: corev1.PodSpec{NodeName: "n1"}}
	}
	waits := pod("waits")
	waits.Spec.NodeName, waits.OwnerReferences[0].UID = "", "2"
	var sent []string
	var message string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods"):
			_ = json.NewEncoder(w).Encode(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{waits, pod("s-0"), pod("s-1")}})
		case r.Method == http.MethodGet:
			_ = json.NewEncoder(w).Encode(appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 2}})
		default:
			if !strings.Contains(r.URL.RawQuery, "dryRun=All") {
				t.Errorf("%s %s is no dry run", r.Method, r.URL)
			}
			sent = append(sent, r.Method+" "+r.URL.Path+" "+r.Header.Get("Impersonate-User"))
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: message, Code: http.StatusUnprocessableEntity})
		}
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	clients := &infra.Clients{Config: cfg, Kube: kubernetes.NewForConfigOrDie(cfg)}
	e := &bundle.Expectation{Workloads: []bundle.Workload{{Component: "c", Kind: "StatefulSet", Namespace: "ns", Name: "s"}, {Component: "c", Kind: "Pod", Namespace: "ns", Name: "own"}}}
	want := []string{
		"PUT /apis/apps/v1/namespaces/ns/statefulsets/s/status system:serviceaccount:kube-system:statefulset-controller",
		"PUT /api/v1/namespaces/ns/pods/s-0/status system:node:n1",
	}
	for text, findings := range map[string][]string{
		`statefulsets "s" is forbidden: ` + denies: {"StatefulSet ns/s (c): the API server would reject the next report of its status: " + denies + " (and of 1 more objects)"},
		"the object has been modified":             nil,
	} {
		sent, message = nil, text
		all, err := refusedStatus(t.Context(), clients, e)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range refusalFindings(all) {
			got = append(got, f.Cause)
			if !strings.Contains(strings.Join(f.Story, "\n"), "reported before the policy was in force") {
				t.Errorf("the story is %q", f.Story)
			}
		}
		if !slices.Equal(sent, want) || !slices.Equal(got, findings) {
			t.Errorf("%s: sent %q and got %q, want %q and %q", text, sent, got, want, findings)
		}
	}
}
