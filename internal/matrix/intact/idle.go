package intact

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
)

// podMakers are the accounts that create the first pod of a workload without one.
var podMakers = map[string]string{"CronJob": "job-controller", "Job": "job-controller", "Deployment": "replicaset-controller", "ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller", "StatefulSet": "statefulset-controller"}

// idle lists the first pods of workloads that have none yet: CronJobs, suspended Jobs, and what has no
// replicas. The API server has refused none of them so far, because nobody has asked.
func idle(e *bundle.Expectation) (all []trial) {
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if w.Kind != "CronJob" && w.Replicas != 0 || podMakers[w.Kind] == "" {
			continue
		}
		template := templateOf(e, w)
		if template == nil {
			continue
		}
		yes := true
		owner := metav1.OwnerReference{APIVersion: "batch/v1", Kind: w.Kind, Name: w.Name, UID: types.UID("idle " + w.Kind + " " + w.Namespace + "/" + w.Name), Controller: &yes}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: strings.TrimRight(w.Name[:min(len(w.Name), 50)], "-.") + "-zzzzz", Labels: template.Labels, Annotations: template.Annotations, OwnerReferences: []metav1.OwnerReference{owner}}, Spec: template.Spec}
		all = append(all, trial{kind: "pod", object: &pod.ObjectMeta, owner: &owner, as: podMakers[w.Kind], create: func(ctx context.Context, as kubernetes.Interface) (*corev1.Pod, error) {
			return as.CoreV1().Pods(pod.Namespace).Create(ctx, &pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		}})
	}
	return all
}

// templateOf is the pod template of a workload as it was rendered; nil if an operator makes the workload.
func templateOf(e *bundle.Expectation, w *bundle.Workload) *corev1.PodTemplateSpec {
	for i := range e.Objects {
		o := e.Objects[i].Object
		if o.GetKind() != w.Kind || o.GetNamespace() != w.Namespace || o.GetName() != w.Name {
			continue
		}
		if m, _ := podspec.Template(o); m != nil {
			if t, err := podspec.Read(m); err == nil {
				return t
			}
		}
	}
	return nil
}
