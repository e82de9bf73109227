package facts

import (
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// What an operator makes has the name that the resource gives it, its own, or one made from that.
func TestMakes(t *testing.T) {
	for _, tt := range []struct {
		object, kind, name string
		want               bool
	}{
		{"apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: events}\n", "Secret", "events-cluster-ca-cert", true},
		{"apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: events}\n", "Secret", "event-cluster-ca-cert", false},
		{"apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: events}\n", "ConfigMap", "events-cluster-ca-cert", false},
		{"apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg}\n", "Secret", "pg-app", true},
		{"apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg}\n", "Secret", "pg-apps", false},
		{"apiVersion: cluster.x-k8s.io/v1\nkind: Cluster\nmetadata: {name: pg}\n", "Secret", "pg-app", false},
		{"apiVersion: acid.zalan.do/v1\nkind: postgresql\nmetadata: {name: pg}\n", "Secret", "web.pg.credentials.postgresql.acid.zalan.do", true},
		{"apiVersion: trust.cert-manager.io/v1alpha1\nkind: Bundle\nmetadata: {name: roots}\n", "ConfigMap", "roots", true},
		{"apiVersion: objectbucket.io/v1alpha1\nkind: ObjectBucketClaim\nmetadata: {name: b}\n", "Secret", "b", true},
		{"apiVersion: objectbucket.io/v1alpha1\nkind: ObjectBucketClaim\nmetadata: {name: b}\n", "ConfigMap", "b", true},
		{"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: s}\nspec: {target: {name: other}}\n", "Secret", "s", false},
		{"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c}\n", "Secret", "c", false},
		{"apiVersion: secrets.hashicorp.com/v1beta1\nkind: VaultStaticSecret\nmetadata: {name: v}\n", "Secret", "v", false},
	} {
		if _, ok := ProductMakes(testkit.Parsed(t, tt.object), tt.kind, tt.name); ok != tt.want {
			t.Errorf("%s: %s %s: got %t", tt.object, tt.kind, tt.name, ok)
		}
	}
	keys, _ := ProductMakes(testkit.Parsed(t, "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c}\nspec: {secretName: tls}\n"), "Secret", "tls")
	if !slices.Equal(keys, []string{"tls.crt", "tls.key", "ca.crt"}) {
		t.Errorf("got keys %q", keys)
	}
}
