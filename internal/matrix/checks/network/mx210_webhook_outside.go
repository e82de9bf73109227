package network

import (
	"fmt"
	"net/url"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

var webhookConfigurations = judge.KindsOf(admissionv1.GroupName, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")

var webhookOutside = judge.Check{
	ID: "MX210", Name: "webhook-outside-of-the-cluster", Needs: judge.Rendered, Kinds: webhookConfigurations,
	Title: "A webhook that fails closed is served in the cluster",
	Why: "A webhook with clientConfig.url is called wherever that is, and nothing of a recipe starts it. If it does not answer, the API server refuses the request " +
		"(https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#url). Nothing was called here.",
	Fix:  "Serve the webhook by a Service of the recipe, or set failurePolicy: Ignore.",
	Says: "webhook %s calls %s, which is outside of the cluster, and was not called", Then: "if nothing answers there, the API server refuses every request that it is for (failurePolicy Fail)",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(webhookConfigurations...) {
			webhooks, _, _ := unstructured.NestedSlice(o.Object.Object, "webhooks")
			var seen []string
			for i, w := range webhooks {
				m, _ := w.(map[string]any)
				address, _, _ := unstructured.NestedString(m, "clientConfig", "url")
				at, err := url.Parse(address)
				if policy, _ := m["failurePolicy"].(string); address == "" || err != nil || policy == "Ignore" || egress.Loopback(at.Host) || slices.Contains(seen, at.Host) {
					continue
				}
				seen = append(seen, at.Host)
				s.Report(o, fmt.Sprintf("webhooks[%d].clientConfig.url", i), fmt.Sprint(m["name"]), address)
			}
		}
	},
}
