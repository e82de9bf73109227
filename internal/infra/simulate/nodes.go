// Package simulate does what a cluster of simulated nodes lacks: nodes, storage, and stand-ins for
// operators and aggregated APIs. It needs only the clients of a cluster. It must not know which
// platform made the cluster, or what a lane is.
package simulate

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

const (
	nodesAtATime = 16 // requests in flight; more would gain little against one API server
	namedNodes   = 6  // named in the reason for waiting; the others are counted
)

// readyBudget is the time that nodes have to become Ready: 60 s, and for each node beyond the first
// hundred another 100 ms. KWOK makes 50 to 100 a second Ready on two cores, so that the number of
// nodes alone is no reason to fail.
func readyBudget(nodes int) time.Duration {
	return 60*time.Second + time.Duration(max(nodes-100, 0))*100*time.Millisecond
}

// EnsureNodes creates the nodes that are not there yet, side by side, and waits until KWOK has made
// all of them Ready, 60 s for up to a hundred and longer for more. After an error no further node
// is created. Errors are NODES_FAILED and name one node, the first in the list that failed.
func EnsureNodes(ctx context.Context, c *infra.Clients, nodes []*corev1.Node) error {
	if err := createNodes(ctx, c, nodes); err != nil {
		return err
	}
	follower := infra.FollowNodes(ctx, c.Kube)
	defer follower.Stop()
	err := wait.For(ctx, lists.Count(len(nodes), "node")+" to be Ready", wait.Options{Budget: readyBudget(len(nodes))}, func(context.Context) wait.Result {
		have, err := follower.Nodes()
		if err != nil {
			return wait.NotYet("list nodes: %v", err)
		}
		var lacking []string
		for _, n := range nodes {
			if have[n.Name] == nil || !infra.NodeReady(have[n.Name]) {
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

// createNodes does not cancel what is in flight when a node fails, so that the error is that node's
// and not a cancellation.
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

// sameNode is an error if the node that is there was made of another profile: what is scheduled on
// it would say nothing about the recipe's nodes (faults F24).
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
