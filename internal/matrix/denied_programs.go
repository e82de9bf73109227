package matrix

// denied_programs.go says what programs of a recipe's pods may not do, and never could: an operator goes
// on trying, nothing waits for what it would have made, and the cell passes. It only makes sentences.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// deniedLines are a sentence each, with what the bundle binds the account to.
func deniedLines(all []infra.Denial, objects []bundle.Object) []string {
	var lines []string
	for _, d := range all {
		where := "in namespace " + d.Namespace
		if d.Namespace == "" {
			where = "in all namespaces"
		}
		roles := "; nothing in the recipe binds it to a role"
		if bound := rolesOf(d.Account, objects); len(bound) > 0 {
			roles = "; it has " + strings.Join(bound, ", ")
		}
		lines = append(lines, fmt.Sprintf("ServiceAccount %s may not %s %s %s: its program was denied it (%s), and never allowed%s", d.Account, d.Verb, d.Resource, where, lists.Count(d.Count, "time"), roles))
	}
	return lines
}

// rolesOf are the roles that a bundle binds an account to, each with its component.
func rolesOf(account string, objects []bundle.Object) []string {
	var all []string
	for _, o := range objects {
		switch o.Object.GetKind() {
		case "RoleBinding", "ClusterRoleBinding":
		default:
			continue
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object.Object, "subjects")
		if !slices.ContainsFunc(subjects, func(s any) bool {
			subject, _ := s.(map[string]any)
			namespace, _ := subject["namespace"].(string)
			name, _ := subject["name"].(string)
			return subject["kind"] == rbacv1.ServiceAccountKind && cmp.Or(namespace, o.Object.GetNamespace())+"/"+name == account
		}) {
			continue
		}
		kind, _, _ := unstructured.NestedString(o.Object.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(o.Object.Object, "roleRef", "name")
		if kind == "Role" {
			name = infra.NamespacedName(o.Object.GetNamespace(), name)
		}
		all = append(all, fmt.Sprintf("%s %s (%s)", kind, name, o.Component))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
