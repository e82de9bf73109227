// Package simulate does what a cluster of simulated nodes lacks: nodes, storage, and stand-ins for operators and aggregated APIs. It needs
// only the clients of a cluster. It must not know which platform made the cluster, or what a lane is.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/lists"
	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/wait"
)

const (
	nodesAtATime = 16 // requests in flight; more would gain little against one API server
	namedNodes   = 6  // named in the reason for waiting; the others are counted
)

// readyBudget is the time that nodes have to become Ready: 60 s, and for each node beyond the first hundred another 100 ms. KWOK makes 50 to 100 a second
// Ready on two cores, so that the number of nodes alone is no reason to fail.
func readyBudget(nodes int) time.Duration {
	return 60*time.Second + time.Duration(max(nodes-100, 0))*100*time.Millisecond
}

// EnsureNodes creates the nodes that are not there yet, side by side, and waits until KWOK has made all of them Ready, 60 s for up to a hundred and
// longer for more. After an error no further node is created. Errors are NODES_FAILED and name one node, the first in the list that failed.
func EnsureNodes(ctx context.Context, c *infra.Clients, nodes []*corev1.Node) error {
	if err := createNodes(ctx, c, nodes); err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	seen := followNodes(following, c.Kube)
	defer seen.shutdown()
	defer stop()
	err := wait.For(ctx, fmt.Sprintf("%d nodes to be Ready", len(nodes)), wait.Options{Budget: readyBudget(len(nodes))}, func(context.Context) wait.Result {
		ready, err := seen.ready()
		if err != nil {
			return wait.NotYet("list nodes: %v", err)
		}
		var lacking []string
		for _, n := range nodes {
			if !ready[n.Name] {
				lacking = append(lacking, n.Name)
			}
		}
		if len(lacking) > 0 {
			return wait.NotYet("not Ready: %s", strings.Join(lists.AtMost(lacking, namedNodes), ", "))
		}
		return wait.Done()
	})
	return reason.Wrap(reason.NodesFailed, err)
}

// nodesSeen follows the nodes of a cluster: to list thousands of them again and again would cost more than to make them.
type nodesSeen struct {
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer

	mu  sync.Mutex
	err error // of the last list or watch that failed
}

// followNodes begins, until ctx ends.
func followNodes(ctx context.Context, kube kubernetes.Interface) *nodesSeen {
	f := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTransform(conditionsOnly))
	s := &nodesSeen{factory: f, informer: f.Core().V1().Nodes().Informer()}
	// It is only an error to set it once the informer runs.
	_ = s.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	})
	f.StartWithContext(ctx)
	return s
}

// shutdown waits until nothing of it runs any more; its context has ended.
func (s *nodesSeen) shutdown() { s.factory.Shutdown() }

// ready are the nodes that are Ready. The error is why they could not be listed yet.
func (s *nodesSeen) ready() (map[string]bool, error) {
	if !s.informer.HasSynced() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			return nil, errors.New("no answer yet")
		}
		return nil, s.err
	}
	ready := map[string]bool{}
	for _, o := range s.informer.GetStore().List() {
		if n, ok := o.(*corev1.Node); ok {
			ready[n.Name] = infra.NodeReady(n)
		}
	}
	return ready, nil
}

// conditionsOnly keeps of a node what tells whether it is Ready. The rest is several KiB.
func conditionsOnly(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, ResourceVersion: n.ResourceVersion, UID: n.UID},
		Status:     corev1.NodeStatus{Conditions: n.Status.Conditions},
	}, nil
}

// createNodes does not cancel what is in flight when a node fails, so that the error is that node's and not a cancellation.
func createNodes(ctx context.Context, c *infra.Clients, nodes []*corev1.Node) error {
	errs := make([]error, len(nodes))
	var failed atomic.Bool
	var group errgroup.Group
	group.SetLimit(nodesAtATime)
	for i, n := range nodes {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			_, err := c.Kube.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				err = sameNode(ctx, c, n)
			}
			if err != nil {
				errs[i] = reason.New(reason.NodesFailed, "create node %s: %w", n.Name, err)
				failed.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // each node's error is in errs
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sameNode is an error if the node that is there was made of another profile: what is scheduled on it would say nothing about the
// recipe's nodes (faults F24).
func sameNode(ctx context.Context, c *infra.Clients, want *corev1.Node) error {
	have, err := c.Kube.CoreV1().Nodes().Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for label, value := range want.Labels {
		if have.Labels[label] != value {
			return fmt.Errorf("it is there already with %s=%q instead of %q, for another recipe; make the nodes on a new cluster", label, have.Labels[label], value)
		}
	}
	return nil
}
