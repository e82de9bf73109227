package excluded

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"EndpointSlice.discovery.k8s.io":                Default,
		"Endpoints":                                     Default,
		"Lease.coordination.k8s.io":                     Always,
		"Event.events.k8s.io":                           Always,
		"CertificateSigningRequest.certificates.k8s.io": Default,
		"CertificateRequest.cert-manager.io":            Default,
		"Certificate.cert-manager.io":                   Not,
		"Service":                                       Not,
		"Endpoints.example.com":                         Not,
		"PodMetrics.metrics.k8s.io":                     Always,
		"ClusterPolicy.kyverno.io":                      Not,
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io": Not,
	} {
		if got := Of(schema.ParseGroupKind(text)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// The list is that of the Argo CD that runs here.
func TestSetting_Upstream(t *testing.T) {
	text, err := os.ReadFile("../../../kwok/manifests/argocd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if !strings.Contains(doc, "\n  resource.exclusions:") {
			continue
		}
		var upstream struct{ Data map[string]string }
		if err := yaml.Unmarshal([]byte(doc), &upstream); err != nil {
			t.Fatal(err)
		}
		var want, got []Rule
		if err := yaml.Unmarshal([]byte(upstream.Data["resource.exclusions"]), &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(Setting()), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want what Argo CD's own manifests have: %v", got, want)
		}
		return
	}
	t.Error("the manifests of Argo CD have no resource.exclusions")
}
