package simulate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// devicePublisher publishes ResourceSlices for the simulated nodes on which a pod of a DRA driver is
// ready, and withdraws them when the last such pod is gone, as a kubelet does. It writes them with
// the rights of the pod's ServiceAccount: where the recipe does not grant them, there is no device.
type devicePublisher struct {
	clients *infra.Clients
	log     *slog.Logger
	// runs reports whether a container has a process of its own, which publishes by itself; nil: none.
	runs func(*corev1.Container) bool
	// as returns a client with the rights that a pod has on its node.
	as func(p *corev1.Pod) (kubernetes.Interface, error)

	mu       sync.Mutex
	followed map[types.UID]bool             // DaemonSets
	by       map[slice]map[types.UID]string // the pods that publish a slice, and what the API server last said: "" if it took it
}

// slice is a ResourceSlice: a driver's on a node.
type slice struct{ node, driver string }

func (s slice) name() string { return s.node + "-" + s.driver }

// newDevices returns a Publisher that does nothing until Run.
func newDevices(c *infra.Clients, log *slog.Logger, runs func(*corev1.Container) bool) *devicePublisher {
	return &devicePublisher{clients: c, log: log, runs: runs, followed: map[types.UID]bool{}, by: map[slice]map[types.UID]string{},
		as: func(p *corev1.Pod) (kubernetes.Interface, error) { return asPod(c, p) }}
}

// asPod returns a client with the rights of a token that is bound to the pod.
func asPod(c *infra.Clients, p *corev1.Pod) (kubernetes.Interface, error) {
	return c.AsServiceAccount(p.Namespace, cmp.Or(p.Spec.ServiceAccountName, "default"), map[string][]string{
		"authentication.kubernetes.io/node-name": {p.Spec.NodeName}, "authentication.kubernetes.io/pod-name": {p.Name}, "authentication.kubernetes.io/pod-uid": {string(p.UID)},
	})
}

// Run watches until ctx ends. An API server without resource.k8s.io/v1 gets no devices.
func (p *devicePublisher) Run(ctx context.Context) {
	factory := informers.NewSharedInformerFactory(p.clients.Kube, 0)
	informer := factory.Apps().V1().DaemonSets().Informer()
	seen := func(obj any) {
		set, ok := obj.(*appsv1.DaemonSet)
		if !ok || len(driversOf(&set.Spec.Template.Spec, p.runs)) == 0 {
			return
		}
		p.mu.Lock()
		first := !p.followed[set.UID]
		p.followed[set.UID] = true
		p.mu.Unlock()
		if first {
			go p.follow(ctx, set)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) }}); err != nil {
		p.log.Error("watch DaemonSets for DRA drivers", "err", err)
		return
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
}

// follow watches the pods of a DaemonSet. The resync repeats what failed, e.g. because the role of
// the ServiceAccount came later.
func (p *devicePublisher) follow(ctx context.Context, set *appsv1.DaemonSet) {
	selected := informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = metav1.FormatLabelSelector(set.Spec.Selector) })
	factory := informers.NewSharedInformerFactoryWithOptions(p.clients.Kube, 2*time.Second, informers.WithNamespace(set.Namespace), selected)
	informer := factory.Core().V1().Pods().Informer()
	seen := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok && ready(pod) && pod.DeletionTimestamp == nil {
			p.started(ctx, pod)
		}
	}
	gone := func(obj any) {
		if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = last.Obj
		}
		if pod, ok := obj.(*corev1.Pod); ok {
			p.ended(ctx, pod)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) }, DeleteFunc: gone}
	if _, err := informer.AddEventHandler(handler); err != nil {
		p.log.Error("watch the pods of a DRA driver", "err", err)
		return
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
}

// started publishes what the pod's plugins find on its node, once.
func (p *devicePublisher) started(ctx context.Context, pod *corev1.Pod) {
	for _, driver := range driversOf(&pod.Spec, p.runs) {
		s := slice{pod.Spec.NodeName, driver}
		p.mu.Lock()
		said, tried := p.by[s][pod.UID]
		p.mu.Unlock()
		if tried && said == "" {
			continue
		}
		published, err := p.publish(ctx, pod, s)
		if ctx.Err() != nil || err == nil && !published {
			continue
		}
		answer := ""
		if err != nil {
			answer = err.Error()
		}
		p.mu.Lock()
		if p.by[s] == nil {
			p.by[s] = map[types.UID]string{}
		}
		p.by[s][pod.UID] = answer
		p.mu.Unlock()
		if err != nil && answer != said {
			p.log.Warn("publish devices", "driver", driver, "node", s.node, "err", err)
		}
	}
}

// publish reports whether the node has devices of the driver.
func (p *devicePublisher) publish(ctx context.Context, pod *corev1.Pod, s slice) (bool, error) {
	n, err := p.clients.Kube.CoreV1().Nodes().Get(ctx, s.node, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("read node %s: %w", s.node, err)
	}
	found := of(n, s.driver)
	if len(found) == 0 || n.Annotations[infra.SimulatedNodeAnnotation] == "" {
		return false, nil
	}
	client, err := p.as(pod)
	if err != nil {
		return false, err
	}
	node := s.node
	// A slice has room for 128 devices.
	parts := slices.Collect(slices.Chunk(found, resourcev1.ResourceSliceMaxDevices))
	for i, part := range parts {
		name := s.name()
		if i > 0 {
			name += fmt.Sprintf("-%d", i)
		}
		_, err := client.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID, Controller: new(true)}}},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: s.driver, NodeName: &node, Devices: part, Pool: resourcev1.ResourcePool{Name: s.node, Generation: 1, ResourceSliceCount: int64(len(parts))},
			},
		}, metav1.CreateOptions{FieldManager: infra.FieldManager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return true, fmt.Errorf("create ResourceSlice %s: %w", name, err)
		}
	}
	return true, nil
}

// ended withdraws what no other pod publishes. This is the kubelet's work, with its rights.
func (p *devicePublisher) ended(ctx context.Context, pod *corev1.Pod) {
	for _, driver := range driversOf(&pod.Spec, p.runs) {
		s := slice{pod.Spec.NodeName, driver}
		p.mu.Lock()
		_, had := p.by[s][pod.UID]
		delete(p.by[s], pod.UID)
		last := had && len(p.by[s]) == 0
		if last {
			delete(p.by, s)
		}
		p.mu.Unlock()
		if !last {
			continue
		}
		err := p.clients.Kube.ResourceV1().ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + s.node + ",spec.driver=" + driver})
		if err != nil && ctx.Err() == nil {
			p.log.Warn("withdraw devices", "driver", driver, "node", s.node, "err", err)
		}
	}
}

// Used says of which drivers there are devices, and from how many nodes, a line each.
func (p *devicePublisher) Used() []string {
	return p.perDriver(func(driver string, published int, _ []string) string {
		if published == 0 {
			return ""
		}
		return fmt.Sprintf("ResourceSlices of %s for %s (by the nodes' labels)", driver, lists.Count(published, "node"))
	})
}

// Complaints quotes the API server where it let a driver publish nothing.
func (p *devicePublisher) Complaints() []string {
	return p.perDriver(func(driver string, _ int, refused []string) string {
		if len(refused) == 0 {
			return ""
		}
		return fmt.Sprintf("DRA driver %s publishes no devices on %s: %s", driver, lists.Count(len(refused), "node"), refused[0])
	})
}

// perDriver makes a line of each driver: how many nodes have its devices, and why others have none. An
// empty line is left out.
func (p *devicePublisher) perDriver(line func(driver string, published int, refused []string) string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	published, refused := map[string]int{}, map[string][]string{}
	for s, pods := range p.by {
		answers := slices.Sorted(maps.Values(pods))
		switch {
		case len(answers) == 0:
		case answers[0] == "":
			published[s.driver]++
		default:
			refused[s.driver] = append(refused[s.driver], answers[0])
		}
	}
	var all []string
	for _, driver := range slices.Sorted(maps.Values(plugins())) {
		slices.Sort(refused[driver])
		if text := line(driver, published[driver], refused[driver]); text != "" {
			all = append(all, text)
		}
	}
	return all
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
