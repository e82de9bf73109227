package gate

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// heldFor is how long Kueue has to admit what it holds back: another job may leave the queue.
const heldFor = 20 * time.Second

// held moves the Jobs that the recipe's own Kueue may still admit, or is still to make a Workload of, from what is wrong
// to what is waited for: a Job is suspended from its creation to its admission. What is said of the others is Kueue's.
func (g *Gate) held(ctx context.Context, r *observe.WorkloadReport) {
	seen := map[string]bool{}
	var wrong []observe.WrongWorkload
	for _, w := range r.Wrong {
		if !slices.Contains(w.Fields, "spec.suspend") {
			wrong = append(wrong, w)
			continue
		}
		workloads, served := g.workloads(ctx, w.Workload.Namespace)
		text, found := heldBack("Job", w.Workload.Name, workloads)
		text = g.inactive(ctx, text)
		least := heldFor
		if !found {
			text, least = w.Text, pendingFor
		}
		key := "held " + observe.WorkloadKey(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name) + text
		seen[key] = true
		if served && !g.lasts(key, least) {
			r.Waiting = append(r.Waiting, observe.WaitingWorkload{Workload: w.Workload, Text: cmp.Or(text, "Kueue has admitted it, and it is still suspended"), Started: true})
			continue
		}
		switch {
		case found && text != "":
			w.Text, w.Fields = text, nil
		case !found && served:
			w.Text += "; Kueue has made no Workload of it"
		}
		wrong = append(wrong, w)
	}
	r.Wrong = wrong
	g.keepOnly("held ", seen)
}

// workloads are what Kueue has made of the jobs of a namespace; false without Kueue.
func (g *Gate) workloads(ctx context.Context, namespace string) (all []unstructured.Unstructured, served bool) {
	return g.ofKueue(ctx, "workloads", namespace)
}

// ofKueue are the objects of a resource of Kueue; false if it is not served.
func (g *Gate) ofKueue(ctx context.Context, resource, namespace string) (all []unstructured.Unstructured, served bool) {
	if g.Env.Clients.Dynamic == nil {
		return nil, false
	}
	for _, version := range []string{"v1beta2", "v1beta1"} {
		of := schema.GroupVersionResource{Group: queues, Version: version, Resource: resource}
		if list, err := g.Env.Clients.Dynamic.Resource(of).Namespace(namespace).List(ctx, metav1.ListOptions{}); err == nil {
			return list.Items, true
		}
	}
	return nil, false
}

// inactive adds why a queue admits nothing to what Kueue says of a job: only that the queue is inactive.
func (g *Gate) inactive(ctx context.Context, text string) string {
	if !strings.HasSuffix(text, " is inactive") {
		return text
	}
	all, _ := g.ofKueue(ctx, "clusterqueues", "")
	for i := range all {
		if status, said := infra.Condition(&all[i], "Active"); status == string(metav1.ConditionFalse) && strings.HasSuffix(text, "ClusterQueue "+all[i].GetName()+" is inactive") {
			return text + ": " + said
		}
	}
	return text
}

// queues is Kueue's API group.
const queues = "kueue.x-k8s.io"

// checkHeld checks that the recipe's own Kueue admits what other controllers make pods of, e.g. JobSets: their status
// is not judged. False: the gate is not to go on.
func (g *Gate) checkHeld(ctx context.Context) (r wait.Result, ok bool) {
	seen := map[string]bool{}
	late := ""
	for i := range g.Env.Bundle.Expectation.Objects {
		o := &g.Env.Bundle.Expectation.Objects[i]
		if o.Object.GetLabels()[queues+"/queue-name"] == "" || !slices.Contains([]string{"jobset.x-k8s.io", "trainer.kubeflow.org"}, o.Object.GroupVersionKind().Group) {
			continue
		}
		workloads, _ := g.workloads(ctx, o.Object.GetNamespace())
		text, _ := heldBack(o.Object.GetKind(), o.Object.GetName(), workloads)
		text = g.inactive(ctx, text)
		if text == "" {
			continue // Kueue does not run, or it has admitted the object
		}
		ref := o.Ref()
		key := "queued " + ref.String() + text
		seen[key] = true
		late = ref.String() + ": " + text
		if g.lasts(key, heldFor) {
			return wait.Never(&reason.Error{Reason: reason.WorkloadFailed, Err: result.NewFailure(result.Finding{Cause: late, Object: &ref, Component: o.Component})}), false
		}
	}
	g.keepOnly("queued ", seen)
	if late != "" {
		return wait.NotYet("%s", late), false
	}
	return wait.Done(), true
}

// heldBack is what Kueue says of a job among its Workloads: nothing of one that it has admitted. False if it has none
// for the job.
func heldBack(kind, name string, workloads []unstructured.Unstructured) (text string, found bool) {
	for i := range workloads {
		w := &workloads[i]
		if owner := metav1.GetControllerOf(w); owner == nil || owner.Kind != kind || owner.Name != name {
			continue
		}
		text, found = "it is suspended, and Kueue has said nothing of it yet", true
		for _, c := range infra.Conditions(w) {
			switch {
			case (c.Type == "Admitted" || c.Type == "Finished") && c.Status == metav1.ConditionTrue:
				return "", true
			case c.Type == "QuotaReserved" && c.Status == metav1.ConditionFalse:
				text = "it is not admitted by Kueue: " + c.Message
			}
		}
	}
	return text, found
}
