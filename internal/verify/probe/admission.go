package probe

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
)

// workload is what Kueue makes of each job that it holds back until a queue has room for it.
var workload = schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}

// admission is what Kueue has decided of a probe's jobs.
type admission struct {
	// refusals are its words about jobs that it does not admit.
	refusals []string
	// silent are how many jobs it has said nothing about yet.
	silent int
}

// admission reads what Kueue says of the jobs; nothing in a cluster without it.
func (r *Run) admission(ctx context.Context) (admission, error) {
	var a admission
	mapping, err := r.mapper.RESTMapping(workload)
	if meta.IsNoMatchError(err) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	list, err := r.Clients.Dynamic.Resource(mapping.Resource).Namespace(Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("read the Workloads of namespace %s: %w", Namespace, err)
	}
	for i := range list.Items {
		a.see(&list.Items[i])
	}
	if len(a.refusals) > 0 {
		err = r.inactive(ctx, &a)
	}
	return a, err
}

// inactive adds why the queues admit nothing that Kueue's words about jobs name: of these it says
// only that they are inactive.
func (r *Run) inactive(ctx context.Context, a *admission) error {
	mapping, err := r.mapper.RESTMapping(schema.GroupKind{Group: workload.Group, Kind: "ClusterQueue"})
	if err != nil {
		return err
	}
	list, err := r.Clients.Dynamic.Resource(mapping.Resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("read the ClusterQueues: %w", err)
	}
	for i := range list.Items {
		a.explain(&list.Items[i])
	}
	return nil
}

// explain adds why a ClusterQueue is inactive to the refusals that name it.
func (a *admission) explain(queue *unstructured.Unstructured) {
	for _, c := range infra.Conditions(queue) {
		if c.Type != "Active" || c.Status != metav1.ConditionFalse {
			continue
		}
		for i, said := range a.refusals {
			if strings.HasSuffix(said, "ClusterQueue "+queue.GetName()+" is inactive") {
				a.refusals[i] = said + ": " + c.Message
			}
		}
	}
}

// see takes in one Workload.
func (a *admission) see(w *unstructured.Unstructured) {
	of := "Workload " + w.GetName()
	if owner := metav1.GetControllerOf(w); owner != nil {
		of = owner.Kind + " " + owner.Name
	}
	for _, c := range infra.Conditions(w) {
		switch {
		case c.Type == "Admitted" && c.Status == metav1.ConditionTrue, c.Type == "Finished" && c.Status == metav1.ConditionTrue:
			return
		case c.Type == "QuotaReserved" && c.Status == metav1.ConditionFalse:
			a.refusals = append(a.refusals, fmt.Sprintf("%s is not admitted by Kueue: %s", of, c.Message))
			return
		}
	}
	a.silent++
}

// line is what Kueue says, for a reader who waits.
func (a admission) line() string {
	if len(a.refusals) == 0 {
		return ""
	}
	return "; " + strings.Join(a.refusals, "; ")
}

// undecided reports whether pods may still come although nothing changes: a controller that runs may
// be slow, and so may Kueue be until it has spoken of each job.
func (a admission) undecided(runs bool) bool {
	return a.silent > 0 || runs && len(a.refusals) == 0
}
