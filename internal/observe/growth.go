package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
)

// What Karpenter says of pods by events, and the label of what it makes.
// https://karpenter.sh/docs/troubleshooting/ and pkg/events/reason.go of its module
const (
	karpenterNominated = "Nominated"
	karpenterRejected  = "FailedScheduling"
	nodePoolLabel      = infra.KarpenterGroup + "/nodepool"
)

var nodeClaims = schema.GroupVersionResource{Group: infra.KarpenterGroup, Version: "v1", Resource: "nodeclaims"}

// Growth is the groups of nodes of which a cluster makes some when pods fit on no node. The zero value is that of
// a cluster that makes none.
type Growth struct {
	Groups []infra.NodeGroup
	// Read: what follows was read.
	Read bool
	// Ended: what made the nodes has ended, and the cluster stays.
	Ended bool
	// Claims are the nodes that are made or being made, in the order in which they were asked for.
	Claims   []NodeClaim
	rejected map[types.UID]string // what Karpenter said of pods that it makes no node for
}

// NodeClaim is a node that was asked for.
type NodeClaim struct {
	// Name is the claim's, Group that of the group. Node is empty until the node exists.
	Name, Group, Node string
	// Pods are namespace/name of the pods that it was made for, the first being the one that no other node
	// would have taken.
	Pods []string
	made time.Time
}

// ReadGrowth reads what became of groups. It reads nothing without any.
func ReadGrowth(ctx context.Context, c *infra.Clients, groups []infra.NodeGroup) (Growth, error) {
	g := Growth{Groups: groups}
	if len(groups) == 0 {
		return g, nil
	}
	claims, err := c.Dynamic.Resource(nodeClaims).List(ctx, metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return g, fmt.Errorf("list NodeClaims: %w", err)
	}
	events, err := c.Kube.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "source=karpenter,involvedObject.kind=Pod"})
	if err != nil {
		return g, fmt.Errorf("list Karpenter's events: %w", err)
	}
	if claims != nil {
		g.readClaims(claims.Items)
	}
	if err := g.readNodes(ctx, c); err != nil {
		return g, err
	}
	g.readEvents(events.Items)
	g.Read = true
	return g, nil
}

func (g *Growth) readClaims(claims []unstructured.Unstructured) {
	for i := range claims {
		c := &claims[i]
		node, _, _ := unstructured.NestedString(c.Object, "status", "nodeName")
		g.Claims = append(g.Claims, NodeClaim{Name: c.GetName(), Group: c.GetLabels()[nodePoolLabel], Node: node, made: c.GetCreationTimestamp().Time})
	}
	slices.SortFunc(g.Claims, func(a, b NodeClaim) int { return cmp.Or(a.made.Compare(b.made), cmp.Compare(a.Name, b.Name)) })
}

// readNodes finds the nodes that exist and that Karpenter has not registered yet: pods that tolerate everything may be
// there already.
func (g *Growth) readNodes(ctx context.Context, c *infra.Clients) error {
	if !slices.ContainsFunc(g.Claims, func(c NodeClaim) bool { return c.Node == "" }) {
		return nil
	}
	nodes, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: nodePoolLabel})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		for j := range g.Claims {
			if n := &nodes.Items[i]; n.Name == g.Claims[j].Name {
				g.Claims[j].Node = n.Name
			}
		}
	}
	return nil
}

// readEvents takes events in the order in which the API server stored them: Karpenter tells the pods of a node in the
// order in which it has put them there.
func (g *Growth) readEvents(events []corev1.Event) {
	order := func(e *corev1.Event) uint64 {
		n, _ := strconv.ParseUint(e.ResourceVersion, 10, 64) // an API server's are numbers: KEP 5504
		return n
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return cmp.Compare(order(&a), order(&b)) })
	g.rejected = map[types.UID]string{}
	for i := range events {
		e := &events[i]
		pod := e.InvolvedObject
		switch e.Reason {
		case karpenterRejected:
			g.rejected[pod.UID] = e.Message
		case karpenterNominated:
			delete(g.rejected, pod.UID)
			for j := range g.Claims {
				c := &g.Claims[j]
				if name := infra.NamespacedName(pod.Namespace, pod.Name); mentions(e.Message, "nodeclaim/"+c.Name) && !slices.Contains(c.Pods, name) {
					c.Pods = append(c.Pods, name)
				}
			}
		}
	}
}

// mentions reports whether a list after a colon, "Pod should schedule on: nodeclaim/a, node/b", has an item.
func mentions(message, item string) bool {
	_, list, _ := strings.Cut(message, ": ")
	return slices.Contains(strings.Split(list, ", "), item)
}

// Rejected is what Karpenter said when it made no node for a pod; empty if it has not said so.
func (g *Growth) Rejected(pod *corev1.Pod) string { return g.rejected[pod.UID] }

// May reports whether a node may yet be made for a pod: it has not been rejected, and is not of a DaemonSet, whose pods
// are for nodes that exist.
func (g *Growth) May(pod *corev1.Pod) bool {
	return g.For(pod) && g.Rejected(pod) == ""
}

// For reports whether nodes are made for such pods.
func (g *Growth) For(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return len(g.Groups) > 0 && (owner == nil || owner.Kind != "DaemonSet")
}

// Made is how many nodes of a group are made or being made.
func (g *Growth) Made(group string) int {
	made := 0
	for i := range g.Claims {
		if g.Claims[i].Group == group {
			made++
		}
	}
	return made
}

// Further are a node for each group like the ones that may be made, named as messages name it. No cluster has them.
func (g *Growth) Further() []corev1.Node {
	var all []corev1.Node
	for i := range g.Groups {
		n := g.Groups[i].Node.DeepCopy()
		n.Name = g.Groups[i].Name
		n.Labels[corev1.LabelHostname] = n.Name
		all = append(all, *n)
	}
	return all
}

// Group is the one of a name; nil if there is none.
func (g *Growth) Group(name string) *infra.NodeGroup {
	for i := range g.Groups {
		if g.Groups[i].Name == name {
			return &g.Groups[i]
		}
	}
	return nil
}

// WithFurther is the view with a further node of each group, for questions about what would be if one was made.
func (v *View) WithFurther() *View {
	if len(v.Growth.Groups) == 0 {
		return v
	}
	with := *v
	with.Nodes = slices.Concat(v.Nodes, v.Growth.Further())
	return &with
}
