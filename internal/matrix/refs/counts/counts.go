// Package counts compares how many objects a bundle has with how many a ResourceQuota of the bundle
// allows. A quota that was created just before them refuses nothing until its controller has
// counted, so that a fast deployer gets all of them past it and the next change is refused.
// It must not know what the objects are for. Pods are for the API server to refuse.
package counts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// older are the resources that a quota counts without "count/", too.
// https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count
var older = []string{"configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services"}

// Find returns the quotas that allow fewer objects than are delivered to their namespace with them or
// after them. Hooks do not count: they may be gone before the next object comes. A quota with scopes
// counts pods only.
func Find(e *bundle.Expectation) []problem.Problem {
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		var quota corev1.ResourceQuota
		if o.Object.GetKind() != "ResourceQuota" || o.Hook || !problem.Read(o, &quota) || len(quota.Spec.Scopes) > 0 || quota.Spec.ScopeSelector != nil {
			continue
		}
		from := o.Ref()
		for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
			allowed := quota.Spec.Hard[name]
			names := counted(e, o, string(name))
			if n := int64(len(names)); n == 0 || n <= allowed.Value() {
				continue
			}
			found = append(found, problem.Problem{
				From: from, Component: o.Component, Template: o.Template, Name: string(name), Cause: fmt.Sprintf("count %s %s", from, name), Reason: reason.DeployFailed,
				Text: fmt.Sprintf("allows %s %s, and with it and after it %d are delivered to %s: %s", allowed.String(), name, len(names), quota.Namespace, strings.Join(lists.AtMost(names, 4), ", ")),
				Then: fmt.Sprintf("the API server refuses what comes once they are counted: raise spec.hard.%s", name),
			})
		}
	}
	return found
}

// counted names what the quota counts under a name of spec.hard: what is of the quota's release or of
// a later one, and the ConfigMap that every namespace has.
func counted(e *bundle.Expectation, quota *bundle.Object, name string) []string {
	resource, explicit := strings.CutPrefix(name, "count/")
	if !explicit && !slices.Contains(older, name) || resource == "pods" {
		return nil
	}
	first := release(e, quota)
	var names []string
	for i := range e.Objects {
		o := &e.Objects[i]
		plural, _ := meta.UnsafeGuessKindToResource(o.Object.GroupVersionKind())
		if plural.GroupResource().String() == resource && o.Object.GetNamespace() == quota.Object.GetNamespace() && !o.Hook && release(e, o) >= first {
			names = append(names, o.Object.GetName())
		}
	}
	if resource == "configmaps" && len(names) > 0 && !slices.Contains(names, rootCA) {
		names = append(names, rootCA)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rootCA is the ConfigMap that the controller manager puts into every namespace.
const rootCA = "kube-root-ca.crt"

func release(e *bundle.Expectation, o *bundle.Object) int {
	return slices.IndexFunc(e.Releases, func(r bundle.Release) bool { return r.Name == o.Release && r.Component == o.Component })
}
