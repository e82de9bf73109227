package schedulers

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
)

// Of Kueue's webhooks those for Jobs and its own kinds stay, and lead to its Service. A webhook that also looks at other groups would fail for them.
func TestServeKueue(t *testing.T) {
	webhook := func(name string, groups ...any) any {
		return map[string]any{"name": name, "clientConfig": map[string]any{"service": map[string]any{"name": "webhook-service", "namespace": "system", "path": "/" + name}},
			"rules": []any{map[string]any{"apiGroups": groups}}}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": "mutating-webhook-configuration"},
		"webhooks": []any{webhook("pods", ""), webhook("jobs", "batch"), webhook("deployments", "apps"), webhook("queues", "kueue.x-k8s.io")}}}
	if err := serveKueue(o); err != nil {
		t.Fatal(err)
	}
	kept, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	if o.GetName() != "kueue-mutating-webhook-configuration" || len(kept) != 2 {
		t.Fatalf("got %v", o.Object)
	}
	for i, want := range []string{"jobs", "queues"} {
		service, _, _ := unstructured.NestedStringMap(kept[i].(map[string]any), "clientConfig", "service")
		if service["name"] != kueueService || service["namespace"] != kueueNamespace || service["path"] != "/"+want {
			t.Errorf("got %v, want the webhook of %s at Kueue's Service", kept[i], want)
		}
	}
	o.Object["webhooks"] = []any{webhook("pods", "")}
	if err := serveKueue(o); err == nil {
		t.Error("a configuration without any webhook for Jobs is not refused: Kueue would hold no Job back")
	}
}

func TestConvertKueue(t *testing.T) {
	for name, want := range map[string]bool{"workloads.kueue.x-k8s.io": true, "topologies.kueue.x-k8s.io": false} {
		crd := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
		if err := convertKueue(crd); err != nil {
			t.Fatal(err)
		}
		if path, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "service", "path"); (path == "/convert") != want {
			t.Errorf("%s: got %v", name, crd.Object)
		}
	}
}

// Certificates reach the process once Kueue has made them, and its webhooks are found by the Service's name and address.
func TestKueueInCluster(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: kueueNamespace, Name: kueueService}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.7"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: kueueNamespace, Name: kueueSecret}}
	client := fake.NewClientset(service, secret)
	r := &Runner{Clients: &infra.Clients{Kube: client}}
	for address, want := range map[string]bool{"10.0.0.7:443": true, kueueService + "." + kueueNamespace + ".svc:443": true, "10.0.0.8:443": false, "virtual-node:10250": false} {
		if got := r.isKueue(t.Context(), address); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "certificates")
	if err := r.mountCertificates(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("there are certificates before Kueue has made them")
	}
	secret.Data = map[string][]byte{"ca.crt": []byte("a"), "tls.key": []byte("k"), "tls.crt": []byte("c")}
	if _, err := client.CoreV1().Secrets(kueueNamespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.mountCertificates(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"tls.key": "k", "tls.crt": "c"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}
