package idle

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/documents"
)

func TestFind(t *testing.T) {
	deployment := func(name, image string, replicas int) string {
		text := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME, namespace: x}\nspec: {replicas: N, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: m, image: IMAGE}]}}}\n---\n"
		return strings.NewReplacer("NAME", name, "IMAGE", image, "N", string(rune('0'+replicas))).Replace(text)
	}
	certManager := func(n int) string { return deployment("cm", "quay.io/jetstack/cert-manager-controller:v1", n) }
	monitoring := func(name string, n int) string {
		return deployment(name, "mirror.example/quay/prometheus-operator/prometheus-operator@sha256:"+strings.Repeat("a", 64), n)
	}
	cainjector := func(n int) string { return deployment("ci", "quay.io/jetstack/cert-manager-cainjector:v1", n) }
	told := func(deployment string, args ...string) string {
		return strings.Replace(deployment, "{name: m,", "{name: m, args: ['"+strings.Join(args, "', '")+"'],", 1)
	}
	object := func(apiVersion, kind, name, rest string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: x}\n" + rest + "\n---\n"
	}
	certified := strings.Replace(object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "own", "webhooks: [{name: a.b.c, clientConfig: {service: {namespace: x, name: own}}}]"), "namespace: x}", "annotations: {cert-manager.io/inject-ca-from: x/own}}", 1)
	certificate := object("cert-manager.io/v1", "Certificate", "tls", "spec: {secretName: tls}")
	prometheus := object("monitoring.coreos.com/v1", "Prometheus", "k8s", "spec: {}")
	service := object("v1", "Service", "hook", "spec: {selector: {app: web}}")
	webhook := object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "all", "webhooks: [{name: a.b.c, clientConfig: {service: {namespace: x, name: hook}}}]")
	const fails = "ValidatingWebhookConfiguration all: webhook a.b.c calls Service x/hook, whose only pods are those of Deployment x/web (c), which has 0 replicas"
	for name, c := range map[string]struct{ objects, want string }{
		"an operator of none":         {certManager(0) + certificate, "Certificate tls: waits for its operator, Deployment x/cm (c), which has 0 replicas"},
		"an operator":                 {certManager(1) + certificate, ""},
		"no operator":                 {deployment("web", "web", 0) + certificate, ""},
		"nothing for it to do":        {certManager(0) + prometheus, ""},
		"an image by its digest":      {monitoring("po", 0) + prometheus, "Prometheus k8s: waits for its operator, Deployment x/po (c)"},
		"two, of which one has pods":  {monitoring("po", 0) + monitoring("other", 1) + prometheus, ""},
		"paused":                      {monitoring("po", 0) + object("monitoring.coreos.com/v1", "Prometheus", "k8s", "spec: {paused: true}"), ""},
		"another image of that name":  {deployment("cm", "example.com/not-jetstack/cert-manager-controller", 0) + certificate, ""},
		"another group's kind":        {certManager(0) + object("networking.example.com/v1", "Certificate", "tls", "spec: {}"), ""},
		"an image that is none":       {deployment("cm", "UPPER", 0) + certificate, ""},
		"another namespace":           {told(monitoring("po", 1), "--namespaces=y,z") + prometheus, "Prometheus k8s: waits for its operator, Deployment x/po (c), which looks only in namespace y, z (--namespaces)"},
		"its namespace":               {told(monitoring("po", 1), "--namespaces=y,x") + prometheus, ""},
		"for instances another":       {told(monitoring("po", 1), "--namespaces=x", "-prometheus-instance-namespaces", "y") + prometheus, "looks only in namespace y (--prometheus-instance-namespaces)"},
		"another kind's instances":    {told(monitoring("po", 1), "--alertmanager-instance-namespaces=y") + prometheus, ""},
		"a namespace of a variable":   {told(certManager(1), "--namespace=$(POD_NAMESPACE)") + certificate, ""},
		"cert-manager's namespace":    {told(certManager(1), "--namespace=y") + certificate, "Certificate tls: waits for its operator, Deployment x/cm (c), which looks only in namespace y (--namespace)"},
		"a cluster's issuer":          {told(certManager(1), "--namespace=y") + strings.Replace(object("cert-manager.io/v1", "ClusterIssuer", "a", "spec: {}"), ", namespace: x", "", 1), ""},
		"one looks there":             {told(monitoring("po", 1), "--namespaces=y") + told(monitoring("two", 1), "--namespaces=x") + prometheus, ""},
		"a cainjector of none":        {certManager(1) + cainjector(0) + certified, "ValidatingWebhookConfiguration own: has its caBundle written by cert-manager's cainjector (cert-manager.io/inject-ca-from), Deployment x/ci (c), which has 0 replicas"},
		"no cainjector":               {certManager(1) + certified, "cainjector (cert-manager.io/inject-ca-from), which the bundle lacks"},
		"a cainjector":                {certManager(1) + cainjector(1) + certified, ""},
		"another's cainjector":        {certified, ""},
		"a caBundle of its own":       {certManager(1) + strings.Replace(certified, "clientConfig: {", "clientConfig: {caBundle: eA==, ", 1), ""},
		"a webhook of none":           {deployment("web", "web", 0) + service + webhook, fails},
		"a webhook of pods":           {deployment("web", "web", 1) + service + webhook, ""},
		"one of two Deployments":      {deployment("web", "web", 0) + strings.ReplaceAll(deployment("two", "web", 1), "{app: two}", "{app: web}") + service + webhook, ""},
		"a webhook of nothing":        {deployment("other", "web", 0) + service + webhook, ""},
		"no such Service":             {deployment("web", "web", 0) + webhook, ""},
		"a webhook that fails open":   {deployment("web", "web", 0) + service + strings.Replace(webhook, "name: a.b.c", "failurePolicy: Ignore, name: a.b.c", 1), ""},
		"a webhook at an address":     {deployment("web", "web", 0) + service + strings.Replace(webhook, "service: {namespace: x, name: hook}", "url: https://a", 1), ""},
		"a Service of another place":  {deployment("web", "web", 0) + strings.Replace(service, "namespace: x", "namespace: z", 1) + webhook, ""},
		"an API":                      {deployment("web", "web", 0) + service + object("apiregistration.k8s.io/v1", "APIService", "v1.a.b", "spec: {service: {namespace: x, name: hook}}"), "APIService v1.a.b: it calls Service x/hook, whose only pods"},
		"an API of the server itself": {deployment("web", "web", 0) + service + object("apiregistration.k8s.io/v1", "APIService", "v1.a.b", "spec: {}"), ""},
		"a conversion": {
			deployment("web", "web", 0) + service + object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "as.b.c", "spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: x, name: hook}}}}}"),
			"CustomResourceDefinition as.b.c: its conversion calls Service x/hook",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range Find(expected(t, c.objects)) {
				got = append(got, p.From.Kind+" "+p.From.Name+": "+p.Text)
				if p.Reason == "" || p.Then == "" || p.Cause == "" {
					t.Errorf("%+v", p)
				}
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// expected has these objects, and their workloads.
func expected(t *testing.T, text string) *bundle.Expectation {
	t.Helper()
	e := &bundle.Expectation{}
	for _, doc := range strings.Split(strings.TrimSuffix(text, "---\n"), "---\n") {
		objects, err := documents.Parse(doc)
		if err != nil || len(objects) != 1 {
			t.Fatalf("%v in %s", err, doc)
		}
		o := objects[0]
		e.Objects = append(e.Objects, bundle.Object{Component: "c", Object: o})
		if o.GetKind() != "Deployment" {
			continue
		}
		replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		container, _ := containers[0].(map[string]any)
		image, _ := container["image"].(string)
		args, _, _ := unstructured.NestedStringSlice(container, "args")
		e.Workloads = append(e.Workloads, bundle.Workload{
			Component: "c", Kind: "Deployment", Namespace: o.GetNamespace(), Name: o.GetName(), Replicas: int(replicas),
			PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Name: "m", Image: image, Args: args}}},
		})
	}
	return e
}
