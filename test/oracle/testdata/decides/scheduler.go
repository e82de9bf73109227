package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// askScheduler runs every filter of the default scheduler on every node, for each input alone. The scheduler itself stops
// at the first.
func askScheduler(ctx context.Context, q *question, all map[string]*read, to *answer) error {
	metrics.Register()
	end := time.Now().Add(q.limit())
	for name, r := range all {
		if time.Now().After(end) {
			to.Verdicts[name] = verdict{Word: "undecided", Message: "the time is up"}
			continue
		}
		fmt.Fprintln(os.Stderr, "input:", name)
		v, err := filtered(ctx, r)
		if err != nil {
			return fmt.Errorf("input %s: %w", name, err)
		}
		to.Verdicts[name] = *v
	}
	return nil
}

// none has no pod nominated for a node.
type none struct{ fwk.PodNominator }

// NominatedPodsForNode is none.
func (none) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

// late is a snapshot that is taken once the plugins are made.
type late struct{ fwk.SharedLister }

func filtered(parent context.Context, r *read) (v *verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = &verdict{Word: "unread", Message: fmt.Sprint("a plugin panicked: ", p)}, nil
		}
	}()
	ctx, cancel := context.WithCancel(klog.NewContext(parent, klog.Background()))
	defer cancel()
	client := fake.NewClientset(append(slices.Clone(r.objects), r.pod)...)
	factory := informers.NewSharedInformerFactory(client, 0)
	config, err := latest.Default()
	if err != nil {
		return nil, err
	}
	made := map[string]fwk.Plugin{}
	registry := frameworkruntime.Registry{}
	for name, make := range plugins.NewInTreeRegistry() {
		registry[name] = func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			p, err := make(ctx, args, h)
			made[name] = p
			return p, err
		}
	}
	claims := assumecache.NewAssumeCache(klog.Background(), factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slicesOf, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{SliceInformer: factory.Resource().V1().ResourceSlices(), KubeClient: client})
	if err != nil {
		return nil, err
	}
	view, devices := &late{}, dynamicresources.NewDRAManager(ctx, claims, slicesOf, factory)
	fw, err := frameworkruntime.NewFramework(ctx, registry, &config.Profiles[0],
		frameworkruntime.WithClientSet(client), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(devices),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(view), frameworkruntime.WithPodNominator(none{}), frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()), frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())))
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	inUse := map[structured.DeviceID]bool{}
	for _, o := range r.objects { // the cache is told after the informer
		if c, ok := o.(*resourcev1.ResourceClaim); ok {
			if c.Status.Allocation != nil {
				for _, d := range c.Status.Allocation.Devices.Results {
					if d.AdminAccess == nil || !*d.AdminAccess {
						inUse[structured.MakeDeviceID(d.Driver, d.Pool, d.Device)] = true
					}
				}
			}
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if _, err := claims.Get(c.Namespace + "/" + c.Name); err == nil {
					break
				}
			}
		}
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) { // and then what counts the devices in use
		if known, err := devices.ResourceClaims().ListAllAllocatedDevices(); err == nil && known.Len() >= len(inUse) {
			break
		}
	}
	var nodes []*v1.Node
	var bound []*v1.Pod
	for _, o := range r.objects {
		switch o := o.(type) {
		case *v1.Node:
			nodes = append(nodes, o)
		case *v1.Pod:
			if o.Spec.NodeName != "" && o.Status.Phase != v1.PodSucceeded && o.Status.Phase != v1.PodFailed {
				bound = append(bound, o)
			}
		}
	}
	bound = slices.DeleteFunc(bound, func(p *v1.Pod) bool { // on no node
		return !slices.ContainsFunc(nodes, func(n *v1.Node) bool { return n.Name == p.Spec.NodeName })
	})
	snapshot := cache.NewSnapshot(bound, nodes)
	view.SharedLister = snapshot
	return filters(ctx, fw, made, snapshot, r.pod)
}

// filters asks PreFilter of all plugins, and then Filter of each.
func filters(ctx context.Context, fw framework.Framework, made map[string]fwk.Plugin, snapshot *cache.Snapshot, p *v1.Pod) (*verdict, error) {
	infos, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	v := &verdict{Word: "refused", Nodes: map[string]map[string]string{}}
	add := func(node, plugin string, reasons []string) {
		if v.Nodes[node] == nil {
			v.Nodes[node] = map[string]string{}
		}
		v.Nodes[node][plugin] = strings.Join(reasons, "; ")
	}
	state := framework.NewCycleState()
	only, status, by := fw.RunPreFilterPlugins(ctx, state, p)
	if !status.IsSuccess() { // what other plugins would say is not known then
		v.Reason, v.Message = status.Plugin(), strings.Join(status.Reasons(), "; ")
		if status.AsError() != nil && v.Message == "" {
			v.Message = status.AsError().Error()
		}
		for _, n := range infos {
			add(n.Node().Name, status.Plugin(), status.Reasons())
		}
		return v, nil
	}
	for _, n := range infos {
		if !only.AllNodes() && !only.NodeNames.Has(n.Node().Name) {
			add(n.Node().Name, strings.Join(by.UnsortedList(), ","), []string{"not among its nodes"})
		}
		for name, plugin := range made {
			f, ok := plugin.(fwk.FilterPlugin)
			if !ok || state.GetSkipFilterPlugins().Has(name) {
				continue
			}
			if s := f.Filter(ctx, state, p, n); !s.IsSuccess() {
				add(n.Node().Name, name, s.Reasons())
			}
		}
	}
	for _, n := range infos {
		if v.Nodes[n.Node().Name] == nil {
			v.Word = "starts"
		}
	}
	return v, nil
}
