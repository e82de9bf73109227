package kind

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// registry is the cluster's registry, a pod. Its data is on the node, so that it is still there
// after a restart.
type registry struct {
	cluster *cluster
	port    int // on this machine
}

var _ infra.Registry = (*registry)(nil)

// registryHost is the registry as pods reach it.
const registryHost = "registry." + registryNamespace + ".svc.cluster.local:5000"

func (r *registry) PushHost() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)) }
func (r *registry) PullHost() string { return registryHost }

// Start waits for the pod, at most 120 s, and for the port on this machine, at most 60 s. Reasons:
// REGISTRY_NOT_READY, REGISTRY_UNREACHABLE.
func (r *registry) Start(ctx context.Context) error {
	if err := r.scale(ctx, 1); err != nil {
		return reason.Wrap(reason.RegistryNotReady, err)
	}
	if err := r.cluster.waitPods(ctx, registryNamespace, 120*time.Second); err != nil {
		return reason.Wrap(reason.RegistryNotReady, fmt.Errorf("start the registry: %w", err))
	}
	if err := infra.WaitRegistry(ctx, r.PushHost()); err != nil {
		return reason.Wrap(reason.RegistryUnreachable, fmt.Errorf("%w. The registry's pod is ready, so the way from this machine is at fault: another program has port %d, the cluster lacks the port mapping, or a firewall is in between (docker port %s)", err, r.port, r.cluster.node))
	}
	return nil
}

// Stop ends the pod.
func (r *registry) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := r.scale(ctx, 0)
	if err == nil {
		now := int64(0)
		err = r.cluster.clients.Kube.CoreV1().Pods(registryNamespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	}
	if err != nil {
		r.cluster.spec.Log.Error("stop the registry", "err", err)
	}
}

func (r *registry) scale(ctx context.Context, replicas int) error {
	patch := []byte(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	if _, err := r.cluster.clients.Kube.AppsV1().Deployments(registryNamespace).Patch(ctx, "registry", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("scale the registry to %d: %w", replicas, err)
	}
	return nil
}
