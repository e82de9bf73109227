package addons

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/cert"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// A controller's webhooks have the certificate that they are given. The webhook for pods selects
// only a JobSet's pods, since it would block all others if the controller stopped.
func TestController_Webhooks(t *testing.T) {
	webhook := func(name, group string) any {
		return map[string]any{"name": name, "clientConfig": map[string]any{"service": map[string]any{"name": "webhook-service", "namespace": "system", "path": "/" + name}},
			"rules": []any{map[string]any{"apiGroups": []any{group}}}}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": "validating-webhook-configuration"},
		"webhooks": []any{webhook("jobsets", "jobset.x-k8s.io"), webhook("pods", "")}}}
	a := admissionOf(jobSet)
	a.authority = []byte("PEM")
	if err := a.admit(o); err != nil {
		t.Fatal(err)
	}
	kept, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	if o.GetName() != "jobset-validating-webhook-configuration" || len(kept) != 2 {
		t.Fatalf("got %v", o.Object)
	}
	for i, selector := range []string{"", "jobset.sigs.k8s.io/jobset-name"} {
		one := kept[i].(map[string]any)
		bundle, _, _ := unstructured.NestedString(one, "clientConfig", "caBundle")
		if raw, err := base64.StdEncoding.DecodeString(bundle); err != nil || string(raw) != "PEM" {
			t.Errorf("%v: its certificate is %q, %v", one["name"], bundle, err)
		}
		expressions, _, _ := unstructured.NestedSlice(one, "objectSelector", "matchExpressions")
		if (len(expressions) > 0) != (selector != "") || len(expressions) > 0 && expressions[0].(map[string]any)["key"] != selector {
			t.Errorf("%v: got the selector %v, want %q", one["name"], expressions, selector)
		}
	}
}

// The Services of several programs lead to the port of each, by one route: the API server has one
// egress. One whose cluster calls no webhooks is refused.
func TestServe(t *testing.T) {
	served := 0
	r := &Runner{Clients: &infra.Clients{Kube: fake.NewClientset()}, Serve: func(simulate.Route) error { served++; return nil }}
	for port, name := range map[int]string{4711: jobSet, 4712: trainer} {
		if err := r.serve(admissionOf(name), port); err != nil {
			t.Fatal(err)
		}
	}
	if served != 1 {
		t.Errorf("the egress was opened %d times: the last takes it from the others", served)
	}
	for address, want := range map[string]string{"jobset-webhook-service.jobset-system.svc:443": "127.0.0.1:4711", "kubeflow-trainer-controller-manager.kubeflow-system.svc:443": "127.0.0.1:4712", "a.b.svc:443": ""} {
		if to, ok, _ := r.routeOf(address); to != want || ok != (want != "") {
			t.Errorf("%s: got %q, want %q", address, to, want)
		}
	}
	failed := errors.New("no socket")
	r = &Runner{Serve: func(simulate.Route) error { return failed }}
	if err := r.serve(admissionOf(jobSet), 1); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if err := (&Runner{}).serve(admissionOf(jobSet), 1); err == nil {
		t.Error("a cluster that calls no webhooks is not refused: nobody would set the defaults of JobSets")
	}
}

// A program finds a key and a certificate for the name of its Service, where no other program of
// the machine writes.
func TestCertify(t *testing.T) {
	dir := t.TempDir()
	authority, err := certify(admissionOf(trainer), dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, certificatesBelow, "tls.crt"), filepath.Join(dir, certificatesBelow, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := cert.ParseCertsPEM(authority)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c)
	}
	for _, name := range []string{"kubeflow-trainer-controller-manager.kubeflow-system.svc", "127.0.0.1"} { // in a workflow, and in a cell
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name}); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, certificatesBelow, "tls.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the key: %v, %v", info.Mode(), err)
	}
}
