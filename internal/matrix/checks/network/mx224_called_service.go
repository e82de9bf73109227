package network

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var (
	definitions = judge.KindsOf("apiextensions.k8s.io", "CustomResourceDefinition")
	apiServices = judge.KindsOf("apiregistration.k8s.io", "APIService")
	callers     = slices.Concat(webhookConfigurations, apiServices, definitions)
)

const (
	refusesAll = "the API server refuses every request that it is for (failurePolicy Fail)"
	leavesOut  = "the API server leaves it out (failurePolicy Ignore)"
	unreadable = "its resources cannot be read in another version"
	conversion = "spec.conversion.webhook.clientConfig"
)

var calledService = judge.Check{
	ID: "MX224", Name: "called-service-missing", Needs: judge.Rendered, Until: judge.Settled, Kinds: callers, Gives: reason.DeployFailed,
	Title: "The Service that the API server calls exists, has the port, and selects pods",
	Why: "The API server calls a Service for a webhook, for an APIService and for a conversion, and nothing of a simulated cluster does " +
		"(https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#service-reference). A warning for a webhook that fails open.",
	Fix:  "Add the Service with that port, or correct the reference.",
	Says: "%s Service %s, which does not exist", Then: "%[3]s",
	Others: map[string]judge.Message{
		"port": {Says: "%s port %[4]d of Service %[2]s, which has no such port", Then: "%[3]s"},
		"pods": {Says: "%s Service %[2]s, whose selector (%[4]s) is that of no pod", Then: "%[3]s"},
	},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(callers...) {
			for _, c := range callsOf(s, o) {
				if f := reportCall(s, o, c); f != nil && c.open {
					f.Warning()
				}
			}
		}
	},
}

// callOf is a Service that the API server calls for an object.
type callOf struct {
	verb, path, then, namespace, name string
	port                              int32
	// open: the API server goes on without it.
	open bool
}

// callsOf lists them.
func callsOf(s *judge.Scope, o *bundle.Object) (all []callOf) {
	field := func(verb, path, then string) {
		m, ok := facts.At(o.Object.Object, path+".service").(map[string]any)
		if !ok {
			return
		}
		port, ok := m["port"].(int64)
		if !ok {
			port = 443
		}
		namespace, _ := m["namespace"].(string)
		name, _ := m["name"].(string)
		all = append(all, callOf{verb, path, then, namespace, name, int32(port), false})
	}
	switch o.Object.GetKind() {
	case "APIService":
		field("is served by", "spec", "every discovery of APIs is incomplete, and namespaces cannot be deleted")
	case "CustomResourceDefinition":
		field("is converted by", conversion, unreadable)
	}
	for i, w := range facts.Webhooks(o.Object) {
		if c := w.Client.Service; c != nil {
			all = append(all, callOf{"webhook " + w.Name + " calls", fmt.Sprintf("webhooks[%d].clientConfig", i), refusesAll, c.Namespace, c.Name, 443, !w.FailsClosed()})
			last := &all[len(all)-1]
			if c.Port != nil {
				last.port = *c.Port
			}
			if last.open {
				last.then = leavesOut
			}
		}
	}
	return all
}

// answers reports whether a Service exists and has a port.
func answers(svc *corev1.Service, port int32) bool {
	return svc != nil && (svc.Spec.Type == corev1.ServiceTypeExternalName || slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port }))
}

// reportCall reports a Service that does not answer; nil if it does, as far as it is known.
func reportCall(s *judge.Scope, o *bundle.Object, c callOf) *judge.Found {
	full := infra.NamespacedName(c.namespace, c.name)
	svc, to := s.Service(c.namespace, c.name), result.Ref{Kind: "Service", Namespace: c.namespace, Name: c.name}
	report := func(message string, more ...any) *judge.Found {
		return s.ReportAs(message, o, c.path+".service", append([]any{c.verb, full, c.then}, more...)...).SetBy(c.name).OneCause(full)
	}
	switch {
	case svc == nil:
		// Definitions come first, and what converts them is not made by what they define.
		if s.Live == nil && (c.path != conversion || s.More()) && !s.Lacks(to, o.Ref()) {
			return nil
		}
		return report("").Missing(to)
	case !answers(svc, c.port):
		return report("port", c.port)
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return nil
	}
	selector := labels.SelectorFromSet(svc.Spec.Selector)
	if selector.Empty() || s.Operated(o) != nil || s.LabelsItself(selector, c.namespace) != nil || !s.NoPod(selector, func(ns string) bool { return ns == c.namespace }) {
		return nil
	}
	return report("pods", selector)
}
