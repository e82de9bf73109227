package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var noListener = judge.Check{
	ID: "MX255", Name: "no-listener-takes-route", Needs: judge.Rendered,
	Title: "A listener of a Gateway takes the routes that name the Gateway",
	Why: "A listener takes a route if its name and port are those that the route asks for, its allowedRoutes have the route's namespace and kind, and a hostname is for both " +
		"(https://gateway-api.sigs.k8s.io/reference/spec/#parentreference, https://gateway-api.sigs.k8s.io/guides/multiple-ns/). Protocols and kinds that are none of the Gateway API's own are taken to fit.",
	Fix:  "Correct the route, or allow it at the listener.",
	Says: "is for listener %s of Gateway %s, which has no such listener", Then: unreached,
	Others: map[string]judge.Message{
		"port":      {Says: "is for port %s of Gateway %s, which has no listener at that port", Then: unreached},
		"namespace": {Says: "is for Gateway %[2]s, whose listeners take routes of their own namespace only (allowedRoutes.namespaces)", Then: unreached},
		"kind":      {Says: "is for Gateway %[2]s, whose listeners take no %[1]s (protocol, allowedRoutes.kinds)", Then: unreached},
		"hostname":  {Says: "is for Gateway %[2]s, whose listeners are for other hostnames", Then: unreached},
	},
	Run: func(s *judge.Scope) {
		for _, o := range routes(s) {
			seen := map[string]bool{}
			gateways(o, func(i int, ref map[string]any, namespace, name string) {
				g := s.Find(judge.KindsOf(gatewayGroup, "Gateway")[0], namespace, name)
				if g == nil {
					return
				}
				message, arg, by := untaken(o.Object, g.Object, ref)
				if by != "" && !seen[message+arg+namespace+"/"+name] {
					seen[message+arg+namespace+"/"+name] = true
					s.ReportAs(message, o, fmt.Sprintf("spec.parentRefs[%d]", i), arg, infra.NamespacedName(namespace, name)).SetBy(by)
				}
			})
		}
	},
}

// untaken is the first reason for which no listener of a Gateway takes a route, as a message of the check with its
// argument, and the text that the recipe sets; that is empty if one takes it.
func untaken(o, g *unstructured.Unstructured, ref map[string]any) (message, arg, by string) {
	kind, hosts := o.GetKind(), texts(o.Object, "spec", "hostnames")
	section := text(ref, "sectionName")
	port, hasPort, _ := unstructured.NestedInt64(ref, "port")
	listeners := listOfMaps(g.Object, "spec", "listeners")
	for _, c := range []struct {
		message, arg, by string
		takes            func(l map[string]any) bool
	}{
		{"", section, section, func(l map[string]any) bool { return section == "" || text(l, "name") == section }},
		{"port", fmt.Sprint(port), fmt.Sprint(port), func(l map[string]any) bool {
			at, _, _ := unstructured.NestedInt64(l, "port")
			return !hasPort || at == port
		}},
		{"namespace", "", g.GetName(), func(l map[string]any) bool {
			from := text(l, "allowedRoutes", "namespaces", "from")
			return g.GetNamespace() == o.GetNamespace() || from != "" && from != "Same"
		}},
		{"kind", kind, g.GetName(), func(l map[string]any) bool { return takesKind(l, kind) }},
		{"hostname", "", g.GetName(), func(l map[string]any) bool {
			listens := text(l, "hostname")
			return listens == "" || len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool { return meet(h, listens) })
		}},
	} {
		if listeners = slices.DeleteFunc(listeners, func(l map[string]any) bool { return !c.takes(l) }); len(listeners) == 0 {
			return c.message, c.arg, cmp.Or(c.by, g.GetName()) // a Gateway without listeners, which the API server refuses
		}
	}
	return "", "", ""
}

// takesKind reports whether a listener is for routes of a kind. Of protocols and kinds that are none of
// the Gateway API's own nothing is known.
func takesKind(l map[string]any, kind string) bool {
	if kinds := listOfMaps(l, "allowedRoutes", "kinds"); len(kinds) > 0 {
		return slices.ContainsFunc(kinds, func(k map[string]any) bool { return text(k, "kind") == kind })
	}
	protocols := map[string][]string{"HTTPRoute": {"HTTP", "HTTPS"}, "GRPCRoute": {"HTTP", "HTTPS"}, "TLSRoute": {"TLS"}, "TCPRoute": {"TCP", "TLS"}, "UDPRoute": {"UDP"}}
	own := []string{"HTTP", "HTTPS", "TLS", "TCP", "UDP"}
	takes, protocol := protocols[kind], text(l, "protocol")
	return takes == nil || !slices.Contains(own, protocol) || slices.Contains(takes, protocol)
}

// meet reports whether a request can be for both names; one that begins with *. is for all below it.
func meet(a, b string) bool {
	covers := func(wide, name string) bool {
		rest, ok := strings.CutPrefix(wide, "*")
		return ok && strings.HasSuffix(name, rest)
	}
	return a == b || covers(a, b) || covers(b, a)
}
