package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
)

// Scheduler places the pods that name it in the field schedulerName. Only one process may run per
// name: two would see each other's placements too late.
type Scheduler struct {
	Client kubernetes.Interface
	// Name is what pods have as schedulerName.
	Name string
	Map  Map
	// Namespace is where the dry run of a pod is made (inForce).
	Namespace string
	// Ready is called with true when the policy that sets the variables takes effect, and with
	// false when it does no longer.
	Ready func(bool) error
	Log   *slog.Logger

	pods  corelisters.PodLister
	nodes corelisters.NodeLister
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
	event events.EventRecorder
	// assumed are pods that were bound, until the watch shows that they are. said is what was last
	// reported of each pod that waits.
	assumed map[types.UID]*corev1.Pod
	said    map[types.UID]string
}

// Run schedules until ctx ends. It returns an error only if it cannot start. It reports the failure
// of a pod on the pod and in the log.
func (s *Scheduler) Run(ctx context.Context) error {
	s.assumed, s.said = map[types.UID]*corev1.Pod{}, map[types.UID]string{}
	s.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: s.Client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	defer broadcaster.Shutdown()
	s.event = broadcaster.NewRecorder(scheme.Scheme, s.Name)

	factory := informers.NewSharedInformerFactory(s.Client, 0)
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	s.pods, s.nodes = pods.Lister(), nodes.Lister()
	if err := errors.Join(s.watch(ctx, "pods", pods.Informer(), s.podChanged), s.watch(ctx, "nodes", nodes.Informer(), func(any, bool) { s.again() })); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	var all sync.WaitGroup
	defer all.Wait()
	defer s.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced, nodes.Informer().HasSynced) {
		return nil // ctx has ended
	}
	s.Log.Info("pods are placed by the scheduling map", "scheduler", s.Name, "podIndexes", s.Map.indexes())
	s.again()
	all.Go(func() { s.watchPolicy(ctx) })
	all.Go(func() {
		for s.next(ctx) {
		}
	})
	<-ctx.Done()
	return nil
}

// watch calls changed for every object that was created, changed or deleted.
func (s *Scheduler) watch(ctx context.Context, what string, informer cache.SharedIndexInformer, changed func(obj any, gone bool)) error {
	is := func(obj any) { changed(obj, false) }
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: is, UpdateFunc: func(_, obj any) { is(obj) }, DeleteFunc: func(obj any) { changed(obj, true) }})
	if err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	err = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		switch {
		case ctx.Err() != nil:
		case apierrors.IsForbidden(err):
			s.Log.Error("watch "+what+": this scheduler's ServiceAccount lacks a ClusterRole that permits it; nothing is placed", "err", err)
		default:
			s.Log.Warn("watch "+what+"; it is tried again", "err", err)
		}
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	return nil
}

// podChanged: a pod of this scheduler is to be placed, or one has left its GPUs to others.
func (s *Scheduler) podChanged(obj any, gone bool) {
	pod, ok := obj.(*corev1.Pod) // or what is left of one whose end was missed
	switch {
	case gone || !ok || ended(pod):
		s.again()
	case s.waits(pod):
		s.queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
}

func (s *Scheduler) waits(pod *corev1.Pod) bool {
	return pod.Spec.SchedulerName == s.Name && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && !ended(pod) && len(pod.Spec.SchedulingGates) == 0
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// again queues all pods that wait.
func (s *Scheduler) again() {
	pods, _ := s.pods.List(labels.Everything()) // from memory: there is nothing to fail
	for _, p := range pods {
		if s.waits(p) {
			s.queue.Add(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
		}
	}
}

// next handles one pod. It returns false when the queue was shut down.
func (s *Scheduler) next(ctx context.Context) bool {
	key, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(key)
	pod, err := s.pods.Pods(key.Namespace).Get(key.Name)
	if err != nil || !s.waits(pod) || s.assumed[pod.UID] != nil {
		s.queue.Forget(key)
		return true
	}
	e, err := s.now().place(pod)
	if err != nil {
		s.report(ctx, pod, err)
		s.queue.Forget(key) // the next change of a pod or a node leads here again
		return true
	}
	if err := s.bind(ctx, pod, e); err != nil {
		s.report(ctx, pod, err)
		s.queue.AddRateLimited(key)
		return true
	}
	s.queue.Forget(key)
	return true
}

// now is the state of the cluster, with what was bound since the watch has shown anything.
func (s *Scheduler) now() *state {
	st := &state{scheduler: s.Name, m: s.Map, nodes: map[string]*corev1.Node{}}
	nodes, _ := s.nodes.List(labels.Everything())
	for _, n := range nodes {
		st.nodes[n.Name] = n
	}
	there := map[types.UID]bool{}
	pods, _ := s.pods.List(labels.Everything())
	for _, p := range pods {
		there[p.UID] = true
		if p.Spec.NodeName == "" {
			continue
		}
		delete(s.assumed, p.UID)
		if !ended(p) {
			st.bound = append(st.bound, p)
		}
	}
	for uid, p := range s.assumed {
		if there[uid] {
			st.bound = append(st.bound, p)
		} else {
			delete(s.assumed, uid)
		}
	}
	for uid := range s.said {
		if !there[uid] {
			delete(s.said, uid)
		}
	}
	return st
}

func (s *Scheduler) bind(ctx context.Context, pod *corev1.Pod, e Entry) error {
	err := s.Client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: e.NodeName},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("bind the pod to node %s: %w", e.NodeName, err)
	}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = e.NodeName
	s.assumed[pod.UID] = placed
	delete(s.said, pod.UID)
	s.Log.Info("placed", "pod", pod.Namespace+"/"+pod.Name, "podIndex", e.PodIndex, "node", e.NodeName, "gpuDevices", e.Visible())
	s.event.Eventf(pod, nil, corev1.EventTypeNormal, "Scheduled", "Binding", "podIndex %d: assigned to node %s with GPUs %s", e.PodIndex, e.NodeName, e.Visible())
	return nil
}

// report says on the pod why it waits, in the log, as an event and as its condition PodScheduled,
// as Kubernetes' own scheduler does. The same is said once.
func (s *Scheduler) report(ctx context.Context, pod *corev1.Pod, why error) {
	if ctx.Err() != nil || s.said[pod.UID] == why.Error() || apierrors.IsNotFound(why) {
		return
	}
	s.said[pod.UID] = why.Error()
	s.Log.Error("not placed", "pod", pod.Namespace+"/"+pod.Name, "err", why)
	s.event.Eventf(pod, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%v", why)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{"conditions": []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why.Error(), LastTransitionTime: metav1.Now(),
	}}}})
	if err == nil {
		_, err = s.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		s.Log.Warn("write why a pod waits into its status", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
}
