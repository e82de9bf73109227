package facts

// products.go knows which Secrets and ConfigMaps the operators of well-known custom resources make,
// and by which names. It must not know bundles.

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// product is what an operator makes of a kind of custom resource.
type product struct {
	group, kind string
	// path is the field with the name of what is made. Without a value there, or without a path, it has
	// one of the names.
	path []string
	// names are patterns as those of path.Match, in which NAME is the resource's own name.
	names []string
	// alsoConfigMap and onlyConfigMap: it makes a ConfigMap beside the Secret, or in its place.
	alsoConfigMap, onlyConfigMap bool
	keys                         func(spec map[string]any) []string
}

// all is a closed list: what it lacks may still be found by the name that another object has in its fields.
func all() []product {
	of := func(text string) []string { return strings.Split(text, ".") }
	own := []string{"NAME"}
	return []product{
		{group: "cert-manager.io", kind: "Certificate", path: of("spec.secretName"), keys: certificateKeys},
		{group: "cert-manager.io", kind: "Issuer", path: of("spec.acme.privateKeySecretRef.name")},
		{group: "trust.cert-manager.io", kind: "Bundle", names: own, onlyConfigMap: true},
		{group: "external-secrets.io", kind: "ExternalSecret", names: own, path: of("spec.target.name")},
		{group: "external-secrets.io", kind: "ClusterExternalSecret", names: own, path: of("spec.externalSecretSpec.target.name")},
		{group: "bitnami.com", kind: "SealedSecret", names: own, path: of("spec.template.metadata.name")},
		{group: "secrets.hashicorp.com", kind: "VaultStaticSecret", path: of("spec.destination.name")},
		{group: "secrets.hashicorp.com", kind: "VaultDynamicSecret", path: of("spec.destination.name")},
		{group: "onepassword.com", kind: "OnePasswordItem", names: own},
		{group: "postgresql.cnpg.io", kind: "Cluster", names: []string{"NAME-app", "NAME-superuser", "NAME-ca", "NAME-server", "NAME-replication"}},
		{group: "postgres-operator.crunchydata.com", kind: "PostgresCluster", names: []string{"NAME-pguser-*", "NAME-cluster-cert"}},
		{group: "acid.zalan.do", kind: "postgresql", names: []string{"*.NAME.credentials.postgresql.acid.zalan.do"}},
		{group: "kafka.strimzi.io", kind: "Kafka", names: []string{"NAME-cluster-ca-cert", "NAME-clients-ca-cert", "NAME-cluster-ca", "NAME-clients-ca"}},
		{group: "kafka.strimzi.io", kind: "KafkaUser", names: own},
		{group: "rabbitmq.com", kind: "RabbitmqCluster", names: []string{"NAME-default-user", "NAME-erlang-cookie"}},
		{group: "elasticsearch.k8s.elastic.co", kind: "Elasticsearch", names: []string{"NAME-es-elastic-user", "NAME-es-http-certs-public", "NAME-es-http-certs-internal"}},
		{group: "kibana.k8s.elastic.co", kind: "Kibana", names: []string{"NAME-kb-http-certs-public"}},
		{group: "pxc.percona.com", kind: "PerconaXtraDBCluster", path: of("spec.secretsName"), names: []string{"NAME-secrets"}},
		{group: "psmdb.percona.com", kind: "PerconaServerMongoDB", path: of("spec.secrets.users"), names: []string{"NAME-secrets"}},
		{group: "k8s.keycloak.org", kind: "Keycloak", names: []string{"NAME-initial-admin"}},
		{group: "grafana.integreatly.org", kind: "Grafana", names: []string{"NAME-admin-credentials"}},
		{group: "objectbucket.io", kind: "ObjectBucketClaim", names: own, alsoConfigMap: true},
	}
}

// ProductMakes reports whether the operator of a custom resource makes a Secret or ConfigMap of this name, and
// with which keys; nil if that is not known.
func ProductMakes(o *unstructured.Unstructured, kind, name string) (keys []string, ok bool) {
	gvk := o.GroupVersionKind()
	for _, p := range all() {
		if p.group != gvk.Group || p.kind != gvk.Kind || (kind != NeedSecret || p.onlyConfigMap) && (kind != ConfigMap || !p.onlyConfigMap && !p.alsoConfigMap) {
			continue
		}
		if made := p.of(o); !slices.ContainsFunc(made, func(pattern string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }) {
			continue
		}
		if p.keys != nil {
			spec, _ := o.Object["spec"].(map[string]any)
			keys = p.keys(spec)
		}
		return keys, true
	}
	return nil, false
}

func (p *product) of(o *unstructured.Unstructured) []string {
	if len(p.path) > 0 {
		if name, _, _ := unstructured.NestedString(o.Object, p.path...); name != "" {
			return []string{name}
		}
	}
	var all []string
	for _, pattern := range p.names {
		all = append(all, strings.ReplaceAll(pattern, "NAME", o.GetName()))
	}
	return all
}

// certificateKeys returns the keys of a Certificate's Secret: cert-manager writes three, and more
// only if the Certificate requests other formats.
func certificateKeys(spec map[string]any) []string {
	if spec["keystores"] != nil || spec["additionalOutputFormats"] != nil {
		return nil
	}
	return []string{"tls.crt", "tls.key", "ca.crt"}
}
