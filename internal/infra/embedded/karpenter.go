package embedded

import (
	"context"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// startKarpenter starts what makes the nodes of the cluster's groups; nothing if it has none.
func (c *cluster) startKarpenter(ctx context.Context, clients *infra.Clients) error {
	if len(c.spec.Groups) == 0 {
		return nil
	}
	if c.platform.Karpenter == nil {
		return reason.New(reason.Internal, "the platform %s was made without Karpenter", c.platform.Kind())
	}
	c.nodes = &addons.Runner{Clients: clients, Kubeconfig: c.Kubeconfig(), Dir: c.logs, Ports: c.platform.Ports, Sup: c.sup}
	return c.nodes.StartKarpenter(ctx, c.platform.Karpenter, c.spec.Groups)
}

// leaveNodes ends it, and leaves its nodes so that they can be deleted without it. What is not done within 10 s is an error.
func (c *cluster) leaveNodes(ctx context.Context) error {
	if c.nodes == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaveBudget)
	defer cancel()
	made := c.nodes
	c.endKarpenter()
	return made.LeaveNodes(ctx)
}

const leaveBudget = 10 * time.Second

// endKarpenter ends it. The nodes that it made stay.
func (c *cluster) endKarpenter() {
	if c.nodes != nil {
		c.nodes.Stop()
		c.nodes = nil
	}
}
