package everyday

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
)

// What is no pod is let in by no selector of pods.
func TestFind_Outsiders(t *testing.T) {
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: x}\nspec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, ports: [{name: https, containerPort: 9443}]}]}}}\n"
	hook := func(more string) string {
		return "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: hooks}\nwebhooks: [{name: w.example.com, clientConfig: {service: {name: web, namespace: x}}" + more + "}]\n"
	}
	policy := func(spec string) string {
		return "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p, namespace: x}\nspec: {podSelector: {matchLabels: {app: web}}, " + spec + "}\n"
	}
	const api = "---\napiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.example.com}\nspec: {service: {name: web, namespace: x}}\n"
	const crd = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: web, namespace: x}}}}}\n"
	balanced := func(kind string) string {
		return "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: x}\nspec: {type: " + kind + ", selector: {app: web}, ports: [{port: 443}]}\n"
	}
	const pods, open = "ingress: [{from: [{podSelector: {}}]}]", "ingress: [{ports: [{port: %}]}]"
	at := func(port string) string { return strings.Replace(open, "%", port, 1) }
	const shut = "lets only pods reach those of Deployment x/web, which serve "
	for name, c := range map[string]struct{ objects, want string }{
		"a webhook":                 {web + hook("") + policy(pods), shut + "webhook w.example.com of ValidatingWebhookConfiguration hooks, which fails closed, and the API server is no pod"},
		"a webhook that fails open": {web + hook(", failurePolicy: Ignore") + policy(pods), ""},
		"no ingress at all":         {web + hook("") + policy("policyTypes: [Ingress]"), shut + "webhook"},
		"an APIService":             {web + api + policy(pods), shut + "APIService"},
		"a conversion":              {web + crd + policy(pods), shut + "the conversion of CustomResourceDefinition things.example.com"},
		"a load balancer":           {web + balanced("LoadBalancer") + policy(pods), shut + "Service x/web (LoadBalancer), and its clients from outside are no pods"},
		"a Service inside":          {web + balanced("ClusterIP") + policy(pods), ""},
		"no policy":                 {web + hook(""), ""},
		"of other pods":             {web + hook("") + strings.Replace(policy(pods), "app: web", "app: db", 1), ""},
		"namespaces":                {web + hook("") + policy("ingress: [{from: [{namespaceSelector: {}}]}]"), shut + "webhook"},
		"its port":                  {web + hook("") + policy(at("9443")), ""},
		"its port by name":          {web + hook("") + policy(at("https")), ""},
		"the Service's port":        {web + hook("") + policy(at("443")), shut + "webhook"},
		"a range":                   {web + hook("") + policy("ingress: [{ports: [{port: 9000, endPort: 9500}]}]"), ""},
		"an ipBlock":                {web + hook("") + policy("ingress: [{from: [{podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8}}]}]"), ""},
		"a second policy":           {web + hook("") + policy(pods) + strings.Replace(policy(at("9443")), "name: p", "name: q", 1), ""},
		"egress only":               {web + hook("") + policy("policyTypes: [Egress], egress: [{}]"), ""},
		"Cilium's":                  {web + hook("") + policy(pods) + "---\napiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: open, namespace: x}\n", ""},
		"the node's network":        {strings.Replace(web, "{containers", "{hostNetwork: true, containers", 1) + hook("") + policy(pods), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", c.objects)}
			services := []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "web"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromString("https")}}}}}
			check(t, Find(e, Cluster{Services: services}), c.want)
		})
	}
}
