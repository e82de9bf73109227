// Package placement watches where pods are placed, and measures how well: time to schedule, GPU
// occupancy over time, fragmentation, whether jobs were placed completely, and how far apart their
// pods are. It must not know workflows, or who submitted the pods.
package placement

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Observer watches the nodes and pods of a cluster, and records what happened. Its times are those
// at which events arrived: the API server's own have whole seconds, which is not precise enough.
type Observer struct {
	mu    sync.Mutex
	now   func() time.Time
	pods  map[string]*pod
	order []*pod
	nodes map[string]*node
	// watching means that the initial state has been seen.
	watching bool
	// live are the pods as the API server has them now.
	live cache.Store
}

// pod is the life of one pod.
type pod struct {
	namespace, name string
	gpus            int
	scheduler       string
	// created is zero for a pod that existed before; node is empty until it is placed; ended is
	// when it released its resources.
	created, placed, ended time.Time
	node                   string
	message                string // why it is not placed
	before                 bool   // it existed when the watch started: its waiting time is not known
}

// node is what happened to one node.
type node struct {
	name    string
	labels  map[string]string
	changes []nodeChange
	gone    bool
}

// nodeChange is what a node offers from a time on.
type nodeChange struct {
	at   time.Time
	gpus int
	open bool // Ready, and neither cordoned nor gone
}

// Watch starts watching, and returns once it has seen the initial state. It ends with the watches.
// Reasons: CLUSTER_ACCESS_FAILED if the API server does not let this program list nodes and pods, CLUSTER_FAILED if it does not answer within a minute; the cause of ctx if
// that ends before.
func Watch(ctx context.Context, watches *observe.Watches) (*Observer, error) {
	bounded, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	bounded, refuse := context.WithCancelCause(bounded)
	defer refuse(nil)
	o := newObserver()
	pods, nodes := watches.Pods(), watches.Nodes()
	o.live = pods.GetStore()
	var synced []cache.InformerSynced
	for informer, handle := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods:  cache.ResourceEventHandlerFuncs{AddFunc: o.seen, UpdateFunc: func(_, obj any) { o.seen(obj) }, DeleteFunc: o.gone},
		nodes: cache.ResourceEventHandlerFuncs{AddFunc: o.seen, UpdateFunc: func(_, obj any) { o.seen(obj) }, DeleteFunc: o.gone},
	} {
		err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) { // it would be asked again and again
				refuse(reason.New(reason.ClusterAccess, "watch nodes and pods: %w; ask for a ClusterRole that may get, list and watch nodes and pods", err))
			}
		})
		if err != nil {
			return nil, fmt.Errorf("watch nodes and pods: %w", err)
		}
		registration, err := informer.AddEventHandler(handle)
		if err != nil {
			return nil, fmt.Errorf("watch nodes and pods: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}
	watches.Start()
	if !cache.WaitForCacheSync(bounded.Done(), synced...) {
		switch why := context.Cause(bounded); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(why, context.DeadlineExceeded):
			return nil, why
		}
		return nil, reason.New(reason.ClusterFailed, "watch nodes and pods: the API server did not list them within a minute")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watching = true
	return o, nil
}

func newObserver() *Observer {
	return &Observer{now: time.Now, pods: map[string]*pod{}, nodes: map[string]*node{}}
}

// Pods returns the current pods of a namespace.
func (o *Observer) Pods(namespace string) []*corev1.Pod {
	var all []*corev1.Pod
	for _, obj := range o.live.List() {
		if p, ok := obj.(*corev1.Pod); ok && p.Namespace == namespace {
			all = append(all, p)
		}
	}
	return all
}

// NodeLabels returns the labels of a node; nil for one that was never seen.
func (o *Observer) NodeLabels(name string) map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.nodes[name]; n != nil {
		return n.labels
	}
	return nil
}

func (o *Observer) seen(obj any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch obj := obj.(type) {
	case *corev1.Pod:
		o.seenPod(obj)
	case *corev1.Node:
		o.seenNode(obj, false)
	}
}

func (o *Observer) gone(obj any) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch obj := obj.(type) {
	case *corev1.Pod:
		if p := o.pods[string(obj.UID)]; p != nil && p.ended.IsZero() {
			p.ended = o.now()
		}
	case *corev1.Node:
		o.seenNode(obj, true)
	}
}

func (o *Observer) seenPod(obj *corev1.Pod) {
	p := o.pods[string(obj.UID)]
	if p == nil {
		p = &pod{namespace: obj.Namespace, name: obj.Name, gpus: infra.PodGPUs(obj), scheduler: obj.Spec.SchedulerName, created: o.now(), before: !o.watching}
		o.pods[string(obj.UID)] = p
		o.order = append(o.order, p)
	}
	if obj.Spec.NodeName != "" && p.node == "" {
		p.node, p.placed, p.message = obj.Spec.NodeName, o.now(), ""
	}
	if p.node == "" {
		p.message = Unplaced(obj)
	}
	if infra.PodEnded(obj) && p.ended.IsZero() {
		p.ended = o.now()
	}
}

func (o *Observer) seenNode(obj *corev1.Node, gone bool) {
	n := o.nodes[obj.Name]
	if n == nil {
		n = &node{name: obj.Name}
		o.nodes[obj.Name] = n
	}
	n.labels, n.gone = obj.Labels, gone
	change := nodeChange{at: o.now(), gpus: infra.NodeGPUs(obj), open: !gone && !obj.Spec.Unschedulable && infra.NodeReady(obj)}
	if gone {
		change.gpus = 0
	}
	if last := len(n.changes) - 1; last >= 0 && n.changes[last].gpus == change.gpus && n.changes[last].open == change.open {
		return
	}
	n.changes = append(n.changes, change)
}

// Unplaced returns why a pod has no node: the scheduler's message, "" if no scheduler has handled
// it.
func Unplaced(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			if c.Message == "" {
				return c.Reason
			}
			return c.Message
		}
	}
	return ""
}
