package validate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// rule is what a check may read of a group.
func rule(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list"}}
}

// Table is every check that this program has an implementation of, by phase and name. The names are
// those of AICR's recipes.
func Table() []*Check {
	workloads, nodes := rule("apps", "deployments", "daemonsets", "statefulsets"), rule("", "nodes")
	crds, policies := rule("apiextensions.k8s.io", "customresourcedefinitions"), rule("nvidia.com", "clusterpolicies")
	apis := rule("apiregistration.k8s.io", "apiservices")
	row := func(phase Phase, name, title string, run runFunc, rules ...rbacv1.PolicyRule) *Check {
		return &Check{Name: name, Phase: phase, Title: title, Rules: rules, run: run}
	}
	of := func(c *Check, component string, constraints ...string) *Check {
		c.Component, c.Constraints = component, constraints
		return c
	}
	return []*Check{
		row(Readiness, "gpu-hardware-detection", "nodes with GPUs offer them to pods", gpuHardwareDetection, nodes),

		of(row(Deployment, "check-nvidia-smi", "the NVIDIA driver answers on a GPU node", nvidiaSMI, nodes), gpuOperator),
		row(Deployment, "expected-resources", "what the components list as expectedResources exists, and is ready if it is a workload", expectedResources,
			workloads, policies, rule("", "configmaps", "services", "serviceaccounts", "namespaces"), crds),
		of(row(Deployment, "gpu-operator-version", "the running GPU operator has the version that the recipe requires", gpuOperatorVersion, workloads), gpuOperator, "Deployment.gpu-operator.version"),
		row(Deployment, "operator-health", "every workload of the components is ready, and the GPU operator's ClusterPolicy", operatorHealth, workloads, policies),

		row(performance, "nccl-all-reduce-bw", "NCCL's all-reduce reaches the bus bandwidth of the recipe", ncclBandwidth, nodes),

		of(row(Conformance, "accelerator-metrics", "DCGM's exporter runs on the GPU nodes, and answers with counters", acceleratorMetrics,
			workloads, nodes, rule("", "services"), rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services/proxy"}, Verbs: []string{"get"}}), gpuOperator),
		row(Conformance, "ai-service-metrics", "Prometheus runs, and with prometheus-adapter its metrics are an API", aiServiceMetrics, workloads, rule("monitoring.coreos.com", "prometheuses"), apis),
		row(Conformance, "cluster-autoscaling", "Karpenter or cluster-autoscaler adds nodes", clusterAutoscaling, workloads, rule("karpenter.sh", "nodepools")),
		of(row(Conformance, "dra-support", "GPUs can be claimed: API, driver, DeviceClasses, ResourceSlices", draSupport, workloads, nodes, rule("resource.k8s.io", "deviceclasses", "resourceslices")), "nvidia-dra-driver-gpu"),
		of(row(Conformance, "gang-scheduling", "KAI Scheduler runs, PodGroups can be made, a Queue exists", gangScheduling, workloads, crds, rule("scheduling.run.ai", "queues")), "kai-scheduler"),
		of(row(Conformance, "gpu-operator-health", "the GPU operator's workloads are ready, and its ClusterPolicy", gpuOperatorHealth, workloads, policies), gpuOperator),
		row(Conformance, "inference-gateway", "agentgateway, or kgateway, runs, its GatewayClass is accepted, a Gateway is programmed, InferencePools can be made", inferenceGateway,
			workloads, crds, rule("gateway.networking.k8s.io", "gatewayclasses", "gateways")),
		row(Conformance, "platform-health", "the same as operator-health", operatorHealth, workloads, policies),
		row(Conformance, "pod-autoscaling", "a HorizontalPodAutoscaler finds metrics of its own", podAutoscaling, nodes, apis),
		row(Conformance, "robust-controller", "the operator for AI workloads runs, serves its kinds, and has a webhook", robustController,
			workloads, nodes, crds, rule("admissionregistration.k8s.io", "validatingwebhookconfigurations")),
		row(Conformance, "secure-accelerator-access", "no pod gets GPUs by mounting its node's devices", secureAcceleratorAccess, rule("", "pods")),
	}
}

// Lookup gives the check of a name.
func Lookup(name string) (*Check, bool) {
	for _, c := range Table() {
		if c.Name == name {
			return c, true
		}
	}
	return nil, false
}

// names are those of all checks, sorted.
func names() []string {
	var names []string
	for _, c := range Table() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// evaluatorOf is the check that evaluates a constraint; nil if a constraint is compared with the
// snapshot.
func evaluatorOf(constraint string) *Check {
	for _, c := range Table() {
		if c.Name == constraint || slices.Contains(c.Constraints, constraint) {
			return c
		}
	}
	return nil
}
