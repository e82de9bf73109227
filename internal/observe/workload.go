package observe

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// Workload is the state of one workload in a cluster, by its own spec and pods, expected or not.
type Workload struct {
	Ref result.Ref
	UID types.UID
	// Want is how many pods should run now, Ready how many run and are ready.
	Want, Ready int
	// Done means that it has completed, as a Job does. Failed is why it will not continue, e.g. the
	// Job's condition; empty otherwise.
	Done   bool
	Failed string
	// Complaint is its controller's error about pods that it cannot create.
	Complaint string
	// Pods are its pods that have not ended, including those that are being deleted.
	Pods []*corev1.Pod
}

// Workloads returns the workloads that have pods or should have some, by kind, namespace and name.
// The topmost owner counts: the pods of a Job that a custom resource made belong to that resource.
// Workloads on the nodes that run the cluster's own pods are left out.
func (v *View) Workloads() []Workload {
	byUID := map[types.UID]*Workload{}
	for _, w := range v.Live {
		at := byUID[w.UID]
		if above := v.aboveJob(w.UID); above != nil { // its pods are the owner's
			if at = byUID[above.UID]; at == nil {
				at = above
				byUID[at.UID] = at
			}
			at.Done = at.Done || w.complete
			if at.Failed == "" {
				at.Failed = w.failed
			}
		} else {
			if at == nil {
				at = &Workload{UID: w.UID}
				byUID[w.UID] = at
			}
			at.Ref, at.Done, at.Failed, at.Complaint = w.ref, w.complete, w.failed, w.complaint
		}
		if !w.complete && w.failed == "" {
			at.Want += w.want
		}
	}
	for _, at := range byUID {
		at.Done = at.Done && at.Want == 0 // one of several Jobs may be complete
	}
	simulated := map[string]bool{"": true}
	for i := range v.Nodes {
		simulated[v.Nodes[i].Name] = true
	}
	host := map[types.UID]bool{}
	for i := range v.Pods {
		p := &v.Pods[i]
		at := v.workloadOf(p, byUID)
		if !simulated[p.Spec.NodeName] {
			host[at.UID] = true
		}
		if at.UID == p.UID { // a pod without an owner
			at.Done = p.Status.Phase == corev1.PodSucceeded
			if p.Status.Phase == corev1.PodFailed {
				at.Failed = "the pod failed"
			} else if !at.Done {
				at.Want = 1
			}
		}
		if infra.PodEnded(p) {
			continue
		}
		at.Pods = append(at.Pods, p)
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && PodReady(p) {
			at.Ready++
		}
	}
	var all []Workload
	for uid, at := range byUID {
		if !host[uid] && (at.Want > 0 || len(at.Pods) > 0 || at.Done || at.Failed != "") {
			all = append(all, *at)
		}
	}
	slices.SortFunc(all, func(a, b Workload) int {
		return cmp.Or(strings.Compare(a.Ref.Kind, b.Ref.Kind), strings.Compare(a.Ref.Namespace, b.Ref.Namespace), strings.Compare(a.Ref.Name, b.Ref.Name))
	})
	return all
}

// aboveJob returns the owner of a Job that a controller made; nil for any other workload.
func (v *View) aboveJob(uid types.UID) *Workload {
	job, ok := v.owners[uid]
	if !ok {
		return nil
	}
	ref := v.topOwner(job)
	if ref == nil {
		return nil
	}
	return &Workload{UID: ref.UID, Ref: refOf(ref.APIVersion, ref.Kind, job.GetNamespace(), ref.Name)}
}

// workloadOf returns the workload of a pod; it adds one if its kind is not listed.
func (v *View) workloadOf(p *corev1.Pod, byUID map[types.UID]*Workload) *Workload {
	at := &Workload{UID: p.UID, Ref: WorkloadRef("Pod", p.Namespace, p.Name)}
	if ref := v.topOwner(p); ref != nil {
		at.UID, at.Ref = ref.UID, refOf(ref.APIVersion, ref.Kind, p.Namespace, ref.Name)
	}
	if have := byUID[at.UID]; have != nil {
		return have
	}
	byUID[at.UID] = at
	if at.UID != p.UID {
		at.Want = len(v.PodsOf[at.UID]) // no kind that is listed: only its pods say how many there should be
	}
	return at
}

func refOf(apiVersion, kind, namespace, name string) result.Ref {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		gv = schema.GroupVersion{}
	}
	return result.Ref{Group: gv.Group, Kind: kind, Namespace: namespace, Name: name}
}
