package programs

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// webhooksOf are the webhooks of a configuration; false for another object.
func webhooksOf(o *unstructured.Unstructured) ([]any, bool) {
	switch o.GetKind() {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		all, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		return all, err == nil // the API server says what is wrong with it
	}
	return nil, false
}

// calls reports whether the Service of a webhook is one of pods that run.
func (c *Choice) calls(webhook any) bool {
	w, _ := webhook.(map[string]any)
	namespace, _, _ := unstructured.NestedString(w, "clientConfig", "service", "namespace")
	name, _, _ := unstructured.NestedString(w, "clientConfig", "service", "name")
	return slices.Contains(c.services, service{namespace, name})
}

// ServesWebhooks reports whether a webhook of these objects is to be called.
func (c *Choice) ServesWebhooks(objects []bundle.Object) bool {
	return slices.ContainsFunc(objects, func(o bundle.Object) bool {
		all, _ := webhooksOf(o.Object)
		return slices.ContainsFunc(all, c.calls)
	})
}

// UncalledWebhooks names the configurations with webhooks that are not called, a line each.
func (c *Choice) UncalledWebhooks(objects []bundle.Object) []string {
	var left []bundle.Object
	for _, o := range objects {
		if all, ok := webhooksOf(o.Object); ok && (len(all) == 0 || slices.ContainsFunc(all, func(w any) bool { return !c.calls(w) })) {
			left = append(left, o)
		}
	}
	return simulate.UncalledWebhooks(left)
}

// UncalledPolicy is an admission policy in a file of the API server: it adds a condition that is
// never met to each webhook whose Service no process serves. The API server would reject every
// object of such a webhook's kinds, a failure that is never the recipe's. Policies apply to the
// configurations of webhooks, unlike webhooks.
func (c *Choice) UncalledPolicy() ([]byte, error) {
	var served []string
	for _, s := range c.services {
		if strings.ContainsAny(s.namespace+s.name, "'\"\\ \t\r\n") {
			return nil, fmt.Errorf("the name of Service %q in namespace %q: want that of an object", s.name, s.namespace)
		}
		served = append(served, "'"+s.namespace+"/"+s.name+"'")
	}
	return []byte(strings.ReplaceAll(uncalled, "SERVED", strings.Join(served, ", "))), nil
}

const uncalled = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: aicr-action-uncalled-webhooks.static.k8s.io}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [admissionregistration.k8s.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]}
  matchConditions:
  - {name: has-webhooks, expression: "has(object.webhooks)"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{webhooks: object.webhooks.filter(w, !(has(w.clientConfig.service) && (w.clientConfig.service.namespace + '/' + w.clientConfig.service.name) in [SERVED]))
        .map(w, Object.webhooks{name: w.name, matchConditions: [Object.webhooks.matchConditions{name: 'aicr-action-simulated', expression: 'false'}]})}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: aicr-action-uncalled-webhooks.static.k8s.io}
spec: {policyName: aicr-action-uncalled-webhooks.static.k8s.io}
`
