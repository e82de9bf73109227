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
	as := map[string]kubernetes.Interface{}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		maker := makers[w.Kind]
		if maker == "" {
			continue
		}
		if as[maker] == nil {
			if as[maker], err = clients.AsServiceAccount(metav1.NamespaceSystem, maker, nil); err != nil {
				return nil, fmt.Errorf("make a client for dry runs: %w", err)
			}
		}
		if why := reasonOf(report(ctx, clients.Kube, as[maker], w)); why != "" {
			all = append(all, refusal{result.Ref{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}, w.Component, "the next report of its status", why, true})
		}
	}
	pods, err := refusedPods(ctx, clients, e)
	return append(all, pods...), err
}

// report updates the status of a workload with what it is. An error that is no denial of a policy is
// nothing that this is about: the workload may be gone, or have been changed meanwhile.
func report(ctx context.Context, kube, as kubernetes.Interface, w *bundle.Workload) (err error) {
	get, dry := metav1.GetOptions{}, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
	switch w.Kind {
	case "Deployment":
		return resend(ctx, kube.AppsV1().Deployments(w.Namespace).Get, as.AppsV1().Deployments(w.Namespace).UpdateStatus, w.Name, get, dry)
	case "ReplicaSet":
		return resend(ctx, kube.AppsV1().ReplicaSets(w.Namespace).Get, as.AppsV1().ReplicaSets(w.Namespace).UpdateStatus, w.Name, get, dry)
	case "StatefulSet":
		return resend(ctx, kube.AppsV1().StatefulSets(w.Namespace).Get, as.AppsV1().StatefulSets(w.Namespace).UpdateStatus, w.Name, get, dry)
	case "DaemonSet":
		return resend(ctx, kube.AppsV1().DaemonSets(w.Namespace).Get, as.AppsV1().DaemonSets(w.Namespace).UpdateStatus, w.Name, get, dry)
	case "Job":
		return resend(ctx, kube.BatchV1().Jobs(w.Namespace).Get, as.BatchV1().Jobs(w.Namespace).UpdateStatus, w.Name, get, dry)
	case "ReplicationController":
		return resend(ctx, kube.CoreV1().ReplicationControllers(w.Namespace).Get, as.CoreV1().ReplicationControllers(w.Namespace).UpdateStatus, w.Name, get, dry)
	}
	return nil
}

// resend reads an object and sends its status as it is.
func resend[T any](ctx context.Context, read func(context.Context, string, metav1.GetOptions) (*T, error), send func(context.Context, *T, metav1.UpdateOptions) (*T, error), name string, get metav1.GetOptions, dry metav1.UpdateOptions) error {
	o, err := read(ctx, name, get)
	if err == nil {
		_, err = send(ctx, o, dry)
	}
	return err
}

// refusedPods tries one pod of each owner.
func refusedPods(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) (all []refusal, err error) {
	pods, err := clients.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the pods whose status is to be tried against the recipe's policies: %w", err)
	}
	tried, as := map[string]bool{}, map[string]kubernetes.Interface{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || pod.Spec.NodeName == "" || tried[string(owner.UID)] {
			continue
		}
		tried[string(owner.UID)] = true
		kubelet := as[pod.Spec.NodeName]
		if kubelet == nil {
			if kubelet, err = clients.AsNode(pod.Spec.NodeName); err != nil {
				return nil, fmt.Errorf("make a client for dry runs: %w", err)
			}
			as[pod.Spec.NodeName] = kubelet
		}
		_, err := kubelet.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if why := reasonOf(err); why != "" {
			f := deniedFinding(e, trial{kind: "pod", object: pod, owner: owner}, why)
			all = append(all, refusal{*f.Object, f.Component, "the next report of a pod's status", why, true})
		}
	}
	return all, nil
}
