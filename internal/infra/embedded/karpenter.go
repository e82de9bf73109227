package embedded

import (
	"context"

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

// endKarpenter ends it. The nodes that it made stay.
func (c *cluster) endKarpenter() {
	if c.nodes != nil {
		c.nodes.Stop()
		c.nodes = nil
	}
}
