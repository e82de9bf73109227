package delivery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// No dry run can say it: the API server counts the objects that exist, and a dry run keeps none.
var quotaOfObjects = judge.Check{
	ID: "MX557", Name: "quota-allows-too-few-objects", Needs: judge.Rendered, Kinds: judge.KindsOf("", "ResourceQuota"), Gives: reason.DeployFailed,
	Title: "A ResourceQuota allows as many objects as are delivered with it and after it",
	Why: "A quota counts objects of its namespace (https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count). One that was just created refuses nothing until its controller has counted, " +
		"so that a fast deployer gets all of them past it, and the next change is refused. Hooks do not count: they may be gone by then.",
	Fix:  "Raise spec.hard.",
	Says: "allows %s %s, and with it and after it %d are delivered to %s: %s", Then: "the API server refuses what comes once they are counted: raise spec.hard.%[2]s",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			if o.Object.GetKind() != "ResourceQuota" || o.Hook {
				continue
			}
			quota := facts.As[corev1.ResourceQuota](s.Index, o)
			if quota == nil || len(quota.Spec.Scopes) > 0 || quota.Spec.ScopeSelector != nil { // with scopes it counts pods only
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
				allowed := quota.Spec.Hard[name]
				names := counted(s.Expectation, o, string(name))
				if n := int64(len(names)); n > 0 && n > allowed.Value() {
					s.Report(o, `spec.hard["`+string(name)+`"]`, allowed.String(), name, n, quota.Namespace, strings.Join(lists.AtMost(names, 4), ", ")).
						SetBy(string(name)).OneCause(fmt.Sprintf("%s %s", o.Ref(), name))
				}
			}
		}
	},
}

// older are the resources that a quota counts without "count/", too.
var older = []string{"configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services"}

// rootCA is the ConfigMap that the controller manager puts into every namespace.
const rootCA = "kube-root-ca.crt"

// counted names what the quota counts under a name of spec.hard: what is of the quota's release or of
// a later one, and the ConfigMap that every namespace has. Pods are for the API server to refuse.
func counted(e *bundle.Expectation, quota *bundle.Object, name string) []string {
	resource, explicit := strings.CutPrefix(name, "count/")
	if !explicit && !slices.Contains(older, name) || resource == "pods" {
		return nil
	}
	release := func(o *bundle.Object) int {
		return slices.IndexFunc(e.Releases, func(r bundle.Release) bool { return r.Name == o.Release && r.Component == o.Component })
	}
	first := release(quota)
	var names []string
	for i := range e.Objects {
		o := &e.Objects[i]
		plural, _ := meta.UnsafeGuessKindToResource(o.Object.GroupVersionKind())
		if plural.GroupResource().String() == resource && o.Object.GetNamespace() == quota.Object.GetNamespace() && !o.Hook && release(o) >= first {
			names = append(names, o.Object.GetName())
		}
	}
	if resource == "configmaps" && len(names) > 0 && !slices.Contains(names, rootCA) {
		names = append(names, rootCA)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
