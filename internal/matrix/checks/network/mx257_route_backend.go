package network

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

// grants are what allows routes of another namespace.
var grants = judge.KindsOf("gateway.networking.k8s.io", "ReferenceGrant")[0]

const answersError = "its controller answers with an error"

var routeBackend = judge.Check{
	ID: "MX257", Name: "route-backend-missing", Needs: judge.Rendered, Until: judge.Settled,
	Title: "A route of the Gateway API sends requests to a Service and a port that exist, and may",
	Why: "A backend that does not exist, or that is in another namespace without a ReferenceGrant there, is answered with the status 500 " +
		"(https://gateway-api.sigs.k8s.io/reference/spec/#httpbackendref, https://gateway-api.sigs.k8s.io/api-types/referencegrant/).",
	Fix:  "Correct the name or the port, or add a ReferenceGrant to the Service's namespace.",
	Says: "sends requests to Service %s, which does not exist", Then: answersError,
	Others: map[string]judge.Message{
		"port":  {Says: "sends requests to port %[2]d of Service %[1]s, which has no such port", Then: answersError},
		"grant": {Says: "sends requests to Service %s of another namespace, and no ReferenceGrant there allows it", Then: answersError},
	},
	Run: func(s *judge.Scope) {
		for _, o := range routes(s) {
			seen := map[string]bool{}
			routeBackends(o, func(path string, ref map[string]any) {
				namespace, name := cmp.Or(text(ref, "namespace"), o.Object.GetNamespace()), text(ref, "name")
				full := infra.NamespacedName(namespace, name)
				port, _, _ := unstructured.NestedInt64(ref, "port")
				if seen[fmt.Sprint(full, port)] {
					return // of two rules
				}
				seen[fmt.Sprint(full, port)] = true
				svc, to := s.Service(namespace, name), result.Ref{Kind: "Service", Namespace: namespace, Name: name}
				switch {
				case svc == nil:
					if s.Lacks(to, o.Ref()) {
						s.Report(o, path, full).Missing(to)
					}
				case port != 0 && !slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == port }):
					s.ReportAs("port", o, path, full, port)
				case namespace != o.Object.GetNamespace() && !granted(s, o, namespace) && (s.Live != nil || !s.MayMake(grants, namespace)):
					s.ReportAs("grant", o, path, full)
				}
			})
		}
	},
}

// routeBackends calls a function for each Service that a route sends requests to, with the path of its name.
func routeBackends(o *bundle.Object, each func(path string, ref map[string]any)) {
	one := func(path string, ref map[string]any) {
		if kind := text(ref, "kind"); (kind == "" || kind == "Service") && text(ref, "group") == "" {
			each(path+".name", ref)
		}
	}
	for i, rule := range listOfMaps(o.Object.Object, "spec", "rules") {
		for j, ref := range listOfMaps(rule, "backendRefs") {
			one(fmt.Sprintf("spec.rules[%d].backendRefs[%d]", i, j), ref)
		}
		for j, filter := range listOfMaps(rule, "filters") {
			if mirror, ok, _ := unstructured.NestedMap(filter, "requestMirror", "backendRef"); ok {
				one(fmt.Sprintf("spec.rules[%d].filters[%d].requestMirror.backendRef", i, j), mirror)
			}
		}
	}
}

// granted reports whether a namespace has a ReferenceGrant for routes of the object's kind and
// namespace.
func granted(s *judge.Scope, o *bundle.Object, namespace string) bool {
	return slices.ContainsFunc(s.Expectation.Objects, func(g bundle.Object) bool {
		return g.Object.GetKind() == "ReferenceGrant" && g.Object.GetNamespace() == namespace && slices.ContainsFunc(listOfMaps(g.Object.Object, "spec", "from"), func(from map[string]any) bool {
			return text(from, "kind") == o.Object.GetKind() && text(from, "namespace") == o.Object.GetNamespace()
		})
	})
}
