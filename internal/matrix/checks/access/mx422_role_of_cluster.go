package access

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var roleOfCluster = judge.Check{
	ID: "MX422", Name: "cluster-resource-in-a-role", Needs: judge.Rendered, Kinds: judge.KindsOf(rbacv1.GroupName, "Role"),
	Title: "A Role permits what is in its namespace",
	Why: "A Role permits requests in its namespace, and a request for a resource that has none is in no namespace " +
		"(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#role-and-clusterrole). No simulated pod asks for anything. Rules for resources of both kinds are left alone.",
	Fix:  "Use a ClusterRole and a ClusterRoleBinding for it.",
	Says: "permits %s in a namespace, and they are in none", Then: "the API server refuses its subjects what the rule was to permit: that takes a ClusterRole and a ClusterRoleBinding",
	Run: func(s *judge.Scope) {
		eachRule(s, func(o *bundle.Object, i int, rule *rbacv1.PolicyRule) {
			if len(rule.Resources) > 0 && !slices.ContainsFunc(rule.Resources, func(name string) bool { return !ofTheCluster(rule.APIGroups, name) }) {
				s.Report(o, fmt.Sprintf("rules[%d].resources", i), strings.Join(rule.Resources, ", "))
			}
		}, "Role")
	},
}

// clusterResources are Kubernetes' own resources without a namespace, by API group (kubectl api-resources --namespaced=false).
// A request for one Namespace is in that namespace, so that a Role can permit it.
var clusterResources = map[string][]string{
	"":                             {"nodes", "persistentvolumes"},
	"apiextensions.k8s.io":         {"customresourcedefinitions"},
	"rbac.authorization.k8s.io":    {"clusterroles", "clusterrolebindings"},
	"storage.k8s.io":               {"storageclasses", "csidrivers", "csinodes", "volumeattachments"},
	"scheduling.k8s.io":            {"priorityclasses"},
	"node.k8s.io":                  {"runtimeclasses"},
	"admissionregistration.k8s.io": {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
	"apiregistration.k8s.io":       {"apiservices"},
	"resource.k8s.io":              {"deviceclasses", "resourceslices"},
}

// ofTheCluster reports whether a resource, of all of these groups, has no namespace.
func ofTheCluster(groups []string, name string) bool {
	name, _, _ = strings.Cut(name, "/")
	return len(groups) > 0 && !slices.ContainsFunc(groups, func(g string) bool { return !slices.Contains(clusterResources[g], name) })
}
