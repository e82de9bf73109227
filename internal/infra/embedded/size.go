package embedded

import (
	"fmt"

	"sigs.k8s.io/kwok/pkg/apis/internalversion"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// largeFrom is the number of nodes from which KWOK does more at a time than by default. Small
// clusters keep the defaults: there the machine's cores are the limit, and cells run side by side.
const largeFrom = 200

const (
	// podStages: each of these many writes of a pod's status waits for the API server, which takes
	// 10 to 100 ms under load. KWOK's default is 4.
	podStages = 32
	// nodeStages is the same for nodes and their leases.
	nodeStages = 16
)

// nodesALease is the number of nodes for which leases last 40 s. KWOK renews each node's lease four
// times in its duration. With 1,000 nodes and 40 s that is 100 writes a second, more than pods
// need, and late leases make the node lifecycle controller mark nodes Unknown and their pods not
// ready. If the duration grows by 40 s with every nodesALease nodes, there are 10 writes a second
// for any size.
const nodesALease = 100

// sizeLeases sets how long the leases of nodes are valid, and after what time without a renewal a
// node counts as lost.
func (c *ControlPlane) sizeLeases(o *internalversion.KwokctlConfigurationOptions) {
	if c.nodes < largeFrom {
		return
	}
	times := (c.nodes + nodesALease - 1) / nodesALease
	o.NodeLeaseDurationSeconds *= uint(times)
	o.KubeControllerManagerNodeMonitorGracePeriodMilliseconds *= int64(times)
}

// nodeHeap is what the API server's heap may have for a node with its pods, in MiB, besides what
// every process's may: it keeps 1,500 MiB with 17,000 pods on 1,000 nodes, and the closer to the limit
// that is, the more of its time goes into collecting garbage. 200 MiB more save 2 of 78 s.
const nodeHeap = 1.3

// heapLimit is the soft limit of the API server's heap, by the cluster's size and by what the
// machine has available, which the other processes need as well. No entry: the limit of every
// process. A limit of the user's own is kept.
func (c *ControlPlane) heapLimit(available func() (uint64, error), own string) []string {
	if c.nodes < largeFrom || own != "" {
		return nil
	}
	free, err := available()
	limit := min(host.HeapLimit+uint64(nodeHeap*float64(c.nodes)), free>>21) // at most half of what is free
	if err != nil || limit <= host.HeapLimit {                               // not known on this system, or not enough
		return nil
	}
	return []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", limit)}
}

// kwokOptions are KWOK's, by the cluster's size: a document for its configuration, empty where it
// keeps its defaults.
func (c *ControlPlane) kwokOptions() []byte {
	if c.nodes < largeFrom {
		return nil
	}
	return fmt.Appendf(nil, "apiVersion: config.kwok.x-k8s.io/v1alpha1\nkind: KwokConfiguration\noptions:\n  podPlayStageParallelism: %d\n  nodePlayStageParallelism: %d\n  nodeLeaseParallelism: %d\n",
		podStages, nodeStages, nodeStages)
}

// largeGOGC is for the controller manager and the scheduler of a large cluster, which keep all its pods: with the 300 of
// every process each has a heap of four times what it keeps.
const largeGOGC = "GOGC=100"

// endpointsBatch is how long the controllers of Endpoints and EndpointSlices wait after a change of a
// pod for further ones: each change has them read all pods of a Service, which are a thousand.
const endpointsBatch = "2s"

// managerArgs are the controller manager's arguments, by the cluster's size. Each change of a pod has
// the controller of DaemonSets go through all nodes, several times: with one DaemonSet at a time it
// goes through them half as often.
func (c *ControlPlane) managerArgs() []internalversion.ExtraArgs {
	if c.nodes < largeFrom {
		return nil
	}
	return []internalversion.ExtraArgs{
		{Key: "concurrent-daemonset-syncs", Value: "1"},
		{Key: "endpoint-updates-batch-period", Value: endpointsBatch},
		{Key: "endpointslice-updates-batch-period", Value: endpointsBatch},
	}
}
