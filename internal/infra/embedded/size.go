package embedded

import (
	"fmt"

	"sigs.k8s.io/kwok/pkg/apis/internalversion"
)

// largeFrom is the number of nodes from which a cluster's controllers do more at a time than by default. Small clusters keep the defaults: there the
// machine's cores are the limit, and cells run side by side.
const largeFrom = 200

const (
	// podStages: each of these many writes of a pod's status waits for the API server, which takes 10 to 100 ms under load. KWOK's default is 4.
	podStages = 32
	// nodeStages is the same for nodes and their leases.
	nodeStages = 16
	// daemonSets are worked on side by side, so that none waits for a turn: their controller makes 250 pods of one at a time. The default is 2.
	daemonSets = 32
)

// managerArgs are the controller manager's, by the cluster's size.
func (c *ControlPlane) managerArgs() []internalversion.ExtraArgs {
	if c.nodes < largeFrom {
		return nil
	}
	return []internalversion.ExtraArgs{{Key: "concurrent-daemonset-syncs", Value: fmt.Sprint(daemonSets)}}
}

// kwokOptions are KWOK's, by the cluster's size: a document for its configuration, empty where it keeps its defaults.
func (c *ControlPlane) kwokOptions() []byte {
	if c.nodes < largeFrom {
		return nil
	}
	return fmt.Appendf(nil, "apiVersion: config.kwok.x-k8s.io/v1alpha1\nkind: KwokConfiguration\noptions:\n  podPlayStageParallelism: %d\n  nodePlayStageParallelism: %d\n  nodeLeaseParallelism: %d\n",
		podStages, nodeStages, nodeStages)
}
