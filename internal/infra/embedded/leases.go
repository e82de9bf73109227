package embedded

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// dropNodeLeases removes the leases by which the kwok that was stopped held its nodes. The next one
// has another identity, which no flag sets, and would leave the pods on these nodes Pending until
// the leases run out, 40 s later.
func (c *ControlPlane) dropNodeLeases(ctx context.Context) error {
	clients, err := infra.NewClients(c.Kubeconfig())
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	if err := clients.Kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return reason.Wrap(reason.ClusterFailed, fmt.Errorf("keep cluster %s: remove the leases of its nodes: %w", c.name, err))
	}
	return nil
}
