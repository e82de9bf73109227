package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// sight is the pods of a probe at one moment.
type sight struct {
	pods []corev1.Pod
	// nodes are how many of them each node has. withoutGPUs are pods that request GPUs, on nodes
	// that have none.
	nodes       map[string]int
	withoutGPUs []string
	waiting     []waitingPod
	// ended are pods that held nothing any more.
	ended int
}

type waitingPod struct {
	pod *corev1.Pod
	why string
	// refused: a scheduler has looked at it, and has no node for it.
	refused bool
}

// see reads the pods and the nodes.
func (r *Run) see(ctx context.Context) (*sight, error) {
	pods, err := r.Clients.Kube.CoreV1().Pods(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes, err := r.Clients.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return sightOf(pods.Items, nodes.Items), nil
}

func sightOf(pods []corev1.Pod, nodes []corev1.Node) *sight {
	gpus := map[string]bool{}
	for i := range nodes {
		gpus[nodes[i].Name] = infra.NodeGPUs(&nodes[i]) > 0
	}
	s := &sight{pods: pods, nodes: map[string]int{}}
	for i := range pods {
		p := &pods[i]
		switch {
		case infra.PodEnded(p):
			s.ended++
		case p.Spec.NodeName == "":
			why, refused := unplaced(p)
			s.waiting = append(s.waiting, waitingPod{p, why, refused})
		default:
			s.nodes[p.Spec.NodeName]++
			if infra.PodGPUs(p) > 0 && !gpus[p.Spec.NodeName] {
				s.withoutGPUs = append(s.withoutGPUs, infra.NamespacedName(p.Namespace, p.Name)+" on "+p.Spec.NodeName)
			}
		}
	}
	return s
}

// unplaced is why a pod has no node, and whether a scheduler said so.
func unplaced(p *corev1.Pod) (string, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			return strings.TrimSpace(c.Reason + ": " + c.Message), true
		}
	}
	return fmt.Sprintf("no scheduler has looked at it; it asks for %s", p.Spec.SchedulerName), false
}

// placed is how many pods hold a node now.
func (s *sight) placed() int {
	n := 0
	for _, count := range s.nodes {
		n += count
	}
	return n
}

func (s *sight) refused() bool {
	return len(s.waiting) == 0 || slices.ContainsFunc(s.waiting, func(w waitingPod) bool { return w.refused })
}

// stuck reports whether no change has occurred for so long that none is expected. A real controller
// may be slow to create its pods: while no pod waits for a node, it has the whole time of the probe.
func (s *sight) stuck(unchanged time.Duration, runs bool) bool {
	return unchanged > stuckAfter && s.refused() && (len(s.waiting) > 0 || !runs)
}

// line is what a reader sees while the probe waits, and what it fails with.
func (s *sight) line(want int) string {
	text := fmt.Sprintf("%d of %s placed", s.placed(), lists.Count(want, "pod"))
	if made := len(s.pods) - s.ended; made != want {
		text += fmt.Sprintf(", %d exist", made)
	}
	return text
}

// words are what the scheduler says of the pods, each once, with how many it is said of.
func (s *sight) words() []string {
	count := map[string]int{}
	for _, w := range s.waiting {
		count[w.why]++
	}
	var all []string
	for _, why := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%s: %s", lists.Count(count[why], "pod"), why))
	}
	return all
}

// wrongly is a failure if a pod that requests GPUs is on a node without GPUs.
func (s *sight) wrongly(p *Probe) *result.Failure {
	if len(s.withoutGPUs) == 0 {
		return nil
	}
	return p.fails(p.Line, "pods that ask for GPUs are on nodes that have none: "+strings.Join(lists.AtMost(s.withoutGPUs, 4), ", "), nil)
}
