package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

const (
	virtualNodesAtATime = 16 // requests in flight; more gain little against one API server
	virtualNodesNamed   = 4  // nodes that a reason for waiting names; the others are counted
)

// EnsureVirtualNodes creates the nodes, updates existing ones, and waits within the budget until KWOK has made
// all of them Ready, with their conditions. An existing node of the same name that KWOK does not
// simulate is an error, and stays as it is. Ensure returns the names of those that it created, also
// with an error.
func EnsureVirtualNodes(ctx context.Context, c *infra.Clients, nodes []*corev1.Node, budget time.Duration, changed func(why string)) (created []string, err error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	bounded, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	var mu sync.Mutex
	group, gctx := errgroup.WithContext(bounded)
	group.SetLimit(virtualNodesAtATime)
	for _, n := range nodes {
		group.Go(func() error {
			_, err := c.Kube.CoreV1().Nodes().Create(gctx, n, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return update(gctx, c, n)
			}
			if err != nil {
				return fmt.Errorf("create node %s: %w", n.Name, err)
			}
			mu.Lock()
			created = append(created, n.Name)
			mu.Unlock()
			return nil
		})
	}
	start := time.Now()
	if err := group.Wait(); err != nil {
		return created, err
	}
	follower := infra.FollowNodes(ctx, c.Kube)
	defer follower.Stop()
	what := lists.Count(len(nodes), "virtual node") + " to be Ready"
	return created, wait.For(ctx, what, wait.Options{Budget: max(budget-time.Since(start), time.Second), Interval: 300 * time.Millisecond, Changed: changed}, func(context.Context) wait.Result {
		have, err := follower.Nodes()
		if err != nil {
			return wait.NotYet("list nodes: %v", err)
		}
		var lacking []string
		for _, n := range nodes {
			if why := lacks(have[n.Name], n); why != "" {
				lacking = append(lacking, n.Name+" "+why)
			}
		}
		if len(lacking) > 0 {
			return wait.NotYet("%d of %d are not: %s", len(lacking), len(nodes), strings.Join(lists.AtMost(lacking, virtualNodesNamed), ", "))
		}
		return wait.Done()
	})
}

// lacks returns what a node is missing; "" for nothing.
func lacks(have, want *corev1.Node) string {
	if have == nil {
		return "does not exist"
	}
	if !infra.NodeReady(have) {
		return "is not Ready; does KWOK run in this cluster?"
	}
	for _, c := range want.Status.Conditions {
		found := false
		for _, h := range have.Status.Conditions {
			found = found || h.Type == c.Type && h.Status == c.Status
		}
		if !found {
			return fmt.Sprintf("lacks the condition %s=%s", c.Type, c.Status)
		}
	}
	return ""
}

// update updates an existing virtual node.
func update(ctx context.Context, c *infra.Clients, want *corev1.Node) error {
	have, err := c.Kube.CoreV1().Nodes().Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %s: %w", want.Name, err)
	}
	if have.Annotations[fakeNode] == "" {
		return fmt.Errorf("node %s exists and is not simulated: it lacks the annotation %s. It was not changed; use another type name", want.Name, fakeNode)
	}
	meta := map[string]any{"metadata": map[string]any{"labels": want.Labels, "annotations": want.Annotations}}
	status := map[string]any{"status": map[string]any{"capacity": want.Status.Capacity, "allocatable": want.Status.Allocatable, "conditions": want.Status.Conditions}}
	for _, p := range []struct {
		patch any
		sub   []string
	}{{meta, nil}, {status, []string{"status"}}} {
		raw, err := json.Marshal(p.patch)
		if err != nil {
			return err
		}
		if _, err := c.Kube.CoreV1().Nodes().Patch(ctx, want.Name, types.StrategicMergePatchType, raw, metav1.PatchOptions{FieldManager: infra.FieldManager}, p.sub...); err != nil {
			return fmt.Errorf("change node %s: %w", want.Name, err)
		}
	}
	return nil
}
