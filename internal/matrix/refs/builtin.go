package refs

// builtin.go finds the objects of a bundle that every cluster has already, since Kubernetes
// itself makes them. Helm refuses to take over such an object; Argo CD and Flux replace it, and a
// cluster whose scheduler has lost its role works on here only by chance.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// bootstrapped is the label of the roles and bindings that the API server makes when it starts.
const bootstrapped = "kubernetes.io/bootstrapping"

// findBuiltIn returns the objects of a bundle that are Kubernetes' own. Charts have roles of their own whose
// names begin with system: (metrics-server does), so that the cluster is asked for those.
func findBuiltIn(ctx context.Context, e *bundle.Expectation, kube kubernetes.Interface) ([]problem.Problem, error) {
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		by, err := madeBy(ctx, o, kube)
		if err != nil {
			return nil, err
		}
		if by == "" {
			continue
		}
		p := problem.Of(o)
		p.Reason, p.Cause = reason.DeployFailed, "built in "+p.From.String()
		p.Text = fmt.Sprintf("is Kubernetes' own: %s", by)
		p.Then = "Helm refuses to take it over, and Argo CD and Flux replace it for the whole cluster: leave it out, or give it another name"
		found = append(found, p)
	}
	return found, nil
}

// madeBy says what makes an object; empty if that is the recipe alone.
func madeBy(ctx context.Context, o *bundle.Object, kube kubernetes.Interface) (string, error) {
	name, namespace := o.Object.GetName(), o.Object.GetNamespace()
	gk := o.Object.GroupVersionKind().GroupKind()
	switch gk.String() {
	case "ConfigMap":
		switch {
		case name == "kube-root-ca.crt":
			return "the controller manager writes it into every namespace", nil
		case name == "extension-apiserver-authentication" && namespace == metav1.NamespaceSystem:
			return "the API server writes it in every cluster", nil
		}
	case "Service":
		if name == "kubernetes" && namespace == metav1.NamespaceDefault {
			return "the API server makes it in every cluster", nil
		}
	}
	if gk.Group != "rbac.authorization.k8s.io" || !strings.HasPrefix(name, "system:") && !slices.Contains([]string{"cluster-admin", "admin", "edit", "view"}, name) {
		return "", nil
	}
	var live metav1.Object
	var err error
	switch rbac := kube.RbacV1(); gk.Kind {
	case "ClusterRole":
		live, err = rbac.ClusterRoles().Get(ctx, name, metav1.GetOptions{})
	case "ClusterRoleBinding":
		live, err = rbac.ClusterRoleBindings().Get(ctx, name, metav1.GetOptions{})
	case "Role":
		live, err = rbac.Roles(namespace).Get(ctx, name, metav1.GetOptions{})
	case "RoleBinding":
		live, err = rbac.RoleBindings(namespace).Get(ctx, name, metav1.GetOptions{})
	default:
		return "", nil
	}
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", reason.New(reason.ClusterFailed, "read %s %s: %w", gk.Kind, name, err)
	case live.GetLabels()[bootstrapped] == "":
		return "", nil
	}
	return "the API server makes it in every cluster", nil
}
