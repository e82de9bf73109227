package intact

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// leaving is the failure of namespaces of the recipe that are being deleted at its end, e.g. by a hook
// Job: all that was delivered to them is still there then, and goes. Reasons: DEPLOY_FAILED,
// CLUSTER_FAILED.
func leaving(ctx context.Context, kube kubernetes.Interface, e *bundle.Expectation) error {
	all, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, fmt.Errorf("list the namespaces: %w", err))
	}
	var found []result.Finding
	for i := range all.Items {
		n := &all.Items[i]
		if n.DeletionTimestamp == nil {
			continue
		}
		in := slices.IndexFunc(e.Objects, func(o bundle.Object) bool {
			return o.Object.GetNamespace() == n.Name || o.Object.GetKind() == "Namespace" && o.Object.GetName() == n.Name
		})
		if in < 0 {
			continue
		}
		f := result.Finding{
			Check:     namespaceLeaves.ID,
			Cause:     fmt.Sprintf("Namespace %s is being deleted, and with it goes what the recipe has delivered to it%s", n.Name, remaining(n)),
			Component: e.Objects[in].Component, Object: &result.Ref{Kind: "Namespace", Name: n.Name},
			Story: []string{"something that the recipe runs has deleted it, e.g. the program of a hook Job: remove that, or deliver to another namespace"},
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		return nil
	}
	return &reason.Error{Reason: reason.DeployFailed, Err: &result.Failure{Findings: found, Stage: result.StageApply}}
}

// remaining is what the namespace controller says of what keeps a namespace; empty if it has said nothing.
func remaining(n *corev1.Namespace) string {
	for _, c := range n.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			return ": " + c.Message
		}
	}
	return ""
}
