package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/nvidia/aicr-action/internal/bundle/operators"
	"github.com/nvidia/aicr-action/internal/infra"
)

// OperatorStandIns play the operators whose pods are simulated: they make the workloads of a custom
// resource and write its status (package operators says which and what). The same in every lane;
// the result lists each use.
type OperatorStandIns struct {
	clients *infra.Clients
	log     *slog.Logger
	player  *stagePlayer
	real    []schema.GroupKind // whose operator runs
	settles bool
	devices *devicePublisher

	mu      sync.Mutex
	started map[schema.GroupVersionKind]bool
	used    map[string]bool
	refused map[string]string // why an object was not handled at its last turn
}

// NewOperatorStandIns returns stand-ins that do nothing until Run: those of package operators, and
// the stages, and the devices of DRA drivers. They leave the kinds alone whose operator is real, and
// pods that run as processes; runs says which do, nil: none.
func NewOperatorStandIns(c *infra.Clients, log *slog.Logger, stages []OperatorStage, runs func(*corev1.Container) bool, real ...schema.GroupKind) *OperatorStandIns {
	return &OperatorStandIns{
		clients: c, log: log, player: newStagePlayer(stages), real: real, started: map[schema.GroupVersionKind]bool{}, used: map[string]bool{}, refused: map[string]string{},
		devices: newDevices(c, log, runs),
	}
}

// SettleCRDs lets objects of a new CRD be created at once, without the time that the API server
// waits for others of its cluster. Call it before Run.
func (o *OperatorStandIns) SettleCRDs() { o.settles = true }

// Used lists the custom resources for which an operator was simulated, as "Kind namespace/name", and
// the devices that were published.
func (o *OperatorStandIns) Used() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]string, 0, len(o.used))
	for u := range o.used {
		all = append(all, u)
	}
	sort.Strings(all)
	return append(all, o.devices.Used()...)
}

// Complaints are what the API server said of objects and devices that it did not take, a line each.
func (o *OperatorStandIns) Complaints() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, of := range slices.Sorted(maps.Keys(o.refused)) {
		all = append(all, fmt.Sprintf("the stand-in for the operator of %s: %s", of, o.refused[of]))
	}
	return append(all, o.devices.Complaints()...)
}

// note keeps what an object's last turn came to.
func (o *OperatorStandIns) note(cr *unstructured.Unstructured, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := cr.GetKind() + " " + infra.NamespacedName(cr.GetNamespace(), cr.GetName())
	if err == nil {
		delete(o.refused, of)
		return
	}
	o.refused[of] = err.Error()
}

// Run watches until ctx ends. A kind is watched from the moment that its CRD is established.
func (o *OperatorStandIns) Run(ctx context.Context) {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(o.clients.Dynamic, 0)
	informer := factory.ForResource(infra.CRDResource).Informer()
	seen := func(obj any) {
		if crd, ok := obj.(*unstructured.Unstructured); ok {
			o.crdChanged(ctx, crd)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) }})
	if err != nil {
		o.log.Error("watch CRDs for the operator stand-ins", "err", err)
		return
	}
	factory.Start(ctx.Done())
	o.devices.Run(ctx)
	factory.Shutdown()
}

func (o *OperatorStandIns) crdChanged(ctx context.Context, crd *unstructured.Unstructured) {
	if status, _ := infra.Condition(crd, "Established"); status != "True" {
		return
	}
	if o.settles {
		if err := settle(ctx, o.clients, crd, time.Now()); err != nil && ctx.Err() == nil { // then the API server waits
			o.log.Debug("set back the time at which a CRD became Established", "crd", crd.GetName(), "err", err)
		}
	}
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	for _, gvk := range append(operators.Kinds(), o.player.kinds()...) {
		if gvk.Group != group || gvk.Kind != kind || slices.Contains(o.real, gvk.GroupKind()) {
			continue
		}
		o.mu.Lock()
		first := !o.started[gvk]
		o.started[gvk] = true
		o.mu.Unlock()
		if first {
			go o.watchKind(ctx, gvk.GroupVersion().WithResource(plural))
		}
	}
}

func (o *OperatorStandIns) watchKind(ctx context.Context, gvr schema.GroupVersionResource) {
	// The resync retries what failed, e.g. because the namespace was not there yet.
	factory := dynamicinformer.NewDynamicSharedInformerFactory(o.clients.Dynamic, 5*time.Second)
	informer := factory.ForResource(gvr).Informer()
	seen := func(obj any) {
		if cr, ok := obj.(*unstructured.Unstructured); ok {
			err := o.reconcile(ctx, gvr, cr)
			if ctx.Err() != nil || apierrors.IsNotFound(err) {
				return
			}
			o.note(cr, err)
			if err != nil {
				o.log.Warn("operator stand-in", "kind", cr.GetKind(), "object", infra.NamespacedName(cr.GetNamespace(), cr.GetName()), "err", err)
			}
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) }})
	if err != nil {
		o.log.Error("watch custom resources for the operator stand-ins", "resource", gvr.String(), "err", err)
		return
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
}

func (o *OperatorStandIns) reconcile(ctx context.Context, gvr schema.GroupVersionResource, cr *unstructured.Unstructured) error {
	if cr.GetDeletionTimestamp() != nil {
		return nil
	}
	yes := true
	made, err := o.synthesize(ctx, cr)
	if err != nil {
		return err
	}
	for _, obj := range made {
		obj.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: cr.GetAPIVersion(), Kind: cr.GetKind(), Name: cr.GetName(), UID: cr.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
		}})
		if err := o.clients.Apply(ctx, infra.ResourceFor(obj.GroupVersionKind()), obj); err != nil {
			return err
		}
	}
	if err := o.writeStatus(ctx, gvr, cr); err != nil {
		return err
	}
	answered, err := o.play(ctx, gvr, cr)
	if err != nil {
		return err
	}
	if !answered && operators.Reason(cr.GroupVersionKind()) == "" {
		return nil // handled before, or no stage applies
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.used[cr.GetKind()+" "+infra.NamespacedName(cr.GetNamespace(), cr.GetName())] = true
	return nil
}

// synthesize returns the objects that the operator creates. The operator of a cluster-scoped kind
// creates them in the namespace of its Deployment. Without the Deployment there are none yet, and
// the next resync tries again.
func (o *OperatorStandIns) synthesize(ctx context.Context, cr *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	name := operators.OperatorOf(cr.GroupVersionKind())
	if name == "" {
		return operators.Synthesize(cr, ""), nil
	}
	list, err := o.clients.Kube.AppsV1().Deployments("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, fmt.Errorf("find the operator of %s: %w", cr.GetKind(), err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return operators.Synthesize(cr, list.Items[0].Namespace), nil
}

// writeStatus writes the status once per generation: writing is an event that comes back here.
func (o *OperatorStandIns) writeStatus(ctx context.Context, gvr schema.GroupVersionResource, cr *unstructured.Unstructured) error {
	status := operators.Status(cr, time.Now().UTC().Format(time.RFC3339))
	if status == nil || statusWritten(cr, status) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return o.patchStatus(ctx, gvr, cr, patch)
}

func (o *OperatorStandIns) patchStatus(ctx context.Context, gvr schema.GroupVersionResource, cr *unstructured.Unstructured, patch []byte) error {
	ri := o.clients.Dynamic.Resource(gvr).Namespace(cr.GetNamespace())
	opts := metav1.PatchOptions{FieldManager: infra.FieldManager}
	_, err := ri.Patch(ctx, cr.GetName(), types.MergePatchType, patch, opts, "status")
	if apierrors.IsNotFound(err) { // the CRD has no status subresource
		_, err = ri.Patch(ctx, cr.GetName(), types.MergePatchType, patch, opts)
	}
	if err != nil {
		return fmt.Errorf("write the status of %s %s: %w", cr.GetKind(), infra.NamespacedName(cr.GetNamespace(), cr.GetName()), err)
	}
	return nil
}

func statusWritten(cr *unstructured.Unstructured, want map[string]any) bool {
	conditions, _, _ := unstructured.NestedSlice(want, "conditions")
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if !ok {
			return false
		}
		t, _ := m["type"].(string)
		have := meta.FindStatusCondition(infra.Conditions(cr), t)
		if have == nil || have.Status != metav1.ConditionTrue {
			return false
		}
		if have.ObservedGeneration != 0 && have.ObservedGeneration != cr.GetGeneration() { // 0: the operator does not write it
			return false
		}
	}
	return true
}
