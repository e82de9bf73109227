package refs

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/refs/builtin"
	"github.com/nvidia/aicr-action/internal/matrix/refs/certificates"
	"github.com/nvidia/aicr-action/internal/matrix/refs/counts"
	"github.com/nvidia/aicr-action/internal/matrix/refs/idle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/jobsets"
	"github.com/nvidia/aicr-action/internal/matrix/refs/kubeversions"
	"github.com/nvidia/aicr-action/internal/matrix/refs/leftout"
	"github.com/nvidia/aicr-action/internal/matrix/refs/monitoring"
	"github.com/nvidia/aicr-action/internal/matrix/refs/room"
	"github.com/nvidia/aicr-action/internal/matrix/refs/topologies"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Impossible fails if no delivery of a bundle can end well, whether it is the first or an upgrade: a
// kind that the lane's deployer never applies, an object that is Kubernetes' own, a certificate that
// is never made, a rule of Prometheus that is none, what waits for a workload without pods, no node for one of its volumes, no room for
// a workload's pods, a chart that Helm refuses for the version of the nodes' provider. Reasons: DEPLOY_FAILED, SCHEDULING_FAILED, CLUSTER_FAILED.
func Impossible(ctx context.Context, e *bundle.Expectation, components []recipe.Component, d lane.Order, kube kubernetes.Interface) error {
	c := newChecker(e, components, nil)
	c.problems(leftout.In(e, d.ArgoCD, d.Flux))
	own, err := builtin.Find(ctx, e, kube)
	if err != nil {
		return err
	}
	c.problems(slices.Concat(own, certificates.Find(e), counts.Find(e), idle.Find(e), monitoring.Find(e), jobsets.Find(e)))
	asks := !d.ArgoCD && !d.AtOnce && kubeversions.Any(e) // what the cluster's version is
	if topologies.Any(e) || room.Any(e) || asks {
		nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + infra.HostNodeLabel})
		if err != nil {
			return reason.New(reason.ClusterFailed, "list nodes: %w", err)
		}
		c.problems(topologies.Find(e, nodes.Items))
		c.problems(room.Find(e, nodes.Items))
		if asks {
			version, err := kube.Discovery().ServerVersion()
			if err != nil {
				return reason.New(reason.ClusterFailed, "ask the API server for its version: %w", err)
			}
			c.problems(kubeversions.Find(e, nodes.Items, version.GitVersion, true))
		}
	}
	r := c.Report()
	return r.Err()
}
