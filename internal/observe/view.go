// Package observe reads a cluster once per poll, and says which workloads, pods and nodes of that
// view are not as expected. It knows the expectation and Kubernetes' own kinds. It must not wait,
// judge, or know what a lane is.
package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// View is the workloads, pods and nodes of a cluster, read once per poll, so that every statement
// about a poll is about the same lists (faults F15: five lists gave five answers).
type View struct {
	Taken  time.Time
	Nodes  []corev1.Node
	Pods   []corev1.Pod
	owners map[types.UID]metav1.Object // ReplicaSets, Jobs: what stands between a pod and its workload
	Live   map[string]LiveWorkload     // by kind namespace/name
	PodsOf map[types.UID][]*corev1.Pod // by the UID of the workload at the top
	// Namespaces, LimitRanges, Volumes and Devices are empty before ReadScheduling.
	Namespaces  []corev1.Namespace
	LimitRanges []corev1.LimitRange
	Volumes     Volumes
	Devices     Devices
	// Growth is the groups of nodes of which the cluster may make some.
	Growth Growth
	// RuntimeClasses are by name; nil where they were not read.
	RuntimeClasses map[string]*nodev1.RuntimeClass
	// Jobs says how Jobs ended that no longer exist; nil if no watch of them was started.
	Jobs *Jobs
	// Earlier are Jobs that had failed before what is awaited was delivered, and that a deployer may still replace.
	Earlier map[types.UID]bool
	// Spent are those of them that no deployer replaces, since it does not run them again: they say nothing of what is there now.
	Spent   map[types.UID]bool
	refused map[types.UID]string // why pods could not be created, by the UID of the controller; nil before ReadRefusals
	// missingClaims are ResourceClaims by namespace and name that pods wait for; nil before ReadRefusals.
	missingClaims map[string]bool
}

// LiveWorkload is what the gate needs of a live workload of any kind.
type LiveWorkload struct {
	ref        result.Ref
	UID        types.UID
	generation int64
	observed   int64
	// complete and failed are set for Jobs.
	complete bool
	failed   string
	// enough means that the Job is complete by fewer pods than it may have had: by its successPolicy, or
	// as a work queue, whose first success ends it.
	enough bool
	// complaint is the controller's own, e.g. a ReplicaFailure condition.
	complaint string
	// paused is set for a Deployment whose controller makes no pods from a new template.
	paused bool
	// rolling says how far its controller is in replacing the pods of an older template; empty if
	// there are none.
	rolling string
	// Surge is how its rolling update removes no old pod before a new one is ready, e.g. "maxSurge
	// 25%, maxUnavailable 25%; pods: 1"; empty if it removes one first.
	Surge string
	// idle says why a Job that is not complete has no pods and gets none, idleBy is the field that
	// decides it; empty if it may.
	idle, idleBy string
	// want is how many pods there should be now by its spec or, for a DaemonSet, by its controller.
	want int
	// Object is the workload itself. It must only be read.
	Object metav1.Object
}

// WorkloadKey returns the key of a workload in View.Live.
func WorkloadKey(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// WorkloadRef returns the reference to a workload of one of Kubernetes' own kinds.
func WorkloadRef(kind, namespace, name string) result.Ref {
	ref := result.Ref{Kind: kind, Namespace: namespace, Name: name}
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
		ref.Group = appsv1.GroupName
	case "Job", "CronJob":
		ref.Group = batchv1.GroupName
	}
	return ref
}

// add records a live workload.
func (v *View) add(kind string, o metav1.Object, w LiveWorkload) {
	w.ref, w.Object = WorkloadRef(kind, o.GetNamespace(), o.GetName()), o
	v.Live[WorkloadKey(kind, o.GetNamespace(), o.GetName())] = w
}

// Poll reads a cluster once, with one list per kind.
func Poll(ctx context.Context, kube kubernetes.Interface) (*View, error) {
	l, err := list(ctx, kube)
	if err != nil {
		return nil, err
	}
	return l.view(), nil
}

// view builds a View from the lists, which it owns from then on.
func (l *lists) view() *View {
	v := &View{
		Taken: l.taken, Nodes: ofRecipes(l.nodes), Pods: l.pods,
		owners: map[types.UID]metav1.Object{}, Live: map[string]LiveWorkload{}, PodsOf: map[types.UID][]*corev1.Pod{},
	}
	v.addWorkloads(l)
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.DeletionTimestamp != nil {
			continue
		}
		top := v.TopOwner(p)
		v.PodsOf[top] = append(v.PodsOf[top], p)
	}
	return v
}

// ofRecipes drops the nodes that run the cluster's own pods.
func ofRecipes(nodes []corev1.Node) []corev1.Node {
	return slices.DeleteFunc(nodes, func(n corev1.Node) bool { return n.Labels[infra.HostNodeLabel] != "" })
}

func (v *View) addWorkloads(l *lists) {
	for i := range l.deployments {
		d := &l.deployments[i]
		w := LiveWorkload{UID: d.UID, generation: d.Generation, observed: d.Status.ObservedGeneration, paused: d.Spec.Paused, want: orOne(d.Spec.Replicas)}
		if !w.paused {
			w.rolling = rolling(d.Status.UpdatedReplicas, d.Status.Replicas)
		}
		if u := d.Spec.Strategy.RollingUpdate; u != nil {
			w.Surge = surge(u.MaxSurge, u.MaxUnavailable, w.want)
		}
		for _, c := range d.Status.Conditions {
			switch {
			case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
				w.complaint = c.Message
			case c.Type == appsv1.DeploymentProgressing && c.Reason == replicaSetCreateError:
				// Its controller counts a generation as seen only once there is a ReplicaSet.
				w.complaint, w.observed = refusal(c.Message), d.Generation
			}
		}
		v.add("Deployment", d, w)
	}
	for i := range l.replicaSets {
		r := &l.replicaSets[i]
		v.owners[r.UID] = r
		if metav1.GetControllerOf(r) != nil {
			continue // its Deployment is the workload
		}
		w := LiveWorkload{UID: r.UID, generation: r.Generation, observed: r.Status.ObservedGeneration, want: orOne(r.Spec.Replicas)}
		for _, c := range r.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
				w.complaint = c.Message
			}
		}
		v.add("ReplicaSet", r, w)
	}
	for i := range l.replications {
		r := &l.replications[i]
		w := LiveWorkload{UID: r.UID, generation: r.Generation, observed: r.Status.ObservedGeneration, want: orOne(r.Spec.Replicas)}
		for _, c := range r.Status.Conditions {
			if c.Type == corev1.ReplicationControllerReplicaFailure && c.Status == corev1.ConditionTrue {
				w.complaint = c.Message
			}
		}
		v.add("ReplicationController", r, w)
	}
	for i := range l.statefulSets {
		d := &l.statefulSets[i]
		w := LiveWorkload{UID: d.UID, generation: d.Generation, observed: d.Status.ObservedGeneration, want: orOne(d.Spec.Replicas)}
		if s := d.Spec.UpdateStrategy; s.Type != appsv1.OnDeleteStatefulSetStrategyType && (s.RollingUpdate == nil || s.RollingUpdate.Partition == nil || *s.RollingUpdate.Partition == 0) &&
			d.Status.UpdateRevision != d.Status.CurrentRevision {
			w.rolling = rolling(d.Status.UpdatedReplicas, d.Status.Replicas)
		}
		v.add("StatefulSet", d, w)
	}
	for i := range l.daemonSets {
		d := &l.daemonSets[i]
		w := LiveWorkload{UID: d.UID, generation: d.Generation, observed: d.Status.ObservedGeneration, want: int(d.Status.DesiredNumberScheduled)}
		if d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
			w.rolling = rolling(d.Status.UpdatedNumberScheduled, d.Status.CurrentNumberScheduled)
		}
		if u := d.Spec.UpdateStrategy.RollingUpdate; u != nil {
			w.Surge = surge(u.MaxSurge, u.MaxUnavailable, w.want)
		}
		v.add("DaemonSet", d, w)
	}
	for i := range l.jobs {
		j := &l.jobs[i]
		v.owners[j.UID] = j
		w := LiveWorkload{UID: j.UID, generation: j.Generation, observed: j.Generation, want: activeWanted(j)}
		for _, c := range j.Status.Conditions {
			switch {
			case c.Status != corev1.ConditionTrue:
			case c.Type == batchv1.JobComplete:
				w.complete = true
			case c.Type == batchv1.JobFailed:
				w.failed = c.Reason + ": " + c.Message
			}
		}
		w.enough = w.complete && (j.Spec.SuccessPolicy != nil || j.Spec.Completions == nil && orOne(j.Spec.Parallelism) > 1)
		w.idle, w.idleBy = idleJob(j)
		v.add("Job", j, w)
	}
	for i := range l.cronJobs {
		c := &l.cronJobs[i]
		v.add("CronJob", c, LiveWorkload{UID: c.UID, generation: c.Generation, observed: c.Generation})
	}
}

// rolling says that pods of an older template are still there, which an upgrade replaces one after
// another; empty if there are none.
func rolling(updated, all int32) string {
	if updated >= all {
		return ""
	}
	return fmt.Sprintf("%d of its %d pods are of the new template", updated, all)
}

// surge is LiveWorkload.Surge. Percentages are rounded as the controllers round them: what may be too
// many up, what may be missing down. If both are 0, one pod may be missing.
func surge(most, missing *intstr.IntOrString, pods int) string {
	if most == nil || missing == nil {
		return ""
	}
	extra, err := intstr.GetScaledValueFromIntOrPercent(most, pods, true)
	less, err2 := intstr.GetScaledValueFromIntOrPercent(missing, pods, false)
	if err != nil || err2 != nil || less > 0 || extra == 0 {
		return ""
	}
	return fmt.Sprintf("maxSurge %s, maxUnavailable %s; pods: %d", most.String(), missing.String(), pods)
}

// orOne returns the number of replicas, which is 1 if it is not set.
func orOne(replicas *int32) int {
	if replicas == nil {
		return 1
	}
	return int(*replicas)
}

// idleJob says why the Job controller makes no pods, and which field keeps it from that; empty if
// none does.
func idleJob(j *batchv1.Job) (text, field string) {
	switch by := j.Spec.ManagedBy; {
	case j.Spec.Suspend != nil && *j.Spec.Suspend:
		return "it is suspended (spec.suspend), and nothing here resumes it", "spec.suspend"
	case j.Spec.Parallelism != nil && *j.Spec.Parallelism == 0:
		return "it never has a pod (spec.parallelism: 0), so that it is never complete", "spec.parallelism"
	case by != nil && *by != batchv1.JobControllerName:
		return "it is left to another controller (spec.managedBy: " + *by + "), which does not run here", "spec.managedBy"
	}
	return "", ""
}

// activeWanted returns how many pods of a Job should run now.
func activeWanted(j *batchv1.Job) int {
	parallel := orOne(j.Spec.Parallelism)
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		return 0
	}
	if j.Spec.Completions == nil {
		return parallel
	}
	return max(0, min(parallel, int(*j.Spec.Completions)-int(j.Status.Succeeded)))
}

// TopOwner follows a pod's controllers to the workload that a chart contains. A pod without a
// controller is its own workload.
func (v *View) TopOwner(p *corev1.Pod) types.UID {
	if ref := v.topOwner(p); ref != nil {
		return ref.UID
	}
	return p.UID
}

// topOwner returns nil for a pod without a controller.
func (v *View) topOwner(obj metav1.Object) *metav1.OwnerReference {
	var top *metav1.OwnerReference
	for range 4 { // Pod, ReplicaSet or Job, Deployment or CronJob
		ref := metav1.GetControllerOf(obj)
		if ref == nil {
			return top
		}
		top = ref
		next, ok := v.owners[ref.UID]
		if !ok {
			return top
		}
		// A Job that a chart contains is a workload itself, even if a controller made it.
		if ref.Kind == "Job" && metav1.GetControllerOf(next) == nil {
			return top
		}
		obj = next
	}
	return top
}

// BarePod returns a pod without an owner by its name, for an expected workload of kind Pod; nil if
// there is none.
func (v *View) BarePod(namespace, name string) *corev1.Pod {
	for i := range v.Pods {
		if v.Pods[i].Namespace == namespace && v.Pods[i].Name == name && v.Pods[i].DeletionTimestamp == nil {
			return &v.Pods[i]
		}
	}
	return nil
}
