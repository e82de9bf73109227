package network

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// gatewayGroup is the group of the Gateway API. Nothing routes in a cell, so that nothing else notices a reference that
// leads nowhere. What its checks find are warnings: a cluster may have a class or a Gateway of its own.
const gatewayGroup = "gateway.networking.k8s.io"

// routes are the routes of a bundle, of whichever kind.
func routes(s *judge.Scope) (all []*bundle.Object) {
	for i := range s.Expectation.Objects {
		o := &s.Expectation.Objects[i]
		if gvk := o.Object.GroupVersionKind(); gvk.Group == gatewayGroup && strings.HasSuffix(gvk.Kind, "Route") {
			all = append(all, o)
		}
	}
	return all
}

// gateways calls a function for each Gateway that a route names, with its index in spec.parentRefs.
func gateways(o *bundle.Object, each func(i int, ref map[string]any, namespace, name string)) {
	for i, ref := range listOfMaps(o.Object.Object, "spec", "parentRefs") {
		if kind := text(ref, "kind"); kind == "" || kind == "Gateway" {
			each(i, ref, cmp.Or(text(ref, "namespace"), o.Object.GetNamespace()), text(ref, "name"))
		}
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

// seemsToRun reports whether a workload's name, release, image or arguments have one of the words.
func seemsToRun(s *judge.Scope, words []string) bool {
	return slices.ContainsFunc(s.Expectation.Objects, func(o bundle.Object) bool {
		pod := facts.PodSpec(&o)
		if pod == nil {
			return false
		}
		texts := []string{o.Object.GetName(), o.Release}
		for _, c := range pod.Containers {
			texts = append(texts, c.Image)
			texts = slices.Concat(texts, c.Command, c.Args)
			for _, e := range c.Env {
				texts = append(texts, e.Value)
			}
		}
		return slices.ContainsFunc(texts, func(t string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(t, w) })
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
func listOfMaps(m map[string]any, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(m, path...)
	var all []map[string]any
	for _, item := range list {
		if one, ok := item.(map[string]any); ok {
			all = append(all, one)
		}
	}
	return all
}
