package validate

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

const (
	gpuResource = "nvidia.com/gpu"
	gpuPresent  = "nvidia.com/gpu.present"
)

// gpuHardwareDetection: nodes that have GPUs offer them to pods.
func gpuHardwareDetection(ctx context.Context, in Inputs) (Outcome, error) {
	nodes, err := in.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: gpuPresent + "=true"})
	if err != nil {
		return Outcome{}, err
	}
	l := &observation{}
	gpus := int64(0)
	for i := range nodes.Items {
		n := &nodes.Items[i]
		offered := n.Status.Allocatable[gpuResource]
		if offered.Value() == 0 {
			l.fails(gpuOperator, "node %s has the label %s, and offers no %s", n.Name, gpuPresent, gpuResource)
		}
		gpus += offered.Value()
	}
	if len(nodes.Items) == 0 {
		l.fails("", "no node has the label %s=true, which Node Feature Discovery gives to nodes with GPUs", gpuPresent)
	} else {
		l.holds("%s with %d GPUs", lists.Count(len(nodes.Items), "node"), gpus)
	}
	return l.outcome(), nil
}

// nvidiaSMI: the driver answers on a GPU node. The snapshot has its answer, if it was taken on such
// a node.
func nvidiaSMI(ctx context.Context, in Inputs) (Outcome, error) {
	const reading = "GPU.smi.driver-version"
	if simulated, err := in.simulated(ctx); err != nil || simulated {
		return Outcome{Status: result.StepSkipped, Message: "the nodes are simulated: they have no GPU that nvidia-smi could ask"}, err
	}
	if in.Snapshot != nil {
		if version, ok := in.Snapshot.Value(reading); ok {
			return Outcome{Status: result.StepPassed, Message: "nvidia-smi answered when the snapshot was taken: driver " + version, Actual: version}, nil
		}
	}
	return Outcome{Status: result.StepSkipped, Message: "the snapshot has no " + reading + "; take it on a GPU node, with aicr snapshot --agent"}, nil
}

// ncclBandwidth needs GPUs and their network. This program starts no benchmark, so the check never
// passes.
func ncclBandwidth(ctx context.Context, in Inputs) (Outcome, error) {
	simulated, err := in.simulated(ctx)
	if err != nil {
		return Outcome{}, err
	}
	want := ""
	if len(in.Constraints) > 0 {
		want = ", and compare its bus bandwidth in GB/s with " + in.Constraints[0].Value
	}
	if simulated {
		return Outcome{Status: result.StepSkipped, Message: "the nodes are simulated: they have no network whose bandwidth could be measured"}, nil
	}
	return Outcome{Status: result.StepSkipped, Message: "this program runs no benchmark; run all_reduce_perf of nccl-tests on the GPU nodes" + want}, nil
}

// secureAcceleratorAccess: pods get GPUs from the device plugin or by a claim, and never by
// mounting the host's devices. The recipe's own components are what hands them out.
func secureAcceleratorAccess(ctx context.Context, in Inputs) (Outcome, error) {
	own := []string{metav1.NamespaceSystem}
	for _, ref := range in.enabled() {
		own = append(own, ref.Namespace)
	}
	pods, err := in.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return Outcome{}, err
	}
	l := &observation{}
	n := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if slices.Contains(own, p.Namespace) {
			continue
		}
		n++
		for j := range p.Spec.Volumes {
			if h := p.Spec.Volumes[j].HostPath; h != nil && (strings.TrimRight(h.Path, "/") == "/dev" || strings.HasPrefix(h.Path, "/dev/nvidia")) {
				l.fails("", "pod %s/%s mounts %s of its node", p.Namespace, p.Name, h.Path)
			}
		}
		for j := range p.Spec.Containers {
			if c := &p.Spec.Containers[j]; c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged {
				l.fails("", "container %s of pod %s/%s is privileged, and sees every device of its node", c.Name, p.Namespace, p.Name)
			}
		}
	}
	if n == 0 {
		return Outcome{Status: result.StepSkipped, Message: "there is no pod outside the namespaces of the recipe's components"}, nil
	}
	l.holds("%s checked: none gets a device of its node except through Kubernetes", lists.Count(n, "pod"))
	return l.outcome(), nil
}
