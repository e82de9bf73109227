package validate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// simulatedNode is the annotation of nodes that KWOK simulates.
const simulatedNode = "kwok.x-k8s.io/node"

// observation collects what a check finds in the cluster.
type observation struct {
	good, unseen []string
	bad          []fault
}

// fault is a violated requirement, with the component that is to blame and the line of the recipe
// that sets the requirement, as far as they are known.
type fault struct {
	text, component string
	place           recipe.Origin
}

func (f fault) String() string {
	if f.place.File == "" {
		return f.text
	}
	return f.text + " (" + f.place.String() + ")"
}

func (l *observation) holds(format string, args ...any) {
	l.good = append(l.good, fmt.Sprintf(format, args...))
}

func (l *observation) fails(component, format string, args ...any) {
	l.failsAt(recipe.Origin{}, component, format, args...)
}

func (l *observation) failsAt(place recipe.Origin, component, format string, args ...any) {
	l.bad = append(l.bad, fault{fmt.Sprintf(format, args...), component, place})
}

// unseenHere notes something that simulated nodes cannot show.
func (l *observation) unseenHere(what string) { l.unseen = append(l.unseen, what) }

// outcome is failed if the check found a fault, or if it found nothing to check.
func (l *observation) outcome() Outcome {
	switch {
	case len(l.bad) > 0:
		first := l.bad[0]
		o := Outcome{Status: result.StepFailed, Message: first.text, Component: first.component, Place: placeOf(first.place)}
		for _, f := range l.bad {
			o.Details = append(o.Details, f.String())
		}
		if n := len(l.bad) - 1; n > 0 {
			o.Message += fmt.Sprintf(" (and %d more)", n)
		}
		return o
	case len(l.good) == 0:
		return Outcome{Status: result.StepFailed, Message: "nothing was found to check"}
	}
	text := strings.Join(l.good, "; ")
	if len(l.unseen) > 0 {
		text += "; not checked, since the nodes are simulated: " + strings.Join(l.unseen, ", ")
	}
	return Outcome{Status: result.StepPassed, Message: text}
}

// enabled are the recipe's components that are deployed.
func (in *Inputs) enabled() []recipe.ComponentRef {
	var refs []recipe.ComponentRef
	for _, ref := range in.Recipe.ComponentRefs {
		if !ref.LeftOut() {
			refs = append(refs, ref)
		}
	}
	return refs
}

// component gives a component that is deployed.
func (in *Inputs) component(name string) (recipe.ComponentRef, bool) {
	for _, ref := range in.enabled() {
		if ref.Name == name {
			return ref, true
		}
	}
	return recipe.ComponentRef{}, false
}

// simulated reports whether any node is simulated: then nothing that hardware or a container would
// answer can be asked.
func (in *Inputs) simulated(ctx context.Context) (bool, error) {
	nodes, err := in.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for i := range nodes.Items {
		if _, ok := nodes.Items[i].Annotations[simulatedNode]; ok {
			return true, nil
		}
	}
	return false, nil
}

// workload is a Deployment, DaemonSet or StatefulSet.
type workload struct {
	kind      string
	meta      metav1.ObjectMeta
	component string
	images    []string
	want      int32
	// why is why it is not ready; empty if it is.
	why string
}

func (w *workload) String() string { return w.kind + " " + w.meta.Namespace + "/" + w.meta.Name }

// workloads are those of a namespace.
func (in *Inputs) workloads(ctx context.Context, namespace string) ([]workload, error) {
	var all []workload
	add := func(kind string, meta metav1.ObjectMeta, template func() []string, observed int64, want, updated, ready int32) {
		w := workload{kind: kind, meta: meta, component: in.owner(meta), images: template(), want: want}
		switch {
		case observed < meta.Generation:
			w.why = "its controller has not seen its last change"
		case updated < want:
			w.why = fmt.Sprintf("%d of %d pods are of its last version", updated, want)
		case ready < want:
			w.why = fmt.Sprintf("%d of %d pods are ready", ready, want)
		}
		all = append(all, w)
	}
	deployments, err := in.Kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		add("Deployment", d.ObjectMeta, func() []string { return imagesOf(d) }, d.Status.ObservedGeneration, replicas(d.Spec.Replicas), d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
	}
	sets, err := in.Kube.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		add("DaemonSet", s.ObjectMeta, func() []string { return nil }, s.Status.ObservedGeneration, s.Status.DesiredNumberScheduled, s.Status.UpdatedNumberScheduled, s.Status.NumberReady)
	}
	stateful, err := in.Kube.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range stateful.Items {
		s := &stateful.Items[i]
		want := replicas(s.Spec.Replicas)
		updated := want
		if s.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && s.Status.UpdateRevision != s.Status.CurrentRevision {
			updated = s.Status.UpdatedReplicas
		}
		add("StatefulSet", s.ObjectMeta, func() []string { return nil }, s.Status.ObservedGeneration, want, updated, s.Status.ReadyReplicas)
	}
	return all, nil
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func imagesOf(d *appsv1.Deployment) []string {
	var images []string
	for i := range d.Spec.Template.Spec.Containers {
		images = append(images, d.Spec.Template.Spec.Containers[i].Image)
	}
	return images
}

// owner is the component that an object belongs to: by Helm's labels and annotations, or as the
// only one in its namespace, or by the longest name that is a prefix of the object's name. Empty if
// none of these applies.
func (in *Inputs) owner(meta metav1.ObjectMeta) string {
	best, only, here := "", "", 0
	for _, ref := range in.enabled() {
		if ref.Namespace != meta.Namespace {
			continue
		}
		if ref.Name == meta.Labels["app.kubernetes.io/instance"] || ref.Name == meta.Annotations["meta.helm.sh/release-name"] {
			return ref.Name
		}
		here++
		only = ref.Name
		if strings.HasPrefix(meta.Name, ref.Name) && len(ref.Name) > len(best) {
			best = ref.Name
		}
	}
	if best == "" && here == 1 && meta.Namespace != metav1.NamespaceSystem {
		return only
	}
	return best
}

// ready checks that the workloads of a component whose names contain part are ready, and that at
// least one exists. An empty part is in every name.
func (l *observation) ready(ctx context.Context, in *Inputs, component, part string) error {
	ref, ok := in.component(component)
	if !ok {
		l.fails("", "the recipe does not deploy %s", component)
		return nil
	}
	all, err := in.workloads(ctx, ref.Namespace)
	if err != nil {
		return err
	}
	n := 0
	for i := range all {
		w := &all[i]
		if w.component != component || !strings.Contains(w.meta.Name, part) {
			continue
		}
		n++
		if w.why != "" {
			l.fails(component, "%s: %s", w, w.why)
		} else if w.kind == "DaemonSet" && w.want == 0 && part != "" {
			l.fails(component, "%s selects no node", w)
		}
	}
	if n == 0 {
		what := "workload of " + component
		if part != "" {
			what += " with " + part + " in its name"
		}
		l.fails(component, "namespace %s has no %s", ref.Namespace, what)
		return nil
	}
	if part != "" {
		part = ", " + part
	}
	l.holds("%s of %s ready%s", lists.Count(n, "workload"), component, part)
	return nil
}

// Kinds that the checks read.
var (
	crdKind        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServiceKind = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	policyKind     = schema.GroupVersionResource{Group: "nvidia.com", Version: "v1", Resource: "clusterpolicies"}
	queueKind      = schema.GroupVersionResource{Group: "scheduling.run.ai", Version: "v2", Resource: "queues"}
	classKind      = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gatewayclasses"}
	gatewayKind    = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
	prometheusKind = schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "prometheuses"}
	nodePoolKind   = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
)

// list returns the objects of a kind; none if the cluster does not have the kind.
func (in *Inputs) list(ctx context.Context, kind schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error) {
	found, err := in.Dynamic.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found.Items, nil
}

// condition returns the status and the message of an object's condition, or "" without the
// condition.
func condition(object *unstructured.Unstructured, kind string) (status, message string) {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, element := range list {
		c, _ := element.(map[string]any)
		if c["type"] == kind {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
			return status, message
		}
	}
	return "", ""
}

// is checks that a condition of an object is true.
func (l *observation) is(component string, object *unstructured.Unstructured, kind string) bool {
	status, message := condition(object, kind)
	if status == "True" {
		return true
	}
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	switch {
	case status == "":
		message = "its status does not say so"
	case message == "":
		message = "its condition is " + status
	}
	l.fails(component, "%s %s is not %s: %s", object.GetKind(), name, kind, message)
	return false
}

// established checks that the first existing one of several CRDs is established. A component
// installs one of them.
func (l *observation) established(ctx context.Context, in *Inputs, component string, names ...string) error {
	for _, name := range names {
		crd, err := in.Dynamic.Resource(crdKind).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if l.is(component, crd, "Established") {
			l.holds("%s is served", name)
		}
		return nil
	}
	l.fails(component, "the cluster has no CRD %s", strings.Join(names, " or "))
	return nil
}

// available checks that the first existing one of several aggregated APIs is available.
func (l *observation) available(ctx context.Context, in *Inputs, component string, names ...string) error {
	for _, name := range names {
		service, err := in.Dynamic.Resource(apiServiceKind).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if l.is(component, service, "Available") {
			l.holds("%s is available", name)
		}
		return nil
	}
	l.fails(component, "the cluster has no APIService %s", strings.Join(names, " or "))
	return nil
}

// served finds the preferred version of a kind that a recipe names without its group.
func (in *Inputs) served(kind string) (schema.GroupVersionResource, bool, error) {
	lists, err := discovery.ServerPreferredResources(in.Kube.Discovery())
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) { // an aggregated API without a server keeps no other kind from being found
		return schema.GroupVersionResource{}, false, err
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return schema.GroupVersionResource{}, false, err
		}
		for i := range list.APIResources {
			if r := &list.APIResources[i]; strings.EqualFold(r.Kind, kind) && !strings.Contains(r.Name, "/") {
				return gv.WithResource(r.Name), r.Namespaced, nil
			}
		}
	}
	return schema.GroupVersionResource{}, false, fmt.Errorf("the cluster serves no kind %s", kind)
}
