package embedded

import (
	"slices"
	"testing"
)

// The second API server has the state of the first, and webhooks; of these, only its own.
func TestAdmittingServerArgs(t *testing.T) {
	first := []string{"--etcd-servers=http://127.0.0.1:1", "--secure-port=2", "--disable-admission-plugins=MutatingAdmissionWebhook,ValidatingAdmissionWebhook", "--egress-selector-config-file=e"}
	want := []string{"--etcd-servers=http://127.0.0.1:1", "--egress-selector-config-file=e", "--secure-port=3",
		"--etcd-servers-overrides=admissionregistration.k8s.io/mutatingwebhookconfigurations#http://127.0.0.1:4,admissionregistration.k8s.io/validatingwebhookconfigurations#http://127.0.0.1:4"}
	if got := admittingServerArgs(first, 3, 4); !slices.Equal(got, want) || len(first) != 4 || first[1] != "--secure-port=2" {
		t.Errorf("got %q, want %q; the first has %q", got, want, first)
	}
}
