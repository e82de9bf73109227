package argoapi

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
		"EndpointSlice.discovery.k8s.io":                DefaultExclusions,
		"Endpoints":                                     DefaultExclusions,
		"Lease.coordination.k8s.io":                     excludedAlways,
		"Event.events.k8s.io":                           excludedAlways,
		"CertificateSigningRequest.certificates.k8s.io": DefaultExclusions,
		"CertificateRequest.cert-manager.io":            DefaultExclusions,
		"Certificate.cert-manager.io":                   NotExcluded,
		"Service":                                       NotExcluded,
		"Endpoints.example.com":                         NotExcluded,
		"PodMetrics.metrics.k8s.io":                     excludedAlways,
		"ClusterPolicy.kyverno.io":                      NotExcluded,
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io": NotExcluded,
	} {
		if got := ExclusionOf(schema.ParseGroupKind(text)); got != want {
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
		var want, got []excludedRule
		if err := yaml.Unmarshal([]byte(upstream.Data["resource.exclusions"]), &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(ExclusionsSetting()), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want what Argo CD's own manifests have: %v", got, want)
		}
		return
	}
	t.Error("the manifests of Argo CD have no resource.exclusions")
}
