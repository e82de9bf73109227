package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// KAI Scheduler cannot run here, and kube-scheduler, which simulates it, knows no queues. So this
// file computes how many GPUs a queue grants from the Queue objects, by KAI's rules (docs/queues in
// https://github.com/NVIDIA/KAI-Scheduler). A job is in a queue that has a parent, and gets at most
// what its queue and every parent of that may have. A queue always gets its quota; -1 means any
// number. It gets at most its limit; -1 means any number, and 0 or no limit means its quota. Beyond
// its quota a queue gets GPUs only if its overQuotaWeight is above 0.

// queueLabel names the queue of a pod.
const queueLabel = "kai.scheduler/queue"

var queueGVR = schema.GroupVersionResource{Group: "scheduling.run.ai", Version: "v2", Resource: "queues"}

// mostParents is how deep queues may be nested; KAI has two levels.
const mostParents = 8

// judgeQueues compares the GPUs of the pods with what their queues may have. It gives a line for
// each queue. An error is the cluster's: a Queue could not be read, which says nothing about the
// recipe.
func (r *Run) judgeQueues(ctx context.Context, p *Probe, pods []corev1.Pod) ([]string, *result.Failure, error) {
	want := map[string]int{}
	for i := range pods {
		if q := pods[i].Labels[queueLabel]; q != "" {
			want[q] += infra.PodGPUs(&pods[i])
		}
	}
	get := func(name string) (*unstructured.Unstructured, error) {
		return r.Clients.Dynamic.Resource(queueGVR).Get(ctx, name, metav1.GetOptions{})
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		v, err := judgeQueue(get, name, want[name])
		var fault *queueFault
		switch {
		case errors.As(err, &fault):
			return nil, r.queueFails(p, fault), nil
		case err != nil:
			return nil, nil, err
		}
		lines = append(lines, v)
	}
	return lines, nil, nil
}

// queueFails blames the Queue object, with the place that installs it.
func (r *Run) queueFails(p *Probe, fault *queueFault) *result.Failure {
	failure := p.fails(p.Line, fault.Error(), nil, "kube-scheduler, which places the pods in the name of KAI, knows no queues: this is judged from the Queue objects.")
	f := &failure.Findings[0]
	f.Object = &result.Ref{Group: queueGVR.Group, Kind: "Queue", Name: fault.queue}
	if r.Origin == nil {
		return failure
	}
	o := r.Origin(*f.Object)
	if o == nil {
		f.Story = append(f.Story, f.Object.String()+": no chart of the recipe has it.")
		return failure
	}
	f.Component, f.Place = o.Component, o.Place
	f.Story = append(f.Story, fmt.Sprintf("%s: component %s, %s", f.Object, o.Component, o.Where))
	return failure
}

// queueFault is why a queue may not have the GPUs. It is the recipe's: the Queue objects were read.
type queueFault struct {
	// queue is the one to blame, which may be a parent of the job's.
	queue, what string
}

func (f *queueFault) Error() string { return f.what }

func faultOf(queue, format string, args ...any) error {
	return &queueFault{queue, fmt.Sprintf(format, args...)}
}

// judgeQueue says how a queue may have so many GPUs. A queueFault: it may not. Any other error:
// that is not known.
func judgeQueue(get func(string) (*unstructured.Unstructured, error), name string, gpus int) (string, error) {
	over := ""
	for q, depth := name, 0; q != ""; depth++ {
		if depth > mostParents {
			return "", faultOf(name, "queue %s: its parents lead to each other", name)
		}
		o, err := get(q)
		switch {
		case apierrors.IsNotFound(err) && q == name:
			return "", faultOf(q, "queue %s does not exist", q)
		case apierrors.IsNotFound(err):
			return "", faultOf(q, "queue %s: its parent %s does not exist", name, q)
		case err != nil:
			return "", reason.New(reason.ClusterFailed, "read queue %s: %w", q, err)
		}
		have := gpusOf(o)
		if most := have.most(); float64(gpus) > most {
			return "", faultOf(q, "queue %s: it may have %s, and the job needs %d (%s)", q, gpuCount(most), gpus, have)
		}
		parent, _, _ := unstructured.NestedString(o.Object, "spec", "parentQueue")
		if q == name && parent == "" {
			return "", faultOf(q, "queue %s has no parent, and KAI places jobs only in queues that have one", name)
		}
		if float64(gpus) > have.guaranteed() && over == "" {
			over = fmt.Sprintf(", over the quota of queue %s: another queue with a quota may take them back", q)
		}
		q = parent
	}
	return fmt.Sprintf("queue %s may have %s, judged from the Queue objects%s", name, lists.Count(gpus, "GPU"), over), nil
}

// queueGPUs is what a Queue says about GPUs.
type queueGPUs struct {
	quota, limit, weight float64
	silent               bool
}

func gpusOf(o *unstructured.Unstructured) queueGPUs {
	m, ok, _ := unstructured.NestedMap(o.Object, "spec", "resources", "gpu")
	number := func(key string) float64 {
		switch n := m[key].(type) {
		case int64:
			return float64(n)
		case float64:
			return n
		}
		return 0
	}
	return queueGPUs{number("quota"), number("limit"), number("overQuotaWeight"), !ok}
}

// guaranteed is the quota; -1 stands for any number.
func (q queueGPUs) guaranteed() float64 {
	if q.quota < 0 {
		return math.Inf(1)
	}
	return q.quota
}

// most is how many GPUs a job is given at most that may be preempted.
func (q queueGPUs) most() float64 {
	limit := q.limit
	switch {
	case limit == 0:
		return q.guaranteed()
	case limit < 0:
		limit = math.Inf(1)
	}
	if q.weight > 0 {
		return limit
	}
	return min(limit, q.guaranteed())
}

func (q queueGPUs) String() string {
	if q.silent {
		return "its spec.resources says nothing about gpu"
	}
	return fmt.Sprintf("gpu quota %g, limit %g, overQuotaWeight %g", q.quota, q.limit, q.weight)
}

func gpuCount(n float64) string {
	if n == 0 {
		return "no GPU"
	}
	return lists.Count(int(n), "GPU")
}
