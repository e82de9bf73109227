package intact

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// One pod of each owner is tried, as its controller, and only what the recipe's own
// policies, quotas, limits and pod security levels say counts.
func TestDenied(t *testing.T) {
	pod := func(name, owner string) corev1.Pod {
		yes := true
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{"pod-template-hash": "1"}, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: "1", Controller: &yes}}}, Spec: corev1.PodSpec{NodeName: "n"}}
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{pod("d-1-a", "d-1"), pod("d-1-b", "d-1")}}
	yes := true
	owned := appsv1.ReplicaSetList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSetList"}, Items: []appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Name: "e-1", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "e", UID: "2", Controller: &yes}}}}}}
	var tries int
	says := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		sets := strings.HasSuffix(r.URL.Path, "/replicasets")
		if r.Method == http.MethodGet {
			if sets {
				_ = json.NewEncoder(w).Encode(owned)
				return
			}
			_ = json.NewEncoder(w).Encode(list)
			return
		}
		tries++
		maker := map[bool]string{true: "deployment-controller", false: "replicaset-controller"}[sets]
		if as := r.Header.Get("Impersonate-User"); as != "system:serviceaccount:kube-system:"+maker || !strings.Contains(r.URL.RawQuery, "dryRun=All") {
			t.Errorf("got a request %s as %q: want a dry run as the controller", r.URL, as)
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: says, Code: http.StatusUnprocessableEntity})
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	clients := &infra.Clients{Config: cfg, Kube: kube}
	const binding = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: p}}`
	const policy = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}}`
	const quota = `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: ns}}`
	e := &bundle.Expectation{Workloads: []bundle.Workload{{Component: "c", Kind: "Deployment", Namespace: "ns", Name: "d"}, {Component: "c", Kind: "Deployment", Namespace: "ns", Name: "e"}}}
	for _, tc := range []struct {
		says, want string
		has        string
		tries      int
	}{
		{says: "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no", tries: 0},
		{says: `pods "d-1-z" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3`, has: quota, tries: 2},
		{says: `pods "d-1-z" is forbidden: exceeded quota: q, requested: limits.cpu=1,pods=1, used: limits.cpu=1500m,pods=3, limited: limits.cpu=1,pods=3`, has: quota, tries: 2, want: "the API server would reject its next pod: exceeded quota: q, requested: limits.cpu=1,pods=1"},
		{says: `pods "d-1-z" is forbidden: failed quota: q: must specify limits.cpu for: main`, has: quota, tries: 2, want: "reject its next pod: failed quota: q: must specify limits.cpu for: main"},
		{says: `pods "d-1-z" is forbidden: failed quota: q: must specify limits.cpu for: main`, has: quota, tries: 2, want: "\n  ResourceQuota ns/q (z) denies it, set in q.yaml:1"},
		{says: `pods "d-1-z" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, x]`, has: `{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: ns}}`, tries: 2, want: "reject its next pod: [maximum cpu usage per Container is 1, but limit is 2, x]"},
		{says: `pods "d-1-z" is forbidden: violates PodSecurity "restricted:latest": privileged`, has: `{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {pod-security.kubernetes.io/enforce: restricted}}}`, tries: 2, want: `reject its next pod: violates PodSecurity "restricted:latest": privileged`},
		{says: `pods "d-1-z" is forbidden: violates PodSecurity "restricted:latest": privileged`, has: `{apiVersion: v1, kind: Namespace, metadata: {name: ns}}`},
		{says: "nobody asks: it is for another namespace", has: strings.Replace(quota, "namespace: ns", "namespace: other", 1)},
		{says: `pods "d-1-z" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no`, has: binding, tries: 2, want: "Deployment ns/d (c): the API server would reject its next pod: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no\n  what it has was created before that was in force: once that is deleted, e.g. with its node, nothing takes its place\n  nor would it accept the next ReplicaSet of Deployment ns/e (c)"},
		{says: `The pods "d-1-z" is invalid: : ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: no paramKind`, has: policy, tries: 2, want: "reject its next pod: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: no paramKind"},
		{says: `The pods "d-1-z" is invalid: : ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: no paramKind`, has: policy, tries: 2, want: "ValidatingAdmissionPolicy p (z) denies it, set in q.yaml:1"},
		{says: `pods "d-1-z" is forbidden: policy "p" denied request: failed to configure policy: no paramKind`, has: strings.Replace(policy, "Validating", "Mutating", 1), tries: 2, want: "MutatingAdmissionPolicy p (z) denies it, set in q.yaml:1"},
	} {
		e.Objects, tries, says = nil, 0, tc.says
		if tc.has != "" {
			e.Objects = []bundle.Object{{Component: "z", Template: "q.yaml", Manifest: &recipe.Manifest{File: "q.yaml", Content: []byte(tc.has)}, Object: testkit.Parsed(t, tc.has)}}
			if tc.has == policy || strings.Contains(tc.has, "Mutating") {
				e.Objects = append(e.Objects, bundle.Object{Component: "z", Object: testkit.Parsed(t, binding)})
			}
		}
		_, found, err := denied(t.Context(), clients, e)
		if err != nil || tries != tc.tries || len(found) > 1 {
			t.Fatalf("%s: got %v after %d tries and %v, want %d tries", tc.says, found, tries, err, tc.tries)
		}
		got := ""
		for _, f := range found {
			got += strings.Join(f.Story, "\n")
		}
		if !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: got %q, want %q", tc.says, got, tc.want)
		}
	}
}
