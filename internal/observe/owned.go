package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// OwnedPod is a pod with the controller that made it. Of a ReplicaSet's pod that is the Deployment,
// if the ReplicaSet has one.
type OwnedPod struct {
	Pod   *corev1.Pod
	Owner *metav1.OwnerReference
}

// OwnedPods lists the pods of a cluster that a controller made. It reads less than Poll, and knows
// nothing of workloads without pods.
func OwnedPods(ctx context.Context, kube kubernetes.Interface) ([]OwnedPod, error) {
	sets, err := kube.AppsV1().ReplicaSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list ReplicaSets: %w", err)
	}
	list, err := kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	above := map[types.UID]*metav1.OwnerReference{}
	for i := range sets.Items {
		above[sets.Items[i].UID] = metav1.GetControllerOf(&sets.Items[i])
	}
	var all []OwnedPod
	for i := range list.Items {
		owner := metav1.GetControllerOf(&list.Items[i])
		if owner == nil {
			continue
		}
		if top := above[owner.UID]; top != nil {
			owner = top
		}
		all = append(all, OwnedPod{&list.Items[i], owner})
	}
	return all, nil
}
