package matrix

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// countBudget bounds the reads of what became of groups of nodes.
const countBudget = 10 * time.Second

// countNodes says how many nodes of each group the cell needed, and which pod made each.
func (c *cellRun) countNodes(ctx context.Context) {
	groups := simulate.Growing(c.plan.nodes)
	if len(groups) == 0 || c.env.Clients == nil || c.deployed.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, countBudget)
	defer cancel()
	growth, err := observe.ReadGrowth(ctx, c.env.Clients, groups)
	if err != nil {
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("groups of nodes: not counted: %s", err))
		return
	}
	c.result.NodeGroups = nodeGroupsOf(c.plan.nodes, &growth, c.result.Placement)
}

func nodeGroupsOf(nodes []simulate.NodeGroup, growth *observe.Growth, placement *result.Placement) []result.NodeGroup {
	var all []result.NodeGroup
	for i := range nodes {
		n := &nodes[i]
		if n.Group == "" {
			continue
		}
		g := result.NodeGroup{Name: n.Pool(), Instance: n.Profile.Spec.InstanceType, Min: n.Count, Max: n.Max, Nodes: n.Count}
		for j := range growth.Claims {
			claim := &growth.Claims[j]
			if claim.Group != g.Name {
				continue
			}
			made := result.MadeNode{Node: claim.Node, Further: max(len(claim.Pods)-1, 0)}
			if len(claim.Pods) > 0 {
				made.Pod = claim.Pods[0]
				made.Workload, made.Component = ownerOf(made.Pod, placement)
			}
			if claim.Node != "" {
				g.Nodes++
			}
			g.Made = append(g.Made, made)
		}
		all = append(all, g)
	}
	return all
}

// ownerOf is the workload of a pod, and its component, by where the gate saw it last.
func ownerOf(pod string, placement *result.Placement) (workload, component string) {
	if placement == nil {
		return "", ""
	}
	namespace, name, _ := strings.Cut(pod, "/")
	groups := slices.Clone(placement.Unplaced)
	for i := range placement.Nodes {
		groups = append(groups, placement.Nodes[i].Pods...)
	}
	for i := range groups {
		if g := &groups[i]; g.Namespace == namespace && slices.Contains(g.Pods, name) {
			return g.Workload, g.Component
		}
	}
	return "", ""
}

// checkGroups rejects a bundle that would share the definitions of the cluster's own Karpenter, which makes the nodes of
// groups: a second one would fight over them.
func checkGroups(nodes []simulate.NodeGroup, objects []bundle.Object) error {
	groups := simulate.Growing(nodes)
	if len(groups) == 0 {
		return nil
	}
	for _, o := range objects {
		group := o.Object.GroupVersionKind().Group
		what := result.Ref{Kind: o.Object.GetKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName()}
		own := group == infra.KarpenterGroup || group == infra.KarpenterKwokGroup
		if o.Object.GetKind() == "CustomResourceDefinition" {
			_, of, _ := strings.Cut(o.Object.GetName(), ".")
			own = of == infra.KarpenterGroup || of == infra.KarpenterKwokGroup
		}
		if own {
			return reason.New(reason.Usage, "the recipe delivers %s (%s), and the node profile has groups (%s), whose nodes a Karpenter of the cell makes with such objects of its own: the two would fight. Take a profile without spec.groups for this recipe (--profiles), or leave Karpenter out of it",
				what, o.Component, strings.Join(poolNames(groups), ", "))
		}
	}
	return nil
}

func poolNames(groups []infra.NodeGroup) []string {
	var names []string
	for i := range groups {
		names = append(names, groups[i].Name+" at "+groups[i].Origin)
	}
	return names
}
