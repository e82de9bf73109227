package programs

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// What create makes is a certificate for the Service, which what patch writes verifies.
func TestRun(t *testing.T) {
	client := fake.NewClientset(
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Webhooks: []admissionv1.MutatingWebhook{{Name: "a"}}},
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Webhooks: []admissionv1.ValidatingWebhook{{Name: "a"}, {Name: "b"}}},
	)
	patch := []string{"patch", "--webhook-name=w", "--namespace=n", "--secret-name=s", "--patch-failure-policy=Fail", "--log-level=debug"}
	if err := runCertgen(t.Context(), client, patch); err == nil || !strings.Contains(err.Error(), "read Secret n/s") {
		t.Errorf("patch without a Secret: %v", err)
	}
	create := []string{"create", "--host=svc,svc.n.svc", "--namespace=n", "--secret-name=s"}
	for range 2 { // a retried Job must not change the certificate
		if err := runCertgen(t.Context(), client, create); err != nil {
			t.Fatal(err)
		}
	}
	secret, err := client.CoreV1().Secrets("n").Get(t.Context(), "s", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(secret.Data["cert"], secret.Data["key"])
	if err != nil {
		t.Fatal(err)
	}
	if err := runCertgen(t.Context(), client, patch); err != nil {
		t.Fatal(err)
	}
	v, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bundle := range [][]byte{v.Webhooks[0].ClientConfig.CABundle, v.Webhooks[1].ClientConfig.CABundle, m.Webhooks[0].ClientConfig.CABundle} {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(bundle) {
			t.Fatalf("no certificate in %q", bundle)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "svc.n.svc"}); err != nil {
			t.Error(err)
		}
	}
	if p := v.Webhooks[1].FailurePolicy; p == nil || *p != admissionv1.Fail {
		t.Errorf("the failure policy is %v", p)
	}
}

func TestRun_BadArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"want create or patch":               {"--namespace=n", "--secret-name=s"},
		"want --namespace and --secret-name": {"create"},
		"--host names no host":               {"create", "--namespace=n", "--secret-name=s"},
	} {

		if err := runCertgen(t.Context(), fake.NewClientset(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", args, err, want)
		}
	}
}
