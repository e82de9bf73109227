package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
)

// The rules by which Kubernetes' node controller evicts nothing, with the defaults of
// kube-controller-manager: --unhealthy-zone-threshold and --large-cluster-size-threshold, and
// ComputeZoneState in its package nodelifecycle.
const (
	unhealthyShare  = 0.55
	unhealthyLeast  = 3
	smallZone       = 50
	withheldSpeaker = "; Kubernetes taints none and evicts nothing while "
)

// withheld is why the node controller does not taint nodes that are not Ready; "" if there is no
// such reason, or the nodes cannot be read.
func (r *Runner) withheld(ctx context.Context) string {
	list, err := r.Clients.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	return whyWithheld(list.Items)
}

func whyWithheld(nodes []corev1.Node) string {
	type count struct{ all, down int }
	zones, down := map[string]*count{}, 0
	for i := range nodes {
		n := &nodes[i]
		name := n.Labels[corev1.LabelTopologyZone]
		z := zones[name]
		if z == nil {
			z = &count{}
			zones[name] = z
		}
		z.all++
		if !infra.NodeReady(n) {
			z.down++
			down++
		}
	}
	if down == len(nodes) && down > 0 {
		return withheldSpeaker + "no node of the cluster is Ready: let one be"
	}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		z := zones[name]
		if z.down >= unhealthyLeast && z.down < z.all && z.all <= smallZone && float64(z.down) >= unhealthyShare*float64(z.all) {
			return withheldSpeaker + fmt.Sprintf("%d of %d nodes of zone %q are not Ready (from %d nodes and 55%% on): stop fewer", z.down, z.all, name, unhealthyLeast)
		}
	}
	return ""
}
