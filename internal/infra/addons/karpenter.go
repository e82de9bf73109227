package addons

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// What Karpenter has of each group of nodes.
var (
	nodeClaims  = schema.GroupVersionResource{Group: infra.KarpenterGroup, Version: "v1", Resource: "nodeclaims"}
	nodePools   = schema.GroupVersionResource{Group: infra.KarpenterGroup, Version: "v1", Resource: "nodepools"}
	nodeClasses = schema.GroupVersionResource{Group: infra.KarpenterKwokGroup, Version: "v1alpha1", Resource: "kwoknodeclasses"}
)

const (
	// nodeClass is the one KWOKNodeClass: it says nothing of nodes.
	nodeClass = "simulated"
	// mostWeight is the largest weight of a NodePool; the one with the larger weight is tried first.
	mostWeight = 100
)

// StartKarpenter installs Karpenter's definitions, gives each group a NodePool, starts the program with its KWOK
// provider and waits until it is ready, at most 90 s. Nodes stay once they are made: what a recipe needs is counted,
// and nothing is to move in the middle of a cell. Reasons: CLUSTER_FAILED, PORT_TAKEN, NO_SPACE.
func (r *Runner) StartKarpenter(ctx context.Context, from *stack.Stack, groups []infra.NodeGroup) error {
	if err := r.startKarpenter(ctx, from, groups); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), fmt.Errorf("start %s: %w", infra.KarpenterProgram, err))
	}
	return nil
}

func (r *Runner) startKarpenter(ctx context.Context, from *stack.Stack, groups []infra.NodeGroup) error {
	part := stack.GroupKarpenter.Parts()[0]
	names, err := r.Clients.ApplyCRDs(ctx, from.CRDs(stack.GroupKarpenter))
	if err == nil {
		err = r.Clients.WaitCRDs(ctx, names, time.Minute)
	}
	if err != nil {
		return err
	}
	dir := filepath.Join(r.Dir, part.Name)
	offered := filepath.Join(dir, "types")
	if err := os.MkdirAll(offered, 0o700); err != nil {
		return err
	}
	if err := r.create(ctx, nodeClasses, object(nodeClasses, "KWOKNodeClass", nodeClass, map[string]any{})); err != nil {
		return err
	}
	for i := range groups {
		raw, err := json.Marshal([]instanceType{typeOf(&groups[i])})
		if err == nil {
			err = os.WriteFile(filepath.Join(offered, groups[i].Name+".json"), raw, 0o600)
		}
		if err == nil {
			err = r.create(ctx, nodePools, poolOf(&groups[i], max(mostWeight-i, 1)))
		}
		if err != nil {
			return fmt.Errorf("group %s: %w", groups[i].Name, err)
		}
	}
	kubeconfig, serverPort, err := r.login(dir)
	if err != nil {
		return err
	}
	ports, err := r.Ports.Take(1)
	if err != nil {
		return err
	}
	r.taken = append(r.taken, ports...)
	log := filepath.Join(r.Dir, part.Name+".log")
	if err := r.run(ctx, &launch{ready: "http://127.0.0.1:" + strconv.Itoa(ports[0]) + "/readyz"}, host.ProcessSpec{
		Name: part.Name, Path: from.Bin(part.Name), Dir: dir, Log: log,
		// Its other settings are its defaults: how long it waits for further pods decides how many nodes it makes.
		Args:    []string{"--disable-leader-election=true", "--disable-cluster-state-observability=true", "--health-probe-port=" + strconv.Itoa(ports[0]), "--log-output-paths=stderr"},
		Env:     []string{"KUBECONFIG=" + kubeconfig, "GROUP_INSTANCE_TYPES=" + offered},
		Sandbox: &sandbox.Profile{Connect: []int{serverPort}, Bind: ports},
	}); err != nil {
		return err
	}
	return r.awaitPools(ctx, log)
}

// awaitPools waits until Karpenter has said of each NodePool that it is ready: it ignores those that are not.
func (r *Runner) awaitPools(ctx context.Context, log string) error {
	err := wait.For(ctx, "the NodePools to be ready", wait.Options{Budget: readyBudget, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
		pools, err := r.Clients.Dynamic.Resource(nodePools).List(ctx, metav1.ListOptions{})
		if err != nil {
			return wait.NotYet("list NodePools: %v", err)
		}
		for i := range pools.Items {
			if state := readiness(&pools.Items[i]); state != "" {
				return wait.NotYet("NodePool %s: %s", pools.Items[i].GetName(), state)
			}
		}
		return wait.Done()
	})
	if wait.IsTimeout(err) {
		return fmt.Errorf("%w; the last lines of Karpenter's log:\n%s", err, lastLines(log))
	}
	return err
}

// readiness is what an object's condition Ready says; empty if it is true.
func readiness(o *unstructured.Unstructured) string {
	switch c := meta.FindStatusCondition(infra.Conditions(o), "Ready"); {
	case c == nil:
		return "it says nothing yet"
	case c.Status == metav1.ConditionTrue:
		return ""
	default:
		return c.Reason + " " + c.Message
	}
}

// LeaveNodes takes Karpenter's finalizers off what it has made and read, once it has ended: each would be deleted only when
// it agrees, so that kubectl delete would wait without end. Reason: CLUSTER_FAILED.
func (r *Runner) LeaveNodes(ctx context.Context) error {
	for _, of := range []schema.GroupVersionResource{corev1.SchemeGroupVersion.WithResource("nodes"), nodeClaims, nodePools, nodeClasses} {
		list, err := r.Clients.Dynamic.Resource(of).List(ctx, metav1.ListOptions{})
		if err != nil {
			return reason.New(reason.ClusterFailed, "list %s, to leave them without Karpenter: %w", of.Resource, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			others := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), isKarpenters)
			if len(others) == len(o.GetFinalizers()) {
				continue
			}
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": others}})
			if err != nil {
				return err
			}
			if _, err := r.Clients.Dynamic.Resource(of).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return reason.New(reason.ClusterFailed, "take Karpenter's finalizer off %s %s: %w", of.Resource, o.GetName(), err)
			}
		}
	}
	return nil
}

// isKarpenters reports whether a finalizer waits for Karpenter or its KWOK provider.
func isKarpenters(finalizer string) bool {
	group, _, _ := strings.Cut(finalizer, "/")
	return group == infra.KarpenterGroup || group == infra.KarpenterKwokGroup
}

func (r *Runner) create(ctx context.Context, of schema.GroupVersionResource, o *unstructured.Unstructured) error {
	_, err := r.Clients.Dynamic.Resource(of).Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func object(of schema.GroupVersionResource, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": of.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// instanceType is one of an instance-types file of Karpenter's KWOK provider (kwok/examples in its module).
type instanceType struct {
	Name             string              `json:"name"`
	Offerings        []offering          `json:"offerings"`
	Architecture     string              `json:"architecture"`
	OperatingSystems []string            `json:"operatingSystems"`
	Resources        corev1.ResourceList `json:"resources"`
}

type offering struct {
	Price        float64
	Available    bool
	Requirements []corev1.NodeSelectorRequirement
}

const (
	capacityType = infra.KarpenterGroup + "/capacity-type"
	onDemand     = "on-demand"
)

// typeOf is what the nodes of a group are to Karpenter. It takes the cheapest that fits, so that the first zone costs
// the least.
func typeOf(g *infra.NodeGroup) instanceType {
	t := instanceType{
		Name: g.Node.Labels[corev1.LabelInstanceTypeStable], Architecture: g.Node.Labels[corev1.LabelArchStable],
		OperatingSystems: []string{g.Node.Labels[corev1.LabelOSStable]}, Resources: g.Node.Status.Allocatable,
	}
	for i, zone := range g.Zones {
		t.Offerings = append(t.Offerings, offering{Price: 1 + float64(i), Available: true, Requirements: []corev1.NodeSelectorRequirement{
			{Key: capacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{onDemand}},
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
		}})
	}
	return t
}

// poolOf is the NodePool of a group.
func poolOf(g *infra.NodeGroup, weight int) *unstructured.Unstructured {
	labels := maps.Clone(g.Node.Labels)
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} { // each node has its own
		delete(labels, key)
	}
	taints := []any{}
	for _, t := range g.Node.Spec.Taints {
		taints = append(taints, map[string]any{"key": t.Key, "value": t.Value, "effect": string(t.Effect)})
	}
	return object(nodePools, "NodePool", g.Name, map[string]any{
		"weight":     int64(weight),
		"limits":     map[string]any{"nodes": int64(g.Most)},
		"disruption": map[string]any{"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
		"template": map[string]any{
			"metadata": map[string]any{"labels": anyMap(labels), "annotations": anyMap(g.Node.Annotations)},
			"spec": map[string]any{
				"expireAfter":  "Never",
				"nodeClassRef": map[string]any{"group": nodeClasses.Group, "kind": "KWOKNodeClass", "name": nodeClass},
				"requirements": []any{map[string]any{"key": capacityType, "operator": "In", "values": []any{onDemand}}},
				"taints":       taints,
			},
		},
	})
}

func anyMap(of map[string]string) map[string]any {
	all := make(map[string]any, len(of))
	for k, v := range of {
		all[k] = v
	}
	return all
}
