package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// configure runs a Configure task: namespaces, priority classes and ConfigMaps first, then nodes,
// then restarts.
func (e *Engine) configure(ctx context.Context, p *configureParams, line infra.Task) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, time.Duration(p.Timeout))
	defer cancel()
	for _, n := range p.Namespaces {
		if err := e.namespace(bounded, n); err != nil {
			return "", err
		}
	}
	for _, c := range p.PriorityClasses {
		if err := e.priorityClass(bounded, c); err != nil {
			return "", err
		}
	}
	for _, c := range p.ConfigMaps {
		if err := e.configMap(bounded, c); err != nil {
			return "", err
		}
	}
	detail, err := e.nodes(ctx, p, line)
	if err != nil {
		return "", err
	}
	for _, d := range p.DeploymentRestarts {
		if err := e.restart(ctx, d, time.Duration(p.Timeout), line); err != nil {
			return "", err
		}
	}
	return detail, nil
}

func (e *Engine) note(kind schema.GroupVersionKind, namespace, name string) {
	o := created{object: newObject(kind, namespace, name)}
	e.made = append(e.made, o)
}

func (e *Engine) namespace(ctx context.Context, n namespaceOp) error {
	api := e.Clients.Kube.CoreV1().Namespaces()
	if n.Op == opDelete {
		if err := api.Delete(ctx, n.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete namespace %s: %w", n.Name, err)
		}
		return nil
	}
	_, err := api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create namespace %s: %w", n.Name, err)
	}
	e.note(corev1.SchemeGroupVersion.WithKind("Namespace"), "", n.Name)
	return nil
}

func (e *Engine) priorityClass(ctx context.Context, c priorityClassOp) error {
	api := e.Clients.Kube.SchedulingV1().PriorityClasses()
	if c.Op == opDelete {
		if err := api.Delete(ctx, c.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete priority class %s: %w", c.Name, err)
		}
		return nil
	}
	_, err := api.Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Value: *c.Value}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		have, err := api.Get(ctx, c.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read priority class %s: %w", c.Name, err)
		}
		if have.Value != *c.Value { // the API server rejects every change of it
			return fmt.Errorf("priority class %s exists with the value %d, want %d; delete it first (op: delete)", c.Name, have.Value, *c.Value)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("create priority class %s: %w", c.Name, err)
	}
	e.note(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), "", c.Name)
	return nil
}

func (e *Engine) configMap(ctx context.Context, c configMapOp) error {
	api := e.Clients.Kube.CoreV1().ConfigMaps(c.Namespace)
	name := infra.NamespacedName(c.Namespace, c.Name)
	if c.Op == opDelete {
		if err := api.Delete(ctx, c.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete ConfigMap %s: %w", name, err)
		}
		return nil
	}
	want := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace}, Data: c.Data}
	_, err := api.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if _, err := api.Update(ctx, want, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("change ConfigMap %s: %w", name, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("create ConfigMap %s: %w", name, err)
	}
	e.note(corev1.SchemeGroupVersion.WithKind("ConfigMap"), c.Namespace, c.Name)
	return nil
}

// nodes makes the virtual nodes of a task the only ones of those that this run created: as with
// Knavigator's Helm release, a later task removes the ones that it does not name. Other nodes stay.
func (e *Engine) nodes(ctx context.Context, p *configureParams, line infra.Task) (string, error) {
	if len(p.Nodes) == 0 {
		return "", nil
	}
	want := VirtualNodes(p.Nodes)
	for _, n := range want {
		maps.Copy(n.Labels, e.NodeLabels)
	}
	names := map[string]bool{}
	for _, n := range want {
		names[n.Name] = true
	}
	kind := corev1.SchemeGroupVersion.WithKind("Node")
	var kept []created
	for _, m := range e.made {
		if m.object.GroupVersionKind() != kind || names[m.object.GetName()] {
			kept = append(kept, m)
			continue
		}
		if err := e.Clients.Kube.CoreV1().Nodes().Delete(ctx, m.object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("delete node %s: %w", m.object.GetName(), err)
		}
	}
	e.made = kept
	made, err := EnsureVirtualNodes(ctx, e.Clients, want, time.Duration(p.Timeout), line.Update)
	slices.Sort(made)
	for _, name := range made {
		e.note(kind, "", name)
	}
	return fmt.Sprintf("%d nodes", len(want)), err
}

// restart does what kubectl rollout restart does, and waits for the rollout.
func (e *Engine) restart(ctx context.Context, d deploymentRestart, budget time.Duration, line infra.Task) error {
	api := e.Clients.Kube.AppsV1().Deployments(d.Namespace)
	if d.Name == "" {
		list, err := api.List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(d.Labels).String()})
		if err != nil {
			return fmt.Errorf("list deployments in %s: %w", d.Namespace, err)
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("restart a deployment: %d in namespace %s have the labels %s, want one", len(list.Items), d.Namespace, labelText(d.Labels))
		}
		d.Name = list.Items[0].Name
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	name := infra.NamespacedName(d.Namespace, d.Name)
	if _, err := api.Patch(ctx, d.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: infra.FieldManager}); err != nil {
		return fmt.Errorf("restart deployment %s: %w", name, err)
	}
	return wait.For(ctx, "deployment "+name+" to be restarted", wait.Options{Budget: budget, Changed: line.Update}, func(ctx context.Context) wait.Result {
		have, err := api.Get(ctx, d.Name, metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		want := int32(1)
		if have.Spec.Replicas != nil {
			want = *have.Spec.Replicas
		}
		s := have.Status
		if s.ObservedGeneration < have.Generation || s.UpdatedReplicas < want || s.AvailableReplicas < want || s.Replicas > want {
			return wait.NotYet("%d of %d pods are new, %d available", s.UpdatedReplicas, want, s.AvailableReplicas)
		}
		return wait.Done()
	})
}

// checkConfigMap compares a ConfigMap's data, at once.
func (e *Engine) checkConfigMap(ctx context.Context, p *checkConfigmapParams) (string, error) {
	name := infra.NamespacedName(p.Namespace, p.Name)
	have, err := e.Clients.Kube.CoreV1().ConfigMaps(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(p.Data)) {
		if value, ok := have.Data[key]; !ok || value != p.Data[key] {
			return "", fmt.Errorf("ConfigMap %s: %s is %s, want %s", name, key, orNone(value, ok), short(p.Data[key]))
		}
	}
	if p.Op == opEqual && len(have.Data) != len(p.Data) {
		var more []string
		for key := range have.Data {
			if _, ok := p.Data[key]; !ok {
				more = append(more, key)
			}
		}
		slices.Sort(more)
		return "", fmt.Errorf("ConfigMap %s has more than it should: %s", name, strings.Join(more, ", "))
	}
	return fmt.Sprintf("%d keys", len(p.Data)), nil
}

func orNone(value string, ok bool) string {
	if !ok {
		return "not there"
	}
	return short(value)
}

// updateNodes patches every node that one of the selectors matches.
func (e *Engine) updateNodes(ctx context.Context, p *updateNodesParams) (string, error) {
	if p.Timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, time.Duration(p.Timeout))
		defer cancel()
		ctx = bounded
	}
	list, err := e.Clients.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("list nodes: %w", err)
	}
	main := maps.Clone(p.State)
	delete(main, "status")
	status, err := nodeStatus(p.State["status"])
	if err != nil {
		return "", err
	}
	changed := 0
	for _, n := range list.Items {
		if !slices.ContainsFunc(p.Selectors, func(s map[string]string) bool { return labels.SelectorFromSet(s).Matches(labels.Set(n.Labels)) }) {
			continue
		}
		changed++
		if len(main) > 0 {
			if err := e.patchNode(ctx, n.Name, main); err != nil {
				return "", err
			}
		}
		if status != nil {
			if err := e.patchNode(ctx, n.Name, map[string]any{"status": status}, "status"); err != nil {
				return "", err
			}
		}
	}
	if changed == 0 {
		return "", fmt.Errorf("none of the %d nodes has the labels of a selector", len(list.Items))
	}
	return fmt.Sprintf("%d nodes", changed), nil
}

func (e *Engine) patchNode(ctx context.Context, name string, patch map[string]any, sub ...string) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	// A strategic merge: conditions are merged by their type.
	if _, err := e.Clients.Kube.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, raw, metav1.PatchOptions{FieldManager: infra.FieldManager}, sub...); err != nil {
		return fmt.Errorf("change node %s: %w", name, err)
	}
	return nil
}

// nodeStatus returns the status of a state as a patch. A node's allocatable follows its capacity,
// as with a kubelet, unless the state sets it.
func nodeStatus(given any) (map[string]any, error) {
	if given == nil {
		return nil, nil
	}
	status, ok := given.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("state: status is %s, want an object", short(given))
	}
	status = maps.Clone(status)
	if capacity, ok := status["capacity"]; ok && status["allocatable"] == nil {
		status["allocatable"] = capacity
	}
	return status, nil
}
