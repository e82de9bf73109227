package refs

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

// selfish warns of a webhook that fails closed and is for the pods that serve it: once none of them
// runs, none can be created.
func (c *checker) selfish(r refsReference, name string, client *admissionv1.WebhookClientConfig, s facts.WebhookScope) {
	if client.Service == nil || len(s.Conditions) > 0 {
		return
	}
	service := c.have.Service(client.Service.Namespace, client.Service.Name)
	if service == nil || len(service.Spec.Selector) == 0 {
		return
	}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		template := problem.Template(o)
		if template == nil || o.Object.GetNamespace() != service.Namespace || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)) {
			continue
		}
		pod := &unstructured.Unstructured{}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetNamespace(service.Namespace)
		pod.SetLabels(template.Labels)
		if c.isFor(s, pod) {
			r.text, r.then = fmt.Sprintf("webhook %s fails closed and is for the pods of %s, which serve it", name, o.Ref()), "once none of them runs, e.g. after a restart of the nodes, none can be created: leave its namespace out"
			c.warn(r)
			return
		}
	}
}

func anyOf(have []string, want ...string) bool {
	return slices.ContainsFunc(have, func(s string) bool { return slices.Contains(want, s) })
}
