package observe

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Watches are watches of a cluster that all who follow it share: the pods of 1,000 nodes take 170 MB in
// each copy, and are decoded once for each. They are started as they are asked for.
type Watches struct {
	factory informers.SharedInformerFactory
	ctx     context.Context
	end     context.CancelFunc
}

// NewWatches watches nothing yet. The watches outlive ctx, and end with Stop.
func NewWatches(ctx context.Context, kube kubernetes.Interface) *Watches {
	w := &Watches{factory: informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTransform(withoutManagedFields))}
	w.ctx, w.end = context.WithCancel(context.WithoutCancel(ctx))
	return w
}

// Stop ends the watches, and returns when their last events have been handled.
func (w *Watches) Stop() {
	w.end()
	w.factory.Shutdown()
}

// Pods are those of all namespaces, watched once Start has been called.
func (w *Watches) Pods() cache.SharedIndexInformer { return w.factory.Core().V1().Pods().Informer() }

// Nodes are watched once Start has been called.
func (w *Watches) Nodes() cache.SharedIndexInformer { return w.factory.Core().V1().Nodes().Informer() }

// Start starts the watches of what was asked for since the last call.
func (w *Watches) Start() { w.factory.StartWithContext(w.ctx) }

// Watcher follows a cluster by watches, for clusters where listing every pod in each poll would
// cost more than all else: 15,000 pods are some 100 MB a list.
//
// Its views may be behind, each kind by itself. They only show that something is not ready yet;
// every decision needs a view from Poll.
type Watcher struct {
	factory informers.SharedInformerFactory
	stores  []cache.SharedIndexInformer
}

// Watch starts following a cluster, until its watches end.
func Watch(watches *Watches) *Watcher {
	f := watches.factory
	w := &Watcher{factory: f, stores: []cache.SharedIndexInformer{
		f.Core().V1().Nodes().Informer(), f.Core().V1().Pods().Informer(), f.Apps().V1().Deployments().Informer(), f.Apps().V1().ReplicaSets().Informer(),
		f.Apps().V1().StatefulSets().Informer(), f.Apps().V1().DaemonSets().Informer(), f.Batch().V1().Jobs().Informer(), f.Batch().V1().CronJobs().Informer(), f.Core().V1().ReplicationControllers().Informer(),
	}}
	watches.Start()
	return w
}

// withoutManagedFields drops the managed fields, which are not used here and are the largest part
// of many objects.
func withoutManagedFields(obj any) (any, error) {
	if m, err := meta.Accessor(obj); err == nil {
		m.SetManagedFields(nil)
	}
	return obj, nil
}

// View returns what was seen so far; false until every kind was listed once.
func (w *Watcher) View() (*View, bool) {
	for _, s := range w.stores {
		if !s.HasSynced() {
			return nil, false
		}
	}
	l := &lists{taken: time.Now()}
	f := w.factory
	l.nodes = values[corev1.Node](f.Core().V1().Nodes().Informer())
	l.pods = values[corev1.Pod](f.Core().V1().Pods().Informer())
	l.deployments = values[appsv1.Deployment](f.Apps().V1().Deployments().Informer())
	l.replicaSets = values[appsv1.ReplicaSet](f.Apps().V1().ReplicaSets().Informer())
	l.statefulSets = values[appsv1.StatefulSet](f.Apps().V1().StatefulSets().Informer())
	l.daemonSets = values[appsv1.DaemonSet](f.Apps().V1().DaemonSets().Informer())
	l.jobs = values[batchv1.Job](f.Batch().V1().Jobs().Informer())
	l.replications = values[corev1.ReplicationController](f.Core().V1().ReplicationControllers().Informer())
	l.cronJobs = values[batchv1.CronJob](f.Batch().V1().CronJobs().Informer())
	return l.view(), true
}

// values returns copies of a store's objects, sorted by key. They share their content with the
// store and must only be read.
func values[T any](s cache.SharedIndexInformer) []T {
	keys := s.GetStore().ListKeys()
	slices.Sort(keys)
	items := make([]T, 0, len(keys))
	for _, key := range keys {
		obj, ok, _ := s.GetStore().GetByKey(key) // a store in memory has no errors
		if item, is := obj.(*T); ok && is {
			items = append(items, *item)
		}
	}
	return items
}
