package refs

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What Kubernetes makes is not a recipe's, also where a chart's own role has a name of the same kind.
func TestFind(t *testing.T) {
	own := map[string]string{bootstrapped: "rbac-defaults"}
	kube := fake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin", Labels: own}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:of-the-recipe"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "system:kube-scheduler", Labels: own}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "system:controller:token-cleaner", Namespace: "kube-system", Labels: own}},
	)
	rbac := func(kind, meta string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: {" + meta + "}"
	}
	for text, want := range map[string]string{
		rbac("ClusterRole", "name: cluster-admin"):                                                                      "is Kubernetes' own: the API server makes it in every cluster",
		rbac("ClusterRoleBinding", `name: "system:kube-scheduler"`):                                                     "is Kubernetes' own",
		rbac("Role", `name: "system:controller:token-cleaner", namespace: kube-system`):                                 "is Kubernetes' own",
		rbac("Role", `name: "system:controller:token-cleaner", namespace: other`):                                       "",
		rbac("ClusterRole", `name: "system:metrics-server"`):                                                            "",
		rbac("ClusterRole", `name: "system:of-the-recipe"`):                                                             "",
		rbac("ClusterRole", "name: viewer"):                                                                             "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt, namespace: b}":                             "the controller manager writes it into every namespace",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extension-apiserver-authentication, namespace: b}":           "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extension-apiserver-authentication, namespace: kube-system}": "the API server writes it",
		"apiVersion: v1\nkind: Service\nmetadata: {name: kubernetes, namespace: default}":                               "the API server makes it",
		"apiVersion: v1\nkind: Service\nmetadata: {name: kubernetes, namespace: b}":                                     "",
	} {
		found, err := findBuiltIn(t.Context(), &bundle.Expectation{Objects: []bundle.Object{{Object: testkit.Parsed(t, text)}}}, kube)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range found {
			got += p.Text
		}
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
