package intact

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// refusedNode tries what a kubelet reports of its node, its status and its lease: without them Kubernetes takes
// the node for dead within a minute, which is longer than a cell lives. One node stands for all.
func refusedNode(ctx context.Context, kube kubernetes.Interface, as accounts, e *bundle.Expectation, name string) (all []refusal, err error) {
	kubelet, err := as.kubelet(name)
	if err != nil {
		return nil, err
	}
	leases := corev1.NamespaceNodeLease
	for _, answer := range []error{
		resend(ctx, kube.CoreV1().Nodes().Get, kubelet.CoreV1().Nodes().UpdateStatus, name),
		resend(ctx, kube.CoordinationV1().Leases(leases).Get, kubelet.CoordinationV1().Leases(leases).Update, name),
	} {
		why := reasonOf(answer)
		if why == "" {
			continue
		}
		if by := blamed(e, "", why); by != nil {
			all = append(all, refusal{of: result.Ref{Kind: "Node", Name: name}, component: by.Component, what: "what its kubelet reports next, without which Kubernetes takes it for dead", why: why, then: unreported, check: &reportDenied})
		}
	}
	return all, nil
}
