package rendering

import (
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// runsAtUpgrade reports whether Helm runs a hook at upgrades.
func runsAtUpgrade(h *helmrelease.Hook) bool {
	return slices.Contains(h.Events, helmrelease.HookPreUpgrade) || slices.Contains(h.Events, helmrelease.HookPostUpgrade)
}

// upgradeHooks are the objects of hooks that Helm runs at upgrades. One that cannot be read is left out:
// it may be rendered at upgrades only.
func upgradeHooks(hooks []*helmrelease.Hook) (all []Object) {
	for _, h := range hooks {
		if !runsAtUpgrade(h) {
			continue
		}
		objs, err := Parse(h.Manifest, h.Path)
		if err != nil {
			continue
		}
		for _, o := range objs {
			o.Hook = true
			all = append(all, o)
		}
	}
	return all
}

// definitionJob names the hook Job of an upgrade whose ServiceAccount may write
// CustomResourceDefinitions: charts bring one since Helm does not upgrade what is in crds/. Empty if
// there is none.
func definitionJob(hooks, manifest []Object) string {
	all := slices.Concat(manifest, hooks)
	for _, o := range hooks {
		account, _, _ := unstructured.NestedString(o.Unstructured.Object, "spec", "template", "spec", "serviceAccountName")
		if o.Unstructured.GetKind() == "Job" && writesDefinitions(account, all) {
			return o.Unstructured.GetName()
		}
	}
	return ""
}

// writesDefinitions reports whether a ServiceAccount is bound to a ClusterRole that may.
func writesDefinitions(account string, all []Object) bool {
	may := map[string]bool{}
	for _, o := range all {
		var role rbacv1.ClusterRole
		if o.Unstructured.GetKind() == "ClusterRole" && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Unstructured.Object, &role) == nil {
			may[role.Name] = slices.ContainsFunc(role.Rules, MayChangeDefinitions)
		}
	}
	return slices.ContainsFunc(all, func(o Object) bool {
		var binding rbacv1.ClusterRoleBinding
		if o.Unstructured.GetKind() != "ClusterRoleBinding" || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Unstructured.Object, &binding) != nil || !may[binding.RoleRef.Name] {
			return false
		}
		return slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool {
			return strings.EqualFold(s.Kind, "ServiceAccount") && s.Name == account
		})
	})
}

// MayChangeDefinitions reports whether a rule allows changes of CustomResourceDefinitions.
func MayChangeDefinitions(r rbacv1.PolicyRule) bool {
	has := func(list []string, names ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return s == "*" || slices.Contains(names, s) })
	}
	return has(r.APIGroups, "apiextensions.k8s.io") && has(r.Resources, "customresourcedefinitions") && has(r.Verbs, "update", "patch")
}
