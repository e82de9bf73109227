package monitoring

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// TestFind_Secrets: what the operator reads for a resource has to exist. Who may make it at run time is another
// check's.
func TestFind_Secrets(t *testing.T) {
	of := func(kind, spec string) string {
		return "apiVersion: monitoring.coreos.com/v1\nkind: " + kind + "\nmetadata: {name: p, namespace: x}\nspec: {" + spec + "}\n---\n"
	}
	secret := func(namespace, data string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: " + namespace + "}\nstringData: {" + data + "}\n---\n"
	}
	const write = "remoteWrite: [{url: 'https://a/', basicAuth: {username: {name: s, key: user}}}]"
	for name, c := range map[string]struct {
		objects, want string
		warning       bool
		missing       string
	}{
		"nothing":              {objects: of("Prometheus", "replicas: 1")},
		"a Secret":             {objects: of("Prometheus", write) + secret("x", "user: a")},
		"an empty one":         {objects: of("Prometheus", write) + secret("x", "")},
		"none":                 {objects: of("Prometheus", write), want: "reads the key user of Secret x/s (spec.remoteWrite[0].basicAuth.username), which nothing in the recipe makes", missing: "s"},
		"in another namespace": {objects: of("Prometheus", write) + secret("y", "user: a"), want: "which nothing in the recipe makes", missing: "s"},
		"another key":          {objects: of("Prometheus", write) + secret("x", "name: a"), want: "which has no such key"},
		"optional":             {objects: of("Prometheus", "additionalScrapeConfigs: {name: s, key: a, optional: true}")},
		"a ConfigMap":          {objects: of("Alertmanager", "web: {tlsConfig: {cert: {configMap: {name: m, key: a}}}}"), want: "reads the key a of ConfigMap x/m (spec.web.tlsConfig.cert.configMap)", missing: "m"},
		"of the pods":          {objects: of("Prometheus", "containers: [{name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: a}}}]}]")},
		"a sidecar's":          {objects: of("Prometheus", "thanos: {objectStorageConfig: {name: s, key: a}}"), want: "reads the key a of Secret x/s (spec.thanos.objectStorageConfig)", missing: "s"},
		"a toleration":         {objects: of("Prometheus", "tolerations: [{key: a, operator: Exists}]")},
		"a monitor's":          {objects: of("ServiceMonitor", "selector: {}, endpoints: [{port: a, tlsConfig: {ca: {secret: {name: s, key: ca}}}}]"), want: "reads the key ca of Secret x/s (spec.endpoints[0].tlsConfig.ca.secret)", missing: "s", warning: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{
				Objects:   problemtest.Objects(t, "c", c.objects),
				Workloads: []bundle.Workload{{Kind: "Deployment", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Image: "quay.io/prometheus-operator/prometheus-operator:v0.89.0"}}}}},
			}
			got := Find(e)
			if c.want == "" {
				if len(got) > 0 {
					t.Errorf("got %+v", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0].Text, c.want) {
				t.Fatalf("got %+v, want %q", got, c.want)
			}
			if want := map[bool]reason.Reason{false: reason.WorkloadFailed}[c.warning]; got[0].Reason != want || got[0].Missing.Name != c.missing {
				t.Errorf("got %+v, want the reason %q", got[0], want)
			}
		})
	}
}
