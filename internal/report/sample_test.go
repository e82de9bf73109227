package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func codes4test(r reason.Reason) int {
	return map[reason.Reason]int{
		reason.SchedulingFailed: 1, reason.DeployFailed: 51, reason.SyncTimeout: 50, reason.ComponentDied: 14, reason.NoProfile: 18, reason.LaneDivergence: 53,
	}[r]
}

// cellOf is a cell that ran for took, with the steps of a real one.
func cellOf(recipe, deployer string, took time.Duration, v result.Verdict) result.Result {
	r := result.Result{
		Cell: result.Cell{Recipe: recipe, Deployer: deployer}, Verdict: v, Charts: "simulated", Recipes: "recipes", Cluster: "embedded",
		Rerun: "matrix run " + recipe + " --deployer " + deployer + " --keep",
	}
	if took == 0 {
		return r
	}
	r.Started, r.Duration = began, took
	for i, name := range []string{"bundle", "cluster", "controllers", "push", "deploy", "sync"} {
		r.Phases = append(r.Phases, result.Phase{Name: name, Duration: took * time.Duration(i+1) / 21})
	}
	r.Overrides = []string{"cert-manager: system nodeSelector aicr.nvidia.com/node-type=system at nodeSelector", "gpu-operator: accelerated tolerations at daemonsets.tolerations"}
	r.StandIns = []string{"Prometheus monitoring/kube-prometheus-stack-prometheus"}
	r.Placement = placementOf()
	r.Scheduling = schedulingOf()
	second := took.Milliseconds() / 20
	r.Spans = []result.Span{{Component: "cert-manager", From: 10 * second, Until: 13 * second, Ready: true}, {Component: "gpu-operator", From: 13 * second, Until: 18 * second, Ready: v.Status == result.Passed}}
	r.Components, r.Pods = 9, 112
	return r
}

// schedulingOf is a cell with probes: the GPU nodes fill one after the other, and are empty at the
// end.
func schedulingOf() *result.Scheduling {
	s := &result.Scheduling{Pods: 130, Placed: 129, Median: 41, P90: 380, Max: 2512, PeakOccupancy: 100, MeanOccupancy: 61, Fragmented: 4, Domains: []result.PlacedDomain{{Kind: "block", Name: "rack-1", Nodes: 4, Pods: 90}}, Moments: result.GPUMoments{Every: 500}}
	for i := range 40 {
		s.Moments.GPUs, s.Moments.Taken = append(s.Moments.GPUs, 32), append(s.Moments.Taken, i%33)
		s.Moments.Waiting, s.Moments.Useless = append(s.Moments.Waiting, 0), append(s.Moments.Useless, 0)
	}
	for i := range 4 {
		s.Rows = append(s.Rows, result.NodeRow{Name: fmt.Sprintf("accelerated-%d", i), Nodes: 1, Pods: 20 + i, Taken: strings.Repeat("0", 10+4*i) + "369" + strings.Repeat("a", 20-4*i) + "7420000"})
	}
	for i := range 2 {
		s.Rows = append(s.Rows, result.NodeRow{Name: fmt.Sprintf("system-%d", i), Nodes: 1, Pods: 20, Taken: strings.Repeat("-", 40)})
	}
	return s
}

// placementOf is two system nodes with nine Deployments each and four GPU nodes with eighteen
// DaemonSets each, about what eks-training has.
func placementOf() *result.Placement {
	p := &result.Placement{}
	for i := range 4 {
		n := result.PlacedNode{Name: fmt.Sprintf("accelerated-%d", i), Kind: "accelerated", Instance: "p5.48xlarge", Zone: "us-east-1a", GPUProduct: "NVIDIA-H100-80GB-HBM3", GPUs: 8, GPUsTaken: 2 * i, CPU: 3 + 20*i, Memory: 1}
		for j := range 18 {
			name := fmt.Sprintf("nvidia-component-daemonset-%d", j)
			g := result.PodGroup{Namespace: []string{"gpu-operator", "kube-system", "monitoring"}[j/6], Workload: "DaemonSet " + name, Component: "gpu-operator", Pods: []string{name + "-x7k2p"}}
			if j == 0 {
				g.GPUs = 2 * i
			}
			n.Pods = append(n.Pods, g)
		}
		p.Nodes = append(p.Nodes, n)
	}
	for i := range 2 {
		n := result.PlacedNode{Name: fmt.Sprintf("system-%d", i), Kind: "system", Instance: "m5.xlarge", Zone: "us-east-1a", CPU: 40, Memory: 22}
		for j := range 9 {
			name := fmt.Sprintf("operator-controller-%d", j)
			n.Pods = append(n.Pods, result.PodGroup{Namespace: []string{"cert-manager", "gpu-operator", "monitoring"}[j/3], Workload: "Deployment " + name, Component: "cert-manager", Pods: []string{name + "-6556f5b9-5f47b", name + "-6556f5b9-abcde"}, Done: j == 8})
		}
		p.Nodes = append(p.Nodes, n)
	}
	return p
}

// sample has a cell of every status, and a cause that two cells share.
func sample() *Report {
	scheduling := result.Verdict{
		Status: result.Failed, Reason: reason.SchedulingFailed,
		Cause: "Deployment cert-manager/cert-manager (cert-manager): 0/6 nodes are available: 6 node(s) didn't match Pod's node affinity/selector. (and 1 more)",
		Details: []string{
			"Deployment cert-manager/cert-manager (cert-manager): 0/6 nodes are available: 6 node(s) didn't match Pod's node affinity/selector.",
			"  pods: cert-manager/cert-manager-6556f5b9-5f47b",
			"  nodeSelector disktype=ssd matches 0 of 6 nodes",
			"  selector: value path nodeSelector, set in recipes/components/cert-manager/values.yaml:30",
			"DaemonSet gpu-operator/driver (gpu-operator): no node admits its pods: its tolerations admit 2 of 6 nodes",
			"  tolerations: value path daemonsets.tolerations, set by the harness only (component declared in recipes/overlays/base.yaml:12)",
			"Deployment cert-manager/webhook (cert-manager): 0/6 nodes are available",
			"  for the same reasons as Deployment cert-manager/cert-manager",
			"Deployment x/y: 1 of 2 pods as expected",
		},
	}
	manager := result.Ref{Group: "apps", Kind: "Deployment", Namespace: "cert-manager", Name: "cert-manager"}
	scheduling.Findings = []result.Finding{
		{
			Cause: scheduling.Details[0], Object: &manager, Component: "cert-manager", Pods: []string{"cert-manager/cert-manager-6556f5b9-5f47b"}, Story: scheduling.Details[:4],
			Place: result.Place{File: "recipes/components/cert-manager/values.yaml", Line: 30, Path: "nodeSelector"},
		},
		{
			Cause: scheduling.Details[4], Object: &result.Ref{Group: "apps", Kind: "DaemonSet", Namespace: "gpu-operator", Name: "driver"}, Component: "gpu-operator", Story: scheduling.Details[4:6],
			Place: result.Place{File: "recipes/overlays/base.yaml", Line: 12, Path: "daemonsets.tolerations"},
		},
		{Cause: scheduling.Details[6], Object: &result.Ref{Group: "apps", Kind: "Deployment", Namespace: "cert-manager", Name: "webhook"}, Component: "cert-manager", Story: scheduling.Details[6:8], SameAs: &manager},
	}
	passed := cellOf("eks", "helm", 29800*time.Millisecond, result.Verdict{Status: result.Passed})
	passed.Warnings = []string{"kube-prometheus-stack: scheduling path thanosRuler.nodeSelector reaches no object"}
	noted := cellOf("eks", "argocd-oci", 77*time.Second, result.Verdict{Status: result.Passed})
	noted.Notes = []string{"Application web passed as OutOfSync, Healthy"}
	failed := cellOf("eks", "flux-oci", 20*time.Second, scheduling)
	failed.Artifacts = "/out/kwok-debug-eks-flux-oci-1"
	failed.Placement.Unplaced = []result.PodGroup{{Namespace: "cert-manager", Workload: "Deployment cert-manager", Pods: []string{"cert-manager-6556f5b9-5f47b"}}}
	failed.Placement.Nodes[4].Pods[0].Misplaced = "accelerated"
	return &Report{
		Meta: Meta{Tool: "v0.2.0", RunID: "1a2b3c4d", Started: began, Written: began.Add(10 * time.Minute), Code: codes4test},
		Results: []result.Result{
			passed, noted, failed,
			cellOf("eks-training", "helm", 31*time.Second, scheduling),
			cellOf("eks-training", "argocd-oci", 330*time.Second, result.Verdict{Status: result.Timeout, Reason: reason.SyncTimeout, Cause: "not ready after 5m0s: Application web: OutOfSync, Missing", Details: []string{"Application web: OutOfSync, Missing\nsecond line"}}),
			cellOf("eks-training", "flux-oci", 8*time.Second, result.Verdict{Status: result.Infrastructure, Reason: reason.ComponentDied, Component: "helm-controller", Cause: "helm-controller ended unexpectedly (signal: killed)", Details: []string{"last lines of its log:", "{}"}}),
			cellOf("base", "helm", 3*time.Second, result.Verdict{Status: result.Interrupted, Reason: reason.Interrupted, Cause: "interrupted by interrupt"}),
			cellOf("base", "argocd-oci", 0, result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "the run was ended before this cell began"}),
			cellOf("base", "flux-oci", 0, result.Verdict{Status: result.Skipped, Reason: reason.NoProfile, Cause: "no node profile for service gke"}),
			cellOf("monitoring", "flux-oci", 41*time.Second, result.Verdict{
				Status: result.Failed, Reason: reason.LaneDivergence, Cause: "Prometheus monitoring/k8s differs from lane helm: spec.storage",
				Details: []string{"Prometheus monitoring/k8s", "  spec.storage.emptyDir", "    helm:      (absent)", "    flux-oci:  null"},
			}),
		},
	}
}

// big has 38 recipes with four lanes: 152 cells, every tenth of them failed.
func big() *Report {
	r := &Report{Meta: Meta{RunID: "big", Started: began, Code: codes4test}}
	lanes := []string{"helm", "argocd-oci", "argocd-helm-oci", "flux-oci"}
	broken := sample().Results[2].Verdict
	for i := range 38 {
		for j, d := range lanes {
			v := result.Verdict{Status: result.Passed}
			if (i*4+j)%10 == 7 {
				v = broken
			}
			c := cellOf(fmt.Sprintf("h100-eks-ubuntu-training-%02d", i), d, time.Duration(30+10*j+i)*time.Second, v)
			for k := range 30 {
				c.Overrides = append(c.Overrides, fmt.Sprintf("component-%d: system nodeSelector aicr.nvidia.com/node-type=system at controller.nodeSelector", k))
			}
			r.Results = append(r.Results, c)
		}
	}
	return r
}
