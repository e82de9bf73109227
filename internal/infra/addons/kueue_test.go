package addons

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// The webhooks of Kueue for Jobs and its own kinds stay, and lead to its Service. A webhook that
// also selects other groups would fail for them.
func TestKueue_Webhooks(t *testing.T) {
	webhook := func(name string, groups ...any) any {
		return map[string]any{"name": name, "clientConfig": map[string]any{"service": map[string]any{"name": "webhook-service", "namespace": "system", "path": "/" + name}},
			"rules": []any{map[string]any{"apiGroups": groups}}}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": "mutating-webhook-configuration"},
		"webhooks": []any{webhook("pods", ""), webhook("jobs", "batch"), webhook("deployments", "apps"), webhook("queues", "kueue.x-k8s.io")}}}
	a := kueueAdmission()
	if err := a.admit(o); err != nil {
		t.Fatal(err)
	}
	kept, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	if o.GetName() != "kueue-mutating-webhook-configuration" || len(kept) != 2 {
		t.Fatalf("got %v", o.Object)
	}
	for i, want := range []string{"jobs", "queues"} {
		service, _, _ := unstructured.NestedStringMap(kept[i].(map[string]any), "clientConfig", "service")
		if service["name"] != a.service || service["namespace"] != a.namespace || service["path"] != "/"+want {
			t.Errorf("got %v, want the webhook of %s at Kueue's Service", kept[i], want)
		}
	}
	o.Object["webhooks"] = []any{webhook("pods", "")}
	if err := a.admit(o); err == nil {
		t.Error("a configuration without any webhook for Jobs is not refused: Kueue would hold no Job back")
	}
}

func TestKueue_Conversion(t *testing.T) {
	for name, want := range map[string]bool{"workloads.kueue.x-k8s.io": true, "topologies.kueue.x-k8s.io": false} {
		crd := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
		if err := kueueAdmission().convert(crd); err != nil {
			t.Fatal(err)
		}
		if path, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "service", "path"); (path == "/convert") != want {
			t.Errorf("%s: got %v", name, crd.Object)
		}
	}
}

// Certificates reach the process once Kueue has made them, and its webhooks are found by the
// Service's name and address.
func TestKueue_InCluster(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: kueueAdmission().namespace, Name: kueueAdmission().service}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.7"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: kueueAdmission().namespace, Name: kueueSecret}}
	client := fake.NewClientset(service, secret)
	r := &Runner{Clients: &infra.Clients{Kube: client}, Serve: func(simulate.Route) error { return nil }}
	if err := r.serve(kueueAdmission(), 4711); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{"10.0.0.7:443": true, kueueAdmission().service + "." + kueueAdmission().namespace + ".svc:443": true, "10.0.0.8:443": false, "virtual-node:10250": false} {
		if to, got, _ := r.routeOf(address); got != want || got && to != "127.0.0.1:4711" {
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
	if _, err := client.CoreV1().Secrets(kueueAdmission().namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
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

// With JobSet, Kueue works on JobSets too. Without it, Kueue must not watch that kind, since the
// cluster does not have it.
func TestKueue_Controllers(t *testing.T) {
	built, err := stack.NewSchedulers(host.Paths{Root: t.TempDir()}, kwok.SchedulersMod, kwok.SchedulersSum)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := New(kueue, built)
	if err != nil {
		t.Fatal(err)
	}
	for want, with := range map[string][]string{"batch/job": nil, "batch/job jobset.x-k8s.io/jobset": {jobSet, trainer}} {
		s, err := alone.With(with)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedStringSlice(s.config, "integrations", "frameworks"); strings.Join(got, " ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
		groups := kueueAdmission(s.controllers...).groups
		if slices.Contains(groups, "jobset.x-k8s.io") != (with != nil) || slices.Contains(groups, "trainer.kubeflow.org") || slices.Contains(groups, "") {
			t.Errorf("with %v: got the webhooks of %q", with, groups)
		}
	}
	coscheduling, err := New("coscheduling", built)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := coscheduling.With([]string{jobSet}); err != nil || s.config["integrations"] != nil {
		t.Errorf("got %v, %v", s.config, err)
	}
}
