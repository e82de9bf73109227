package observe

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
)

// lists are everything that a view is built from.
type lists struct {
	taken        time.Time
	nodes        []corev1.Node
	pods         []corev1.Pod
	deployments  []appsv1.Deployment
	replicaSets  []appsv1.ReplicaSet
	statefulSets []appsv1.StatefulSet
	daemonSets   []appsv1.DaemonSet
	jobs         []batchv1.Job
	replications []corev1.ReplicationController
	cronJobs     []batchv1.CronJob
}

// list reads the lists from the API server.
func list(ctx context.Context, kube kubernetes.Interface) (*lists, error) {
	l := &lists{taken: time.Now()}
	var opts metav1.ListOptions
	deployments, err := kube.AppsV1().Deployments("").List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list Deployments: %w", err)
	}
	replicaSets, err := kube.AppsV1().ReplicaSets("").List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list ReplicaSets: %w", err)
	}
	statefulSets, err := kube.AppsV1().StatefulSets("").List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list StatefulSets: %w", err)
	}
	daemonSets, err := kube.AppsV1().DaemonSets("").List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list DaemonSets: %w", err)
	}
	jobs, err := kube.BatchV1().Jobs("").List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list Jobs: %w", err)
	}
	cronJobs, err := kube.BatchV1().CronJobs("").List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list CronJobs: %w", err)
	}
	replications, err := kube.CoreV1().ReplicationControllers("").List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list ReplicationControllers: %w", err)
	}
	// Pods come after these: the workload of a listed pod was listed before, unless it is newer still.
	if l.pods, err = listPods(ctx, kube); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	// Nodes come last: that of a listed pod may have been made meanwhile (Growth), and would not be known.
	nodes, err := kube.CoreV1().Nodes().List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	l.nodes, l.deployments, l.replicaSets = nodes.Items, deployments.Items, replicaSets.Items
	l.statefulSets, l.daemonSets, l.jobs, l.cronJobs, l.replications = statefulSets.Items, daemonSets.Items, jobs.Items, cronJobs.Items, replications.Items
	return l, nil
}

// podsAPage is how many pods one request lists: all of a usual cluster. The 17,000 pods of 1,000 nodes
// are 120 MB in one answer, of which this process would have the bytes and the objects at once.
const podsAPage = 1000

// listPods lists all pods as they were at one moment, without their managed fields, which are not
// used here and are a third of a pod.
func listPods(ctx context.Context, kube kubernetes.Interface) (pods []corev1.Pod, err error) {
	pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		page, err := kube.CoreV1().Pods("").List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			page.Items[i].ManagedFields = nil
		}
		return page, nil
	})
	pages.PageSize = podsAPage
	all, _, err := pages.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pods, meta.EachListItem(all, func(o runtime.Object) error {
		pods = append(pods, *o.(*corev1.Pod))
		return nil
	})
}
