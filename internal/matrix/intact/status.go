package intact

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// refusedStatus finds what a policy of the recipe would deny those who report: to a controller the
// status of its workload, and to a kubelet that of a pod, of which one of each owner is tried. What
// is Ready was reported before the policy was in force, and no change is reported after it. Each is
// tried in a dry run under the reporter's account, and changes nothing.
func refusedStatus(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) (all []refusal, err error) {
	as := newAccounts(clients)
	for i := range e.Workloads {
		w := &e.Workloads[i]
		maker := makers[w.Kind]
		if maker == "" {
			continue
		}
		client, err := as.controller(maker)
		if err != nil {
			return nil, err
		}
		if why := reasonOf(report(ctx, clients.Kube, client, w)); why != "" {
			all = append(all, refusal{result.Ref{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}, w.Component, "the next report of its status", why, unreported, &reportDenied})
		}
	}
	pods, err := refusedPods(ctx, clients.Kube, as, e)
	return append(all, pods...), err
}

// report updates the status of a workload with what it is. An error that is no denial of a policy is
// nothing that this is about: the workload may be gone, or have been changed meanwhile.
func report(ctx context.Context, kube, as kubernetes.Interface, w *bundle.Workload) error {
	switch w.Kind {
	case "Deployment":
		return resend(ctx, kube.AppsV1().Deployments(w.Namespace).Get, as.AppsV1().Deployments(w.Namespace).UpdateStatus, w.Name)
	case "ReplicaSet":
		return resend(ctx, kube.AppsV1().ReplicaSets(w.Namespace).Get, as.AppsV1().ReplicaSets(w.Namespace).UpdateStatus, w.Name)
	case "StatefulSet":
		return resend(ctx, kube.AppsV1().StatefulSets(w.Namespace).Get, as.AppsV1().StatefulSets(w.Namespace).UpdateStatus, w.Name)
	case "DaemonSet":
		return resend(ctx, kube.AppsV1().DaemonSets(w.Namespace).Get, as.AppsV1().DaemonSets(w.Namespace).UpdateStatus, w.Name)
	case "Job":
		return resend(ctx, kube.BatchV1().Jobs(w.Namespace).Get, as.BatchV1().Jobs(w.Namespace).UpdateStatus, w.Name)
	case "ReplicationController":
		return resend(ctx, kube.CoreV1().ReplicationControllers(w.Namespace).Get, as.CoreV1().ReplicationControllers(w.Namespace).UpdateStatus, w.Name)
	}
	return nil
}

// resend reads an object and sends its status as it is, in a dry run.
func resend[T any](ctx context.Context, read func(context.Context, string, metav1.GetOptions) (*T, error), send func(context.Context, *T, metav1.UpdateOptions) (*T, error), name string) error {
	o, err := read(ctx, name, metav1.GetOptions{})
	if err == nil {
		_, err = send(ctx, o, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	return err
}

// refusedPods tries one pod of each owner, and a node of them.
func refusedPods(ctx context.Context, kube kubernetes.Interface, as accounts, e *bundle.Expectation) (all []refusal, err error) {
	pods, err := kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the pods whose status is to be tried against the recipe's policies: %w", err)
	}
	tried, node := map[string]bool{}, ""
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || pod.Spec.NodeName == "" || tried[string(owner.UID)] {
			continue
		}
		tried[string(owner.UID)], node = true, pod.Spec.NodeName
		kubelet, err := as.kubelet(pod.Spec.NodeName)
		if err != nil {
			return nil, err
		}
		_, err = kubelet.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if why := reasonOf(err); why != "" {
			f := deniedFinding(e, trial{kind: "pod", object: pod, owner: owner}, why)
			all = append(all, refusal{*f.Object, f.Component, "the next report of a pod's status", why, unreported, &reportDenied})
		}
	}
	if node == "" {
		return all, nil
	}
	more, err := refusedNode(ctx, kube, as, e, node)
	return append(all, more...), err
}
