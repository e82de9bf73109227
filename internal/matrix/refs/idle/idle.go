// Package idle finds what waits for ever for a Deployment or StatefulSet that does nothing for it:
// custom resources whose operator has 0 replicas or is told to look in other namespaces, and requests
// that the API server sends to a Service without pods. Stand-ins and the API server of a simulated
// cluster do their part without a pod.
package idle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// served are the kinds that an operator alone acts on, by the repository of its image without the
// registry: the kinds whose status a stand-in writes.
var served = map[string][]schema.GroupKind{
	"prometheus-operator/prometheus-operator": {{Group: "monitoring.coreos.com", Kind: "Prometheus"}, {Group: "monitoring.coreos.com", Kind: "Alertmanager"}},
	"jetstack/cert-manager-controller":        {{Group: "cert-manager.io", Kind: "Certificate"}, {Group: "cert-manager.io", Kind: "Issuer"}, {Group: "cert-manager.io", Kind: "ClusterIssuer"}},
	"nvidia/gpu-operator":                     {{Group: "nvidia.com", Kind: "ClusterPolicy"}, {Group: "nvidia.com", Kind: "NVIDIADriver"}},
	"nvidia/cloud-native/network-operator":    {{Group: "mellanox.com", Kind: "NicClusterPolicy"}},
	"nvidia/skyhook/operator":                 {{Group: "skyhook.nvidia.com", Kind: "Skyhook"}},
	"nvidia/kai-scheduler/operator":           {{Group: "kai.scheduler", Kind: "Config"}, {Group: "kai.scheduler", Kind: "SchedulingShard"}},
	"kai-scheduler/kai-scheduler/operator":    {{Group: "kai.scheduler", Kind: "Config"}, {Group: "kai.scheduler", Kind: "SchedulingShard"}},
}

// Find returns what waits for workloads without pods.
func Find(e *bundle.Expectation) []problem.Problem {
	return slices.Concat(resources(e), calls(e), injections(e))
}

// none reports whether a workload has no pods, and nothing of the bundle gives it any: an autoscaler
// is counted already, and leaves one of 0 as it is.
func none(w bundle.Workload) bool {
	return w.Replicas == 0 && (w.Kind == "Deployment" || w.Kind == "StatefulSet")
}

// resources are those for which no operator does anything.
func resources(e *bundle.Expectation) []problem.Problem {
	operators := map[schema.GroupKind][]*bundle.Workload{}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		for _, kind := range kindsOf(w) {
			operators[kind] = append(operators[kind], w)
		}
	}
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		kind := o.Object.GroupVersionKind().GroupKind()
		all := operators[kind]
		if paused, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "paused"); len(all) == 0 || paused {
			continue
		}
		p := problem.Of(o)
		p.Reason, p.Then = reason.DeployFailed, "nothing acts on it: no object that it stands for is made, and its status stays empty"
		if slices.ContainsFunc(all, func(w *bundle.Workload) bool { return acts(w, o.Object, &p) }) {
			continue
		}
		found = append(found, p)
	}
	return found
}

// acts reports whether an operator does something for a resource; if not, the problem says why.
func acts(w *bundle.Workload, o *unstructured.Unstructured, p *problem.Problem) bool {
	at := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
	if none(*w) {
		p.Name, p.Cause = "replicas", "idle "+at.String()
		p.Text = fmt.Sprintf("waits for its operator, %s (%s), which has 0 replicas", at, w.Component)
		return false
	}
	flag, namespaces := looksIn(w, o.GetKind())
	if o.GetNamespace() == "" || len(namespaces) == 0 || slices.Contains(namespaces, o.GetNamespace()) {
		return true
	}
	p.Name, p.Cause = strings.Join(namespaces, ","), "idle "+at.String()+o.GetNamespace()
	p.Text = fmt.Sprintf("waits for its operator, %s (%s), which looks only in namespace %s (--%s)", at, w.Component, strings.Join(namespaces, ", "), flag)
	return false
}

// looksIn are the only namespaces in which an operator looks for a kind, and the flag that says so;
// none if it looks everywhere, or if that cannot be known.
func looksIn(w *bundle.Workload, kind string) (flag string, namespaces []string) {
	flags := []string{"namespace"} // cert-manager's
	switch kind {
	case "Prometheus":
		flags = []string{"prometheus-instance-namespaces", "namespaces"}
	case "Alertmanager":
		flags = []string{"alertmanager-instance-namespaces", "namespaces"}
	case "Certificate", "Issuer":
	default:
		return "", nil
	}
	for _, flag := range flags {
		for _, c := range w.PodSpec.Containers {
			for i, arg := range c.Args {
				name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
				if name != flag {
					continue
				}
				if !given && i+1 < len(c.Args) {
					value = c.Args[i+1]
				}
				if value == "" || strings.Contains(value, "$(") {
					return "", nil
				}
				return flag, strings.Split(value, ",")
			}
		}
	}
	return "", nil
}

// kindsOf are the kinds that a workload is the operator of.
func kindsOf(w *bundle.Workload) []schema.GroupKind {
	if w.Kind != "Deployment" && w.Kind != "StatefulSet" {
		return nil
	}
	var kinds []schema.GroupKind
	for image, of := range served {
		if has(w, image) {
			kinds = append(kinds, of...)
		}
	}
	return kinds
}

// has reports whether a workload has a container with an image, whichever registry it comes from.
func has(w *bundle.Workload, image string) bool {
	return slices.ContainsFunc(w.PodSpec.Containers, func(c corev1.Container) bool {
		return podspec.OfRepository(c.Image, image)
	})
}

// injections are objects whose caBundle cert-manager's cainjector is to write, in a bundle whose
// cert-manager has none with pods: the API server trusts nothing that answers it.
func injections(e *bundle.Expectation) []problem.Problem {
	controller, injector := (*bundle.Workload)(nil), "which the bundle lacks"
	for i := range e.Workloads {
		w := &e.Workloads[i]
		switch {
		case has(w, "jetstack/cert-manager-controller"):
			controller = w
		case !slices.ContainsFunc(w.PodSpec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, "cainjector") }): // by whatever name a mirror has
		case !none(*w):
			return nil
		default:
			injector = fmt.Sprintf("%s (%s), which has 0 replicas", observe.WorkloadRef(w.Kind, w.Namespace, w.Name), w.Component)
		}
	}
	if controller == nil {
		return nil // another recipe's, or the cluster's
	}
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		if key := injected(o.Object); key != "" && len(calledBy(o.Object)) > 0 && !strings.Contains(fmt.Sprint(o.Object.Object), "caBundle:") {
			p := problem.Of(o)
			p.Reason, p.Name, p.Cause = reason.DeployFailed, key, "no cainjector"
			p.Text = fmt.Sprintf("has its caBundle written by cert-manager's cainjector (%s), %s", key, injector)
			p.Then = "the API server trusts nothing that answers it, so that every request to it fails"
			found = append(found, p)
		}
	}
	return found
}

// injected is the annotation by which cainjector writes an object's caBundle; empty without one.
func injected(o *unstructured.Unstructured) string {
	for _, key := range []string{"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret"} {
		if o.GetAnnotations()[key] != "" {
			return key
		}
	}
	return ""
}

// called is a Service that the API server sends requests to.
type called struct {
	what, then      string
	namespace, name string
}

// calls are objects that have the API server call a Service, all of whose workloads have no pods.
func calls(e *bundle.Expectation) []problem.Problem {
	if !slices.ContainsFunc(e.Workloads, none) {
		return nil
	}
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		for _, c := range calledBy(o.Object) {
			w := asleep(e, c.namespace, c.name)
			if w == nil {
				continue
			}
			at := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
			p := problem.Of(o)
			p.Reason, p.Name, p.Cause = reason.DeployFailed, "replicas", "idle "+at.String()
			p.Text = fmt.Sprintf("%s calls Service %s/%s, whose only pods are those of %s (%s), which has 0 replicas", c.what, c.namespace, c.name, at, w.Component)
			p.Then = c.then
			found = append(found, p)
			break // one for an object: its webhooks mostly share a Service
		}
	}
	return found
}

// calledBy are the Services that an object has the API server call; webhooks that fail open are left
// out.
func calledBy(o *unstructured.Unstructured) []called {
	at := func(m map[string]any, path ...string) (namespace, name string) {
		s, _, _ := unstructured.NestedMap(m, path...)
		namespace, _ = s["namespace"].(string)
		name, _ = s["name"].(string)
		return namespace, name
	}
	var all []called
	switch o.GetKind() {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		webhooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, w := range webhooks {
			m, _ := w.(map[string]any)
			if policy, _ := m["failurePolicy"].(string); policy == "Ignore" {
				continue
			}
			c := called{what: fmt.Sprintf("webhook %v", m["name"]), then: "the API server refuses every request that it is for (failurePolicy Fail)"}
			c.namespace, c.name = at(m, "clientConfig", "service")
			all = append(all, c)
		}
	case "APIService":
		c := called{what: "it", then: "every discovery of APIs is incomplete, and namespaces cannot be deleted"}
		c.namespace, c.name = at(o.Object, "spec", "service")
		all = append(all, c)
	case "CustomResourceDefinition":
		if strategy, _, _ := unstructured.NestedString(o.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
			c := called{what: "its conversion", then: "objects of versions other than the stored one can neither be read nor written"}
			c.namespace, c.name = at(o.Object, "spec", "conversion", "webhook", "clientConfig", "service")
			all = append(all, c)
		}
	}
	return slices.DeleteFunc(all, func(c called) bool { return c.name == "" })
}

// asleep is a workload without pods that a Service selects, if it selects no other one.
func asleep(e *bundle.Expectation, namespace, name string) *bundle.Workload {
	i := slices.IndexFunc(e.Objects, func(o bundle.Object) bool {
		return o.Object.GetKind() == "Service" && o.Object.GetNamespace() == namespace && o.Object.GetName() == name
	})
	if i < 0 {
		return nil
	}
	selector, _, _ := unstructured.NestedStringMap(e.Objects[i].Object.Object, "spec", "selector")
	if len(selector) == 0 {
		return nil
	}
	var found *bundle.Workload
	for j := range e.Objects {
		o := e.Objects[j].Object
		pod, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
		if o.GetNamespace() != namespace || !labels.SelectorFromSet(selector).Matches(labels.Set(pod)) {
			continue
		}
		w := slices.IndexFunc(e.Workloads, func(w bundle.Workload) bool {
			return w.Kind == o.GetKind() && w.Namespace == namespace && w.Name == o.GetName()
		})
		if w < 0 || !none(e.Workloads[w]) {
			return nil // another kind of workload, or one with pods
		}
		found = &e.Workloads[w]
	}
	return found
}
