package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// publishers are the programs that alone may write an object of a node.
var publishers = map[schema.GroupKind]string{
	{Group: "storage.k8s.io", Kind: "CSINode"}:                    "the node's kubelet",
	{Group: "coordination.k8s.io", Kind: "Lease"}:                 "the node's kubelet",
	{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"}:         "the driver's external-provisioner",
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:           "the controller manager",
	{Group: "nfd.k8s-sigs.io", Kind: "NodeFeature"}:               "the nfd-worker on the node",
	{Group: "topology.node.k8s.io", Kind: "NodeResourceTopology"}: "the topology updater on the node",
}

var writtenByAgent = judge.Check{
	ID: "MX158", Name: "object-of-a-node-agent", Needs: judge.Rendered,
	Title: "No recipe has objects that a program on each node writes",
	Why: "A CSINode, a node's Lease, a CSIStorageCapacity and their like say what a node has (https://kubernetes.io/docs/concepts/architecture/leases/#node-heart-beats). " +
		"The scheduler believes them, whoever wrote them.",
	Fix:  "Leave it out.",
	Says: "says what a node has, and only %s publishes that", Then: "on a real cluster it is replaced, or believed where it is not true",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			by := publishers[o.Object.GroupVersionKind().GroupKind()]
			if by != "" && (o.Object.GetKind() != "Lease" || o.Object.GetNamespace() == corev1.NamespaceNodeLease) {
				s.Report(o, "", by)
			}
		}
	},
}
