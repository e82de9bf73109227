// Package gateways checks what Gateways and routes of the Gateway API refer to: classes and who
// serves them, parents, listeners and backends. Nothing routes here, so that nothing else notices a
// reference that leads nowhere. All of it is a warning: a cluster may have a class or a Gateway of
// its own. The package must not know clusters, but for their Services.
package gateways

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result"
)

const group = "gateway.networking.k8s.io"

// Find returns what leads nowhere, in the order of the bundle.
func Find(e *bundle.Expectation, services []corev1.Service) []problem.Problem {
	f := &finder{e: e, services: services}
	for i := range e.Objects {
		o := &e.Objects[i]
		if o.Object.GroupVersionKind().Group != group {
			continue
		}
		switch kind := o.Object.GetKind(); {
		case kind == "GatewayClass":
			f.class(o)
		case kind == "Gateway":
			f.gateway(o)
			f.certificates(o)
		case strings.HasSuffix(kind, "Route"):
			f.parents(o)
			f.backends(o)
		}
	}
	return f.found
}

type finder struct {
	e        *bundle.Expectation
	services []corev1.Service
	found    []problem.Problem
}

func (f *finder) add(o *bundle.Object, name string, missing result.Ref, then, format string, args ...any) {
	p := problem.Of(o)
	p.Name, p.Missing, p.Then, p.Text = name, missing, then, fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(f.found, func(q problem.Problem) bool { return q.From == p.From && q.Text == p.Text }) { // e.g. of two rules
		f.found = append(f.found, p)
	}
}

// object returns an object of the Gateway API that the bundle has.
func (f *finder) object(kind, namespace, name string) *unstructured.Unstructured {
	for i := range f.e.Objects {
		o := f.e.Objects[i].Object
		if o.GroupVersionKind().Group == group && o.GetKind() == kind && o.GetName() == name && (namespace == "" || o.GetNamespace() == namespace) {
			return o
		}
	}
	return nil
}

// class warns of a GatewayClass that nothing in the recipe seems to serve: no workload's name, image
// or arguments have a word of its controller's name.
func (f *finder) class(o *bundle.Object) {
	controller := text(o.Object.Object, "spec", "controllerName")
	if controller == "" || f.runs(words(controller)) {
		return
	}
	f.add(o, controller, result.Ref{}, "unless the cluster has that controller, no Gateway of the class gets an address", "is served by %s (spec.controllerName), which nothing in the recipe seems to run", controller)
}

func (f *finder) gateway(o *bundle.Object) {
	if class := text(o.Object.Object, "spec", "gatewayClassName"); class != "" && f.object("GatewayClass", "", class) == nil && !f.runs(words(class)) {
		f.add(o, class, result.Ref{Group: group, Kind: "GatewayClass", Name: class}, "unless the cluster provides it, no controller serves it", "names GatewayClass %s, which the recipe does not install", class)
	}
}

// words are the parts of a name that may name a program: of gateway.example.com/envoy-gateway these
// are example and envoy-gateway.
func words(name string) []string {
	host, rest, _ := strings.Cut(name, "/")
	var all []string
	if labels := strings.Split(host, "."); len(labels) > 1 {
		all = append(all, labels[len(labels)-2])
	} else {
		all = append(all, host)
	}
	for _, w := range strings.Split(rest, "/") {
		if w != "" && w != "controller" && w != "gateway-controller" {
			all = append(all, w)
		}
	}
	return all
}

// runs reports whether a workload's name, release, image or arguments have one of the words.
func (f *finder) runs(words []string) bool {
	for i := range f.e.Objects {
		o := &f.e.Objects[i]
		spec, ok := podspec.Of(o.Object)
		if !ok {
			continue
		}
		var pod corev1.PodSpec
		if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &pod) != nil {
			continue
		}
		texts := []string{o.Object.GetName(), o.Release}
		for _, c := range pod.Containers {
			texts = append(texts, c.Image)
			texts = slices.Concat(texts, c.Command, c.Args)
			for _, e := range c.Env {
				texts = append(texts, e.Value)
			}
		}
		if slices.ContainsFunc(texts, func(t string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(t, w) })
		}) {
			return true
		}
	}
	return false
}

// parents warns of a route that no listener takes.
func (f *finder) parents(o *bundle.Object) {
	const then = "no request reaches it"
	refs := maps(o.Object.Object, "spec", "parentRefs")
	if len(refs) == 0 {
		f.add(o, "parentRefs", result.Ref{}, then, "names no Gateway (spec.parentRefs)")
	}
	for _, ref := range refs {
		if kind := text(ref, "kind"); kind != "" && kind != "Gateway" {
			continue
		}
		namespace, name, section := text(ref, "namespace"), text(ref, "name"), text(ref, "sectionName")
		if namespace == "" {
			namespace = o.Object.GetNamespace()
		}
		full := infra.NamespacedName(namespace, name)
		g := f.object("Gateway", namespace, name)
		if g == nil {
			f.add(o, name, result.Ref{Group: group, Kind: "Gateway", Namespace: namespace, Name: name}, "unless the cluster has it, "+then, "is for Gateway %s, which the recipe does not install", full)
			continue
		}
		listeners := maps(g.Object, "spec", "listeners")
		if section != "" {
			listeners = slices.DeleteFunc(listeners, func(l map[string]any) bool { return text(l, "name") != section })
		}
		f.listener(o, g, ref, listeners, full)
	}
}

// listener warns of a route that no listener of one of its Gateways takes. The first reason is said.
func (f *finder) listener(o *bundle.Object, g *unstructured.Unstructured, ref map[string]any, listeners []map[string]any, full string) {
	const then = "no request reaches it"
	kind, hosts := o.Object.GetKind(), texts(o.Object.Object, "spec", "hostnames")
	port, hasPort, _ := unstructured.NestedInt64(ref, "port")
	for _, c := range []struct {
		name, format string
		args         []any
		takes        func(l map[string]any) bool
	}{
		{text(ref, "sectionName"), "is for listener %s of Gateway %s, which has no such listener", []any{text(ref, "sectionName"), full}, func(map[string]any) bool { return true }},
		{fmt.Sprint(port), "is for port %d of Gateway %s, which has no listener at that port", []any{port, full}, func(l map[string]any) bool {
			at, _, _ := unstructured.NestedInt64(l, "port")
			return !hasPort || at == port
		}},
		{g.GetName(), "is for Gateway %s, whose listeners take routes of their own namespace only (allowedRoutes.namespaces)", []any{full}, func(l map[string]any) bool {
			from := text(l, "allowedRoutes", "namespaces", "from")
			return g.GetNamespace() == o.Object.GetNamespace() || from != "" && from != "Same"
		}},
		{g.GetName(), "is for Gateway %s, whose listeners take no %s (protocol, allowedRoutes.kinds)", []any{full, kind}, func(l map[string]any) bool { return takesKind(l, kind) }},
		{g.GetName(), "is for Gateway %s, whose listeners are for other hostnames", []any{full}, func(l map[string]any) bool {
			listens := text(l, "hostname")
			return listens == "" || len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool { return meet(h, listens) })
		}},
	} {
		if listeners = slices.DeleteFunc(listeners, func(l map[string]any) bool { return !c.takes(l) }); len(listeners) == 0 {
			if c.name == "" { // a Gateway without listeners, which the API server refuses
				c.name = g.GetName()
			}
			f.add(o, c.name, result.Ref{}, then, c.format, c.args...)
			return
		}
	}
}

// takesKind reports whether a listener is for routes of a kind. Of protocols and kinds that are none of
// the Gateway API's own nothing is known.
func takesKind(l map[string]any, kind string) bool {
	if kinds := maps(l, "allowedRoutes", "kinds"); len(kinds) > 0 {
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

// certificates warns of a listener's certificate that nothing makes.
func (f *finder) certificates(o *bundle.Object) {
	if slices.ContainsFunc([]string{"cert-manager.io/issuer", "cert-manager.io/cluster-issuer"}, func(a string) bool { return o.Object.GetAnnotations()[a] != "" }) {
		return // cert-manager makes it
	}
	for _, l := range maps(o.Object.Object, "spec", "listeners") {
		for _, ref := range maps(l, "tls", "certificateRefs") {
			if kind := text(ref, "kind"); kind != "" && kind != "Secret" {
				continue
			}
			namespace, name := text(ref, "namespace"), text(ref, "name")
			if namespace == "" {
				namespace = o.Object.GetNamespace()
			}
			if !slices.ContainsFunc(f.e.Objects, func(b bundle.Object) bool {
				made := b.Object.GetKind() == "Secret" && b.Object.GetName() == name || b.Object.GetKind() == "Certificate" && text(b.Object.Object, "spec", "secretName") == name
				return made && b.Object.GetNamespace() == namespace
			}) {
				f.add(o, name, result.Ref{Kind: "Secret", Namespace: namespace, Name: name}, "unless something makes it in the cluster, the listener answers nothing", "takes the certificate of listener %s from Secret %s, which the recipe does not make", text(l, "name"), infra.NamespacedName(namespace, name))
			}
		}
	}
}

// backends warns of a backend that does not exist, has no such port, or is in another namespace
// without a ReferenceGrant.
func (f *finder) backends(o *bundle.Object) {
	const then = "its controller answers with an error"
	for _, rule := range maps(o.Object.Object, "spec", "rules") {
		refs := maps(rule, "backendRefs")
		for _, filter := range maps(rule, "filters") {
			if mirror, ok, _ := unstructured.NestedMap(filter, "requestMirror", "backendRef"); ok {
				refs = append(refs, mirror)
			}
		}
		for _, ref := range refs {
			if kind := text(ref, "kind"); kind != "" && kind != "Service" || text(ref, "group") != "" {
				continue
			}
			namespace, name := text(ref, "namespace"), text(ref, "name")
			if namespace == "" {
				namespace = o.Object.GetNamespace()
			}
			full := infra.NamespacedName(namespace, name)
			port, _, _ := unstructured.NestedInt64(ref, "port")
			i := slices.IndexFunc(f.services, func(s corev1.Service) bool { return s.Namespace == namespace && s.Name == name })
			switch {
			case i < 0:
				f.add(o, name, result.Ref{Kind: "Service", Namespace: namespace, Name: name}, then, "sends requests to Service %s, which does not exist", full)
			case port != 0 && !slices.ContainsFunc(f.services[i].Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == port }):
				f.add(o, name, result.Ref{}, then, "sends requests to port %d of Service %s, which has no such port", port, full)
			case namespace != o.Object.GetNamespace() && !f.granted(o, namespace):
				f.add(o, name, result.Ref{}, then, "sends requests to Service %s of another namespace, and no ReferenceGrant there allows it", full)
			}
		}
	}
}

// granted reports whether a namespace has a ReferenceGrant for routes of the object's kind and
// namespace.
func (f *finder) granted(o *bundle.Object, namespace string) bool {
	return slices.ContainsFunc(f.e.Objects, func(g bundle.Object) bool {
		return g.Object.GetKind() == "ReferenceGrant" && g.Object.GetNamespace() == namespace && slices.ContainsFunc(maps(g.Object.Object, "spec", "from"), func(from map[string]any) bool {
			return text(from, "kind") == o.Object.GetKind() && text(from, "namespace") == o.Object.GetNamespace()
		})
	})
}

func text(m map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(m, path...)
	return s
}

func texts(m map[string]any, path ...string) []string {
	list, _, _ := unstructured.NestedStringSlice(m, path...)
	return list
}

// maps returns the items of a list that are maps.
func maps(m map[string]any, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(m, path...)
	var all []map[string]any
	for _, item := range list {
		if one, ok := item.(map[string]any); ok {
			all = append(all, one)
		}
	}
	return all
}
