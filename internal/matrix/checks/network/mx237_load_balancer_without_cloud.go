package network

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var loadBalancerWithoutCloud = judge.Check{
	ID: "MX237", Name: "load-balancer-without-cloud", Needs: judge.Rendered, Gives: reason.DeployFailed, Kinds: judge.KindsOf("", "Service"),
	Title: "Something gives a load balancer its address",
	Why: "Where no cloud does (kind, bcm, k0s, rke2, metal3, ocp, generic), a Service of type LoadBalancer never gets an address (https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer). " +
		"Argo CD shows its Application as Progressing for ever, and nothing that comes after it in the same sync is created; Helm 3 waits for it with --wait until its timeout. Flux, and Helm 4, wait for its clusterIP only. " +
		"The cell gives it one. It is enough that something may write the status of Services (MetalLB, kube-vip, Cilium and the like), in what is delivered or with --with. " +
		"Recipes leave that to the cluster, and an app for no named --service may be for any: a note there.",
	Fix:  "Deliver a load balancer such as MetalLB, name one that the cluster has with --with, or take another type (ClusterIP, NodePort).",
	Says: "is of type LoadBalancer, and nothing gives it an address on the nodes of this provider", Then: "Argo CD shows its Application as Progressing for ever, and Helm 3 waits for it with --wait until its timeout",
	Others: map[string]judge.Message{
		"assumed": {Says: "is of type LoadBalancer, and this cell gives it an address", Then: "where no cloud does, something like MetalLB must, or Argo CD shows its Application as Progressing for ever"},
		"waits":   {Says: "is of type LoadBalancer, and nothing gives it an address on the nodes of this provider", Then: "Argo CD waits for it before it creates %s, for ever"},
	},
	Run: func(s *judge.Scope) {
		lacks, assumes := simulate.LacksLoadBalancer(s.Nodes)
		if !lacks || slices.ContainsFunc(s.Rendered(), func(o *bundle.Object) bool { return simulate.ServesLoadBalancers(o.Object) }) {
			return
		}
		q := lane.Sequence{Order: s.Order, Expectation: s.Expectation}
		for _, o := range s.Rendered(judge.KindsOf("", "Service")...) {
			svc := facts.As[corev1.Service](s.Index, o)
			if svc == nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || len(svc.Spec.ExternalIPs) > 0 {
				continue
			}
			later := slices.IndexFunc(s.Expectation.Objects, func(other bundle.Object) bool { return s.Order.ArgoCD && q.After(&other, o) })
			switch {
			case assumes:
				s.ReportAs("assumed", o, "spec.type").OneCause("assumed").Note()
			case later >= 0:
				s.ReportAs("waits", o, "spec.type", s.Expectation.Objects[later].Ref())
			default:
				s.Report(o, "spec.type").OneCause("none").Warning()
			}
		}
	},
}
