package validate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// steps are parts of a check that each may meet a cluster that cannot be read.
func steps(parts ...func() error) error {
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// draSupport: devices can be claimed. The API is served, NVIDIA's driver runs, its DeviceClasses
// exist, and it publishes devices.
func draSupport(ctx context.Context, in Inputs) (Outcome, error) {
	const driver = "nvidia-dra-driver-gpu"
	l := &observation{}
	if err := l.ready(ctx, &in, driver, ""); err != nil {
		return Outcome{}, err
	}
	simulated, err := in.simulated(ctx)
	if err != nil {
		return Outcome{}, err
	}
	kind, _, err := in.served("DeviceClass")
	if err != nil {
		l.fails(driver, "DRA is not available: %v; it needs Kubernetes 1.34, or the feature gate DynamicResourceAllocation", err)
		return l.outcome(), nil
	}
	classes, err := in.list(ctx, kind, "")
	if err != nil {
		return Outcome{}, err
	}
	classes = slices.DeleteFunc(classes, func(c unstructured.Unstructured) bool { return !strings.HasSuffix(c.GetName(), ".nvidia.com") })
	if len(classes) == 0 {
		l.fails(driver, "the cluster has no DeviceClass of NVIDIA's driver")
	} else {
		l.holds("%s of NVIDIA's driver found", deviceClasses(len(classes)))
	}
	slicesOf, err := in.list(ctx, kind.GroupVersion().WithResource("resourceslices"), "")
	if err != nil {
		return Outcome{}, err
	}
	n := 0
	for i := range slicesOf {
		if name, _, _ := unstructured.NestedString(slicesOf[i].Object, "spec", "driver"); strings.HasSuffix(name, "nvidia.com") {
			n++
		}
	}
	if n == 0 && simulated { // a cluster of KWOK's nodes whose stand-ins do not publish devices
		l.unseenHere("ResourceSlices, which the driver publishes from each node")
	} else if n == 0 {
		l.fails(driver, "NVIDIA's driver has published no ResourceSlice, so no device can be claimed")
	} else {
		l.holds("%s published", lists.Count(n, "ResourceSlice"))
	}
	return l.outcome(), nil
}

func deviceClasses(n int) string {
	if n == 1 {
		return "1 DeviceClass"
	}
	return fmt.Sprintf("%d DeviceClasses", n)
}

// gangScheduling: KAI Scheduler runs, its PodGroups can be made, and there is a queue to put them
// in.
func gangScheduling(ctx context.Context, in Inputs) (Outcome, error) {
	const kai = "kai-scheduler"
	l := &observation{}
	err := steps(
		func() error { return l.ready(ctx, &in, kai, "") },
		func() error { return l.ready(ctx, &in, kai, "scheduler") },
		func() error { return l.established(ctx, &in, kai, "podgroups.scheduling.run.ai") },
		func() error { return l.established(ctx, &in, kai, "queues.scheduling.run.ai") },
		func() error {
			queues, err := in.list(ctx, queueKind, "")
			if err == nil && len(queues) == 0 {
				l.fails(kai, "there is no Queue, so that no gang can be scheduled")
			}
			return err
		},
	)
	return l.outcome(), err
}

// acceleratorMetrics: DCGM's exporter runs on the GPU nodes, and answers with DCGM's counters.
func acceleratorMetrics(ctx context.Context, in Inputs) (Outcome, error) {
	const exporter = "dcgm-exporter"
	l := &observation{}
	if err := l.ready(ctx, &in, gpuOperator, exporter); err != nil {
		return Outcome{}, err
	}
	simulated, err := in.simulated(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if simulated {
		l.unseenHere("the counters themselves")
		return l.outcome(), nil
	}
	ref, ok := in.component(gpuOperator)
	if !ok {
		return l.outcome(), nil
	}
	services, err := in.Kube.CoreV1().Services(ref.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return Outcome{}, err
	}
	for i := range services.Items {
		s := &services.Items[i]
		if !strings.Contains(s.Name, exporter) || len(s.Spec.Ports) == 0 {
			continue
		}
		text, err := in.Kube.CoreV1().Services(s.Namespace).ProxyGet("http", s.Name, fmt.Sprint(s.Spec.Ports[0].Port), "metrics", nil).DoRaw(ctx)
		switch {
		case err != nil:
			l.fails(gpuOperator, "Service %s/%s does not answer: %v", s.Namespace, s.Name, err)
		case !strings.Contains(string(text), "DCGM_FI_"):
			l.fails(gpuOperator, "Service %s/%s has no counter DCGM_FI_…", s.Namespace, s.Name)
		default:
			l.holds("Service %s/%s has DCGM's counters", s.Namespace, s.Name)
		}
		return l.outcome(), nil
	}
	l.fails(gpuOperator, "namespace %s has no Service of %s, so that nothing can scrape it", ref.Namespace, exporter)
	return l.outcome(), nil
}

// aiServiceMetrics: Prometheus runs, and with prometheus-adapter its metrics are an API.
func aiServiceMetrics(ctx context.Context, in Inputs) (Outcome, error) {
	const stack, adapter = "kube-prometheus-stack", "prometheus-adapter"
	l := &observation{}
	err := steps(
		func() error { return l.ready(ctx, &in, stack, "") },
		func() error {
			all, err := in.list(ctx, prometheusKind, "")
			if err == nil && len(all) == 0 {
				l.fails(stack, "the cluster has no Prometheus")
			}
			for i := range all {
				if l.is(stack, &all[i], "Available") {
					l.holds("Prometheus %s/%s is available", all[i].GetNamespace(), all[i].GetName())
				}
			}
			return err
		},
		func() error {
			if _, ok := in.component(adapter); !ok {
				return nil
			}
			return l.available(ctx, &in, adapter, customMetrics...)
		},
	)
	return l.outcome(), err
}

var customMetrics = []string{"v1beta2.custom.metrics.k8s.io", "v1beta1.custom.metrics.k8s.io"}

// podAutoscaling checks that a HorizontalPodAutoscaler finds custom metrics.
func podAutoscaling(ctx context.Context, in Inputs) (Outcome, error) {
	l := &observation{}
	if err := l.available(ctx, &in, "prometheus-adapter", append(customMetrics, "v1beta1.external.metrics.k8s.io")...); err != nil {
		return Outcome{}, err
	}
	simulated, err := in.simulated(ctx)
	if err != nil || len(l.bad) > 0 {
		return l.outcome(), err
	}
	if simulated {
		l.unseenHere("the metrics themselves")
		return l.outcome(), nil
	}
	_, groups, err := in.Kube.Discovery().ServerGroupsAndResources()
	for _, list := range groups {
		if strings.Contains(list.GroupVersion, "metrics.k8s.io/") && !strings.HasPrefix(list.GroupVersion, "metrics.k8s.io/") && len(list.APIResources) > 0 {
			l.holds("%s has %s", list.GroupVersion, lists.Count(len(list.APIResources), "metric"))
			return l.outcome(), nil
		}
	}
	if err != nil {
		return Outcome{}, err
	}
	l.fails("prometheus-adapter", "the custom metrics API has no metric; check prometheus-adapter's rules, and whether Prometheus scrapes anything")
	return l.outcome(), nil
}

// clusterAutoscaling: something adds nodes when pods need them: Karpenter with a NodePool that is
// ready, or cluster-autoscaler. A provider's own autoscaler runs where no client can see it.
func clusterAutoscaling(ctx context.Context, in Inputs) (Outcome, error) {
	l := &observation{}
	pools, err := in.list(ctx, nodePoolKind, "")
	if err != nil {
		return Outcome{}, err
	}
	for i := range pools {
		if l.is("", &pools[i], "Ready") {
			l.holds("NodePool %s of Karpenter is ready", pools[i].GetName())
		}
	}
	all, err := in.workloads(ctx, metav1.NamespaceAll)
	if err != nil {
		return Outcome{}, err
	}
	for i := range all {
		if w := &all[i]; w.kind == "Deployment" && strings.Contains(w.meta.Name, "cluster-autoscaler") {
			if w.why != "" {
				l.fails(w.component, "%s: %s", w, w.why)
			} else {
				l.holds("%s is ready", w)
			}
		}
	}
	if len(l.good)+len(l.bad) > 0 {
		return l.outcome(), nil
	}
	if service := in.Recipe.Criteria.Service; slices.Contains([]string{"gke", "aks"}, service) {
		return Outcome{Status: result.StepSkipped, Message: service + " scales its node pools from outside the cluster, where this check cannot look"}, nil
	}
	return Outcome{Status: result.StepFailed, Message: "nothing scales the cluster: there is neither a NodePool of Karpenter nor a Deployment of cluster-autoscaler"}, nil
}

// inferenceGateway: requests to models have a way in. The recipe's gateway runs, its GatewayClass is
// accepted, a Gateway is programmed, and InferencePools can be made.
func inferenceGateway(ctx context.Context, in Inputs) (Outcome, error) {
	gateway := "agentgateway" // in AICR's recipes of July 2026 and later
	if _, ok := in.component("kgateway"); ok {
		gateway = "kgateway" // in those of March
	}
	l := &observation{}
	err := steps(
		func() error { return l.ready(ctx, &in, gateway, "") },
		func() error {
			return l.established(ctx, &in, gateway+"-crds", "inferencepools.inference.networking.k8s.io", "inferencepools.inference.networking.x-k8s.io")
		},
		func() error { return l.every(ctx, &in, gateway, classKind, "GatewayClass", "Accepted") },
		func() error { return l.every(ctx, &in, gateway, gatewayKind, "Gateway", "Programmed") },
	)
	out := l.outcome()
	out.Component = cmp.Or(out.Component, gateway)
	return out, err
}

// every checks that a condition is true for every object of a kind, and that at least one exists.
func (l *observation) every(ctx context.Context, in *Inputs, component string, of schema.GroupVersionResource, kind, wanted string) error {
	all, err := in.list(ctx, of, "")
	if err == nil && len(all) == 0 {
		l.fails(component, "the cluster has no %s", kind)
	}
	for i := range all {
		if l.is(component, &all[i], wanted) {
			l.holds("%s %s is %s", kind, all[i].GetName(), strings.ToLower(wanted))
		}
	}
	return err
}

// robustController checks that the recipe's operator for AI workloads runs, that its kinds are
// served, and that it has a webhook that rejects invalid objects.
func robustController(ctx context.Context, in Inputs) (Outcome, error) {
	l := &observation{}
	for _, operator := range []struct{ component, part, crd string }{
		{"dynamo-platform", "operator", "dynamographdeployments.nvidia.com"},
		{"kubeflow-trainer", "trainer", "trainjobs.trainer.kubeflow.org"},
	} {
		ref, ok := in.component(operator.component)
		if !ok {
			continue
		}
		err := steps(
			func() error { return l.ready(ctx, &in, operator.component, operator.part) },
			func() error { return l.established(ctx, &in, operator.component, operator.crd) },
			func() error {
				hooks, err := in.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
				if err != nil {
					return err
				}
				for i := range hooks.Items {
					for j := range hooks.Items[i].Webhooks {
						if s := hooks.Items[i].Webhooks[j].ClientConfig.Service; s != nil && s.Namespace == ref.Namespace {
							l.holds("ValidatingWebhookConfiguration %s is registered", hooks.Items[i].Name)
							return nil
						}
					}
				}
				l.fails(operator.component, "no ValidatingWebhookConfiguration calls a Service in namespace %s, so that wrong objects are accepted", ref.Namespace)
				return nil
			},
		)
		if err != nil {
			return Outcome{}, err
		}
	}
	if len(l.good)+len(l.bad) == 0 {
		return Outcome{Status: result.StepSkipped, Message: "the recipe has no operator for AI workloads that this check knows: dynamo-platform, kubeflow-trainer"}, nil
	}
	simulated, err := in.simulated(ctx)
	if simulated {
		l.unseenHere("whether the webhook refuses a wrong object")
	}
	return l.outcome(), err
}
