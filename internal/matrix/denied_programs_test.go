package matrix

import (
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What an account is denied is said with its roles.
func TestLines(t *testing.T) {
	objects := []bundle.Object{
		{Component: "c", Object: testkit.Parsed(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: ns}, roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: a, namespace: ns}]}")},
		{Component: "c", Object: testkit.Parsed(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: all}, subjects: [{kind: ServiceAccount, name: a, namespace: ns}]}")},
		{Component: "c", Object: testkit.Parsed(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: other, namespace: ns}, roleRef: {kind: Role, name: other}, subjects: [{kind: User, name: a}, {kind: ServiceAccount, name: a, namespace: m}]}")},
	}
	got := deniedLines([]infra.Denial{
		{Account: "ns/a", Verb: "create", Resource: "configmaps", Namespace: "ns", Count: 4},
		{Account: "ns/b", Verb: "list", Resource: "nodes", Count: 1},
	}, objects)
	want := []string{
		"ServiceAccount ns/a may not create configmaps in namespace ns: its program was denied it (4 times), and never allowed; it has ClusterRole all (c), Role ns/r (c)",
		"ServiceAccount ns/b may not list nodes in all namespaces: its program was denied it (1 time), and never allowed; nothing in the recipe binds it to a role",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
