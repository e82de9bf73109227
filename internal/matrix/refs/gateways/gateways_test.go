package gateways

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
)

func TestFind(t *testing.T) {
	in := func(meta string) string {
		if strings.Contains(meta, "namespace: ") {
			return meta
		}
		return "namespace: x, " + meta
	}
	object := func(kind, meta, spec string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: " + kind + "\nmetadata: {" + in(meta) + "}\nspec: {" + spec + "}\n---\n"
	}
	class := object("GatewayClass", "name: own", "controllerName: example.com/proxy-controller")
	controller := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c, namespace: x}\nspec: {template: {spec: {containers: [{name: m, image: registry.example.com/proxy-controller:1}]}}}\n---\n"
	gateway := object("Gateway", "name: front", "gatewayClassName: own, listeners: [{name: http, port: 80, protocol: HTTP}]")
	shared := object("Gateway", "name: front, namespace: z", "gatewayClassName: own, listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]")
	route := func(parent, backend string) string {
		return object("HTTPRoute", "name: r", "parentRefs: [{"+parent+"}], rules: [{backendRefs: [{"+backend+"}]}, {backendRefs: [{"+backend+"}]}]")
	}
	all := class + controller + gateway
	for name, c := range map[string]struct{ objects, want string }{
		"all is there":                {all + route("name: front", "name: web, port: 80"), ""},
		"no controller":               {class + gateway, "GatewayClass x/own (): is served by example.com/proxy-controller (spec.controllerName), which nothing in the recipe seems to run"},
		"no class":                    {gateway, "Gateway x/front (): names GatewayClass own, which the recipe does not install"},
		"a class of a program":        {strings.Replace(controller, "proxy-controller:1", "own:1", 1) + gateway, ""},
		"no Gateway":                  {route("name: nobody", "name: web, port: 80"), "HTTPRoute x/r (): is for Gateway x/nobody, which the recipe does not install"},
		"no listener":                 {all + route("name: front, sectionName: https", "name: web, port: 80"), "is for listener https of Gateway x/front, which has no such listener"},
		"no port of a listener":       {all + route("name: front, port: 8443", "name: web, port: 80"), "is for port 8443 of Gateway x/front, which has no listener at that port"},
		"a listener's port":           {all + route("name: front, port: 80", "name: web, port: 80"), ""},
		"no parents":                  {all + object("HTTPRoute", "name: r", "rules: [{backendRefs: [{name: web, port: 80}]}]"), "names no Gateway (spec.parentRefs)"},
		"another protocol":            {all + object("TLSRoute", "name: r", "parentRefs: [{name: front}], rules: [{backendRefs: [{name: web, port: 80}]}]"), "is for Gateway x/front, whose listeners take no TLSRoute (protocol, allowedRoutes.kinds)"},
		"kinds that are allowed":      {class + controller + strings.Replace(gateway, "protocol: HTTP", "protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}]}", 1) + route("name: front", "name: web, port: 80"), "take no HTTPRoute"},
		"a protocol of its own":       {class + controller + strings.Replace(gateway, "protocol: HTTP", "protocol: example.com/bar", 1) + route("name: front", "name: web, port: 80"), ""},
		"other hostnames":             {class + controller + strings.Replace(gateway, "protocol: HTTP", "protocol: HTTP, hostname: '*.a.example.com'", 1) + object("HTTPRoute", "name: r", "hostnames: [b.example.com], parentRefs: [{name: front}]"), "whose listeners are for other hostnames"},
		"hostnames below":             {class + controller + strings.Replace(gateway, "protocol: HTTP", "protocol: HTTP, hostname: '*.a.example.com'", 1) + object("HTTPRoute", "name: r", "hostnames: [c.a.example.com], parentRefs: [{name: front}]"), ""},
		"hostnames above":             {class + controller + strings.Replace(gateway, "protocol: HTTP", "protocol: HTTP, hostname: c.a.example.com", 1) + object("HTTPRoute", "name: r", "hostnames: ['*.example.com'], parentRefs: [{name: front}]"), ""},
		"a mirror of nothing":         {all + object("HTTPRoute", "name: r", "parentRefs: [{name: front}], rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: nobody, port: 80}}}], backendRefs: [{name: web, port: 80}]}]"), "sends requests to Service x/nobody, which does not exist"},
		"no certificate":              {all + object("Gateway", "name: tls", "gatewayClassName: own, listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web}]}}]"), "takes the certificate of listener https from Secret x/web, which the recipe does not make"},
		"a certificate to come":       {all + object("Gateway", "name: tls", "gatewayClassName: own, listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web}]}}]") + "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c, namespace: x}\nspec: {secretName: web}\n---\n", ""},
		"cert-manager's own":          {all + object("Gateway", "name: tls, annotations: {cert-manager.io/issuer: i}", "gatewayClassName: own, listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web}]}}]"), ""},
		"another namespace":           {class + controller + strings.Replace(gateway, "namespace: x", "namespace: z", 1) + route("name: front, namespace: z", "name: web, port: 80"), "is for Gateway z/front, whose listeners take routes of their own namespace only"},
		"another namespace, allowed":  {class + controller + shared + route("name: front, namespace: z", "name: web, port: 80"), ""},
		"a parent of another kind":    {route("kind: Service, name: nobody", "name: web, port: 80"), ""},
		"no Service":                  {all + route("name: front", "name: nobody, port: 80"), "HTTPRoute x/r (): sends requests to Service x/nobody, which does not exist"},
		"no port":                     {all + route("name: front", "name: web, port: 81"), "sends requests to port 81 of Service x/web, which has no such port"},
		"a Service of another":        {all + route("name: front", "name: far, namespace: z, port: 80"), "sends requests to Service z/far of another namespace, and no ReferenceGrant there allows it"},
		"granted":                     {all + route("name: front", "name: far, namespace: z, port: 80") + object("ReferenceGrant", "name: g, namespace: z", "from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: x}], to: [{group: '', kind: Service}]"), ""},
		"a backend of another kind":   {all + route("name: front", "group: example.com, kind: Pool, name: nobody"), ""},
		"another group's Gateway":     {"apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: g, namespace: x}\n---\n", ""},
		"a controller by its group":   {object("GatewayClass", "name: own", "controllerName: kgateway.dev/kgateway") + strings.Replace(controller, "proxy-controller:1", "kgateway:1", 1), ""},
		"a controller without a name": {object("GatewayClass", "name: own", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "", c.objects)}
			service := func(namespace, name string) corev1.Service {
				return corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
			}
			var got []string
			for _, p := range Find(e, []corev1.Service{service("x", "web"), service("z", "far")}) {
				got = append(got, p.From.Kind+" "+p.From.Namespace+"/"+p.From.Name+" ("+p.Component+"): "+p.Text)
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
