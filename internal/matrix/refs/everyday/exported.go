package everyday

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// exported warns of what the API server gives an object, in a manifest that was read from a cluster: Helm 3
// leaves it out or has it ignored, and an apply on the server's side is refused.
func (f *finder) exported(o *bundle.Object) {
	for _, field := range []string{"uid", "resourceVersion", "managedFields"} {
		if v, has, _ := unstructured.NestedFieldNoCopy(o.Object.Object, "metadata", field); !has || v == nil || v == "" {
			continue
		}
		p := problem.Of(o)
		p.Name, p.Text = field, "has metadata."+field+", as an object that was read from a cluster"
		p.Then = "Helm 3 installs it, and what applies on the server's side is rejected (Helm 4, and controllers that do so)"
		f.found = append(f.found, p)
		return // the others are there for the same reason
	}
}

// versioned warns of a rule for an API group that is written with a version: it allows nothing.
func (f *finder) versioned(o *bundle.Object) {
	var role rbacv1.ClusterRole
	if !problem.Read(o, &role) {
		return
	}
	for _, rule := range role.Rules {
		i := slices.IndexFunc(rule.APIGroups, func(g string) bool { return g == "v1" || strings.Contains(g, "/") })
		if i < 0 {
			continue
		}
		group, _, ok := strings.Cut(rule.APIGroups[i], "/")
		if !ok {
			group = ""
		}
		p := problem.Of(o)
		p.Name, p.Text, p.Then = rule.APIGroups[i], "has a rule for API group "+rule.APIGroups[i]+"; groups have no version, and this one is \""+group+"\"", "the rule allows nothing"
		f.found = append(f.found, p)
	}
}
