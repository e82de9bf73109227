package intact

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// The status of a workload is sent by its controller and that of one pod of each owner by its
// kubelet, in a dry run and as it is. A workload and its pod are one in what is reported.
func TestRefusedStatus(t *testing.T) {
	const denies = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
	yes := true
	pod := func(name, owner, node string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: owner, UID: types.UID(owner), Controller: &yes}}}, Spec: corev1.PodSpec{NodeName: node}}
	}
	var sent []string
	var message string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods"):
			_ = json.NewEncoder(w).Encode(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{pod("waits", "w", ""), pod("s-0", "s", "n1"), pod("s-1", "s", "n1"), pod("t-0", "t", "n2")}})
		case r.Method == http.MethodGet && r.URL.Path == "/api/v1/nodes/n2":
			_ = json.NewEncoder(w).Encode(corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n2"}})
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/leases/"):
			_ = json.NewEncoder(w).Encode(coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, ObjectMeta: metav1.ObjectMeta{Name: "n2", Namespace: "kube-node-lease"}})
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
	policy := bundle.Object{Component: "c", Template: "c/templates/p.yaml", Object: testkit.Parsed(t, "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}}")}
	e := &bundle.Expectation{Objects: []bundle.Object{policy}, Workloads: []bundle.Workload{{Component: "c", Kind: "StatefulSet", Namespace: "ns", Name: "s"}, {Component: "c", Kind: "Pod", Namespace: "ns", Name: "own"}}}
	want := []string{
		"PUT /apis/apps/v1/namespaces/ns/statefulsets/s/status system:serviceaccount:kube-system:statefulset-controller",
		"PUT /api/v1/namespaces/ns/pods/s-0/status system:node:n1",
		"PUT /api/v1/namespaces/ns/pods/t-0/status system:node:n2",
		"PUT /api/v1/nodes/n2/status system:node:n2",
		"PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2 system:node:n2",
	}
	for text, findings := range map[string][]string{
		`statefulsets "s" is forbidden: ` + denies: {"StatefulSet ns/s (c): the API server would reject the next report of its status: " + denies + " (and of 2 more objects)"},
		"the object has been modified":             nil,
	} {
		sent, message = nil, text
		all, err := refusedStatus(t.Context(), clients, e)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range refusalFindings(e, all) {
			got = append(got, f.Cause)
			for _, part := range []string{"reported before the policy was in force", "ValidatingAdmissionPolicy p (c) denies it, set in c/templates/p.yaml", "the first of which is StatefulSet ns/t"} {
				testkit.WantText(t, "story", strings.Join(f.Story, "\n"), part)
			}
		}
		if !slices.Equal(sent, want) || !slices.Equal(got, findings) {
			t.Errorf("%s: sent %q and got %q, want %q and %q", text, sent, got, want, findings)
		}
	}
}
