package infra

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// SimulatedNodeAnnotation is on the nodes that KWOK simulates.
const SimulatedNodeAnnotation = "kwok.x-k8s.io/node"

// NodeGroup is simulated nodes that a cluster makes when pods fit on no node that it has, and would fit
// on one of these.
type NodeGroup struct {
	// Name is unique in the cluster, a DNS label: NODETYPE-GROUP.
	Name string
	// Most is how many nodes may be made; above 0.
	Most int
	// Min and Max are how many the group has from the start and at most, those among them that are no part of Most.
	Min, Max int
	// Origin is file:line of Max.
	Origin string
	// Node is what each is like. It has the first of the Zones, and its name is not that of a node.
	Node *corev1.Node
	// Zones are where the nodes may be, the first unless pods ask for another.
	Zones []string
}

// NodeFollower follows the nodes of a cluster: to list thousands of them again and again would cost
// more than to make them.
type NodeFollower struct {
	stop     context.CancelFunc
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer

	mu  sync.Mutex
	err error // of the last list or watch that failed
}

// FollowNodes watches the nodes until Stop is called or ctx ends.
func FollowNodes(ctx context.Context, kube kubernetes.Interface) *NodeFollower {
	ctx, stop := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTransform(healthOnly))
	f := &NodeFollower{stop: stop, factory: factory, informer: factory.Core().V1().Nodes().Informer()}
	// It is only an error to set it once the informer runs.
	_ = f.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = err
	})
	factory.StartWithContext(ctx)
	return f
}

// Stop ends it, and returns when nothing of it runs any more.
func (f *NodeFollower) Stop() {
	f.stop()
	f.factory.Shutdown()
}

// Nodes are the nodes by name, only with their taints and conditions. The error is that of listing
// them, if that has not succeeded yet.
func (f *NodeFollower) Nodes() (map[string]*corev1.Node, error) {
	if !f.informer.HasSynced() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.err == nil {
			return nil, errors.New("no answer yet")
		}
		return nil, f.err
	}
	all := map[string]*corev1.Node{}
	for _, o := range f.informer.GetStore().List() {
		if n, ok := o.(*corev1.Node); ok {
			all[n.Name] = n
		}
	}
	return all, nil
}

// healthOnly keeps of a node what NodeReady reads, and its other conditions. The rest is several
// KiB.
func healthOnly(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, ResourceVersion: n.ResourceVersion, UID: n.UID},
		Spec:       corev1.NodeSpec{Taints: n.Spec.Taints},
		Status:     corev1.NodeStatus{Conditions: n.Status.Conditions},
	}, nil
}
