package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// furnish installs what every cell needs: KWOK, the recipe's nodes, storage and the registry.
func (c *cluster) furnish(ctx context.Context) error {
	base, err := baseObjects(c.platform.RegistryImage, c.platform.Stages)
	if err != nil {
		return reason.Wrap(reason.Internal, err)
	}
	loaded, gctx := errgroup.WithContext(ctx)
	loaded.Go(func() error { return c.loadImages(gctx, append(imagesOf(base), c.platform.jobImages()...)) })
	loaded.Go(func() error { return reason.Wrap(reason.ClusterFailed, c.hostNode(gctx)) })
	loaded.Go(func() error { return reason.Wrap(reason.ClusterFailed, c.ownStorage(gctx)) })
	if err := loaded.Wait(); err != nil {
		return err
	}
	if err := c.applyAll(ctx, base); err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := c.waitPods(gctx, kwokNamespace, 120*time.Second); err != nil {
			return reason.Wrap(reason.NodesFailed, fmt.Errorf("start KWOK: %w", err))
		}
		if err := c.waitDNSPlaced(gctx); err != nil {
			return reason.Wrap(reason.ClusterFailed, err)
		}
		return simulate.EnsureNodes(gctx, c.clients, c.nodes())
	})
	group.Go(func() error { return simulate.EnsureStorage(gctx, c.clients, c.nodes()) })
	group.Go(func() error { return c.registry.Start(gctx) })
	group.Go(func() error { return reason.Wrap(reason.ClusterFailed, c.waitDNS(gctx)) })
	group.Go(func() error { return reason.Wrap(reason.ClusterFailed, c.guardHost(gctx)) })
	if err := group.Wait(); err != nil {
		return err
	}
	return c.remember(ctx)
}

// nodes are the recipe's, with the label that hostPolicies select by.
func (c *cluster) nodes() []*corev1.Node {
	var all []*corev1.Node
	for _, n := range c.spec.Nodes {
		n = n.DeepCopy()
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		maps.Copy(n.Labels, NodeLabels())
		all = append(all, n)
	}
	return all
}

// hostNode waits for the real node, taints it as a control plane, which kind does not do where
// there is no other node, and keeps the cluster's own DaemonSets on it: kindnet and kube-proxy
// tolerate everything, and have nothing to do on simulated nodes.
func (c *cluster) hostNode(ctx context.Context) error {
	taint := []byte(`{"spec":{"taints":[{"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"}]}}`)
	name := c.node.String()
	err := wait.For(ctx, "the node of Kind cluster "+c.Name(), wait.Options{Budget: 120 * time.Second}, func(ctx context.Context) wait.Result {
		n, err := c.clients.Kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if !infra.NodeReady(n) {
			return wait.NotYet("node %s is not Ready; the kubelet's log is in the debug artifacts (--artifacts)", name)
		}
		if _, err = c.clients.Kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, taint, metav1.PatchOptions{}); err != nil {
			return wait.NotYet("taint node %s: %v", name, err)
		}
		return wait.Done()
	})
	if err != nil {
		return err
	}
	sets, err := c.clients.Kube.AppsV1().DaemonSets(systemNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the DaemonSets of %s: %w", systemNamespace, err)
	}
	pin := []byte(fmt.Sprintf(`{"spec":{"template":{"spec":{"nodeSelector":{%q:"true"}}}}}`, infra.HostNodeLabel))
	for _, s := range sets.Items {
		if _, err := c.clients.Kube.AppsV1().DaemonSets(systemNamespace).Patch(ctx, s.Name, types.StrategicMergePatchType, pin, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("keep DaemonSet %s on the real node: %w", s.Name, err)
		}
	}
	return nil
}

// waitDNSPlaced waits until the DNS's pods have the real node, since they tolerate simulated ones,
// too.
func (c *cluster) waitDNSPlaced(ctx context.Context) error {
	return wait.For(ctx, "the DNS of Kind cluster "+c.Name()+" to be placed", wait.Options{Budget: 120 * time.Second, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
		pods, err := c.clients.Kube.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		for _, p := range pods.Items {
			if p.Spec.NodeName == "" {
				return wait.NotYet("pod %s has no node", p.Name)
			}
		}
		if len(pods.Items) == 0 {
			return wait.NotYet("it has no pods")
		}
		return wait.Done()
	})
}

// waitDNS waits until names are resolved: the controllers find the registry, and each other, by
// name.
func (c *cluster) waitDNS(ctx context.Context) error {
	return wait.For(ctx, "the DNS of Kind cluster "+c.Name(), wait.Options{Budget: 120 * time.Second}, func(ctx context.Context) wait.Result {
		d, err := c.clients.Kube.AppsV1().Deployments(systemNamespace).Get(ctx, dnsDeployment, metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if d.Status.AvailableReplicas == 0 {
			return wait.NotYet("no pod of Deployment %s/%s is available", systemNamespace, dnsDeployment)
		}
		return wait.Done()
	})
}

// ownStorage removes kind's provisioner and its class: it would start pods on simulated nodes to
// make a directory. The class of the same name that simulate.EnsureStorage makes is served by a
// KWOK stage, as on the embedded platform.
func (c *cluster) ownStorage(ctx context.Context) error {
	err := errors.Join(
		c.clients.Kube.AppsV1().Deployments("local-path-storage").Delete(ctx, "local-path-provisioner", metav1.DeleteOptions{}),
		c.clients.Kube.StorageV1().StorageClasses().Delete(ctx, "standard", metav1.DeleteOptions{}),
	)
	if err != nil && !onlyNotFound(err) {
		return fmt.Errorf("remove kind's own storage: %w", err)
	}
	return nil
}

func onlyNotFound(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !apierrors.IsNotFound(e) {
				return false
			}
		}
		return true
	}
	return apierrors.IsNotFound(err)
}

// applyAll applies objects in their order; their CRDs must be established.
func (c *cluster) applyAll(ctx context.Context, objs []*unstructured.Unstructured) error {
	for _, o := range objs {
		if err := c.clients.Apply(ctx, infra.ResourceFor(o.GroupVersionKind()), o); err != nil {
			return err
		}
	}
	return nil
}
