package delivery

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var healthCheck = judge.Check{
	ID: "MX559", Name: "flux-waits-in-vain", Needs: judge.Rendered, First: true, Gives: reason.DeployFailed,
	Title: "What a Kustomization of Flux waits for is made, and in time",
	Why: "A Kustomization is ready once the objects of spec.healthChecks are (https://fluxcd.io/flux/components/kustomize/kustomizations/#health-checks). One that nothing makes, that comes only once the Kustomization is ready, " +
		"or whose kind does not exist is waited for until the timeout.",
	Fix:  "Name an object that the Kustomization's files make, with its namespace, or leave it out.",
	Says: "waits for %s (spec.healthChecks), %s",
	Then: "Flux gives up after %[3]s, and the Kustomization, and those that depend on it, are never ready: name an object that its files make, with its namespace, or leave it out",
	Run: func(s *judge.Scope) {
		q := lane.Sequence{Order: s.Order, Expectation: s.Expectation}
		for _, c := range s.Expectation.HealthChecks {
			why := neverHealthy(s.Expectation, c, q.DependsOn)
			if why == "" {
				continue
			}
			s.Report(kustomization(c.Kustomization), "spec.healthChecks", c.Object, why, timeout(c)).SetBy(c.Object.Name).
				At(result.Place{File: c.At.File, Line: c.At.Line}).Missing(c.Object).OneCause(c.Kustomization + c.Object.String())
		}
	},
}

// kustomization is a Kustomization of Flux, of which a cell has the objects in its place.
func kustomization(name string) *bundle.Object {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(infra.KustomizationGVR.GroupVersion().WithKind("Kustomization"))
	o.SetNamespace(infra.FluxNamespace)
	o.SetName(name)
	return &bundle.Object{Object: o}
}

func timeout(c fluxapi.Check) string {
	if c.Timeout == "" {
		return "spec.timeout"
	}
	return c.Timeout
}

// neverHealthy says why a check can never pass; empty if it can.
func neverHealthy(e *bundle.Expectation, c fluxapi.Check, before func(release, on string) bool) string {
	if c.Wrong != "" {
		return c.Wrong
	}
	ref := c.Object
	if !served(e, ref.Group, c.Version, ref.Kind) {
		return fmt.Sprintf("a kind that no cluster has in %s, and that nothing here defines", strings.TrimPrefix(ref.Group+"/"+c.Version, "/"))
	}
	release, there := makes(e, ref)
	if there {
		if release != "" && !slices.Contains(c.Releases, release) && slices.ContainsFunc(c.Releases, func(own string) bool { return before(release, own) }) {
			return fmt.Sprintf("which release %s makes, and that comes only once the Kustomization is ready: each waits for the other", release)
		}
		return ""
	}
	if atRunTime(e, ref) {
		return ""
	}
	if other := elsewhere(e, ref); other != "" {
		return fmt.Sprintf("which nothing makes; there is %s", other)
	}
	return "which nothing makes"
}

// served reports whether the API server of a cell has a kind.
func served(e *bundle.Expectation, group, version, kind string) bool {
	in := strings.TrimPrefix(group+"/"+version, "/")
	all := e.Served()
	for _, o := range e.Applied {
		all = append(all, apis.ServedBy(o)...)
	}
	return strings.HasSuffix(group, ".toolkit.fluxcd.io") || slices.ContainsFunc(all, func(a bundle.API) bool {
		return a.Name == in+"/"+kind || a.Name == in && !a.Watched // of an APIService, whose kinds are not known
	})
}

// makes reports whether the bundle makes an object, and by which release.
func makes(e *bundle.Expectation, ref result.Ref) (release string, there bool) {
	for i := range e.Objects {
		if o := &e.Objects[i]; o.Ref() == ref {
			return o.Release, true
		}
	}
	if slices.ContainsFunc(e.Made, func(o bundle.Object) bool { return o.Ref() == ref }) {
		return "", true
	}
	if slices.ContainsFunc(e.Applied, func(o *unstructured.Unstructured) bool { return (&bundle.Object{Object: o}).Ref() == ref }) {
		return "", true
	}
	for _, d := range e.Delivered {
		if d.Ref == ref {
			return d.Name, true
		}
	}
	return "", false
}

// elsewhere is the object of the same kind and name in another namespace; empty if there is none.
func elsewhere(e *bundle.Expectation, ref result.Ref) string {
	for i := range e.Objects {
		if other := e.Objects[i].Ref(); other.Group == ref.Group && other.Kind == ref.Kind && other.Name == ref.Name {
			return other.String()
		}
	}
	return ""
}

// atRunTime reports whether a controller may make an object that no file has: Kubernetes' own, or one of
// the bundle whose rights allow it.
func atRunTime(e *bundle.Expectation, ref result.Ref) bool {
	switch {
	case ref.Namespace == "kube-system", ref.Namespace == "kube-public": // of the cluster itself
		return true
	case ref.Group == "" && slices.Contains([]string{"Namespace", "ServiceAccount", "Endpoints", "Pod", "PersistentVolume", "Node"}, ref.Kind), ref.Kind == "EndpointSlice", ref.Kind == "ReplicaSet", ref.Kind == "APIService":
		return true
	case ref.Kind == "PersistentVolumeClaim" && slices.ContainsFunc(e.Workloads, func(w bundle.Workload) bool {
		return w.Kind == "StatefulSet" && w.Namespace == ref.Namespace && strings.Contains(ref.Name, "-"+w.Name+"-")
	}):
		return true
	}
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: ref.Group, Kind: ref.Kind})
	return slices.ContainsFunc(e.Workloads, func(w bundle.Workload) bool {
		return facts.TextMay(e, w.Namespace, w.PodSpec.ServiceAccountName, ref.Group, resource.Resource, "create")
	}) || slices.ContainsFunc(e.Objects, func(o bundle.Object) bool { return names(o.Object, ref.Name) })
}

// names reports whether a name may be one that an operator makes of a custom resource's own.
func names(o *unstructured.Unstructured, name string) bool {
	if !fluxapi.Custom(o.GroupVersionKind().Group) {
		return false
	}
	return name == o.GetName() || strings.HasPrefix(name, o.GetName()+"-")
}
