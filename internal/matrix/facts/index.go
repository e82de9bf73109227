// Package facts is what is known of a delivery when it is judged: the objects that were rendered, found by kind
// and read as types once; where a name is set; what operators and Jobs make at run time; what the cluster has,
// once there is one. It must not say what is wrong.
package facts

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// Index is what a check is given of one delivery. It is built once, and not for use by several goroutines.
type Index struct {
	Expectation *bundle.Expectation
	// Components are the recipe's: their values show which line set a name.
	Components []recipe.Component
	// Nodes are those of the cluster or, before there is one, of the recipe's node profile.
	Nodes []corev1.Node
	// Again: something was delivered before, so that the cluster has more than is rendered here.
	Again bool
	// Delivery is what the second delivery was, or is going to be; nil of a first one.
	Delivery *Delivery
	// Answers are what an API server says of each object of the expectation, by its number; none before one was asked.
	Answers []Answer
	// Live is what the cluster has; nil before there is one.
	Live *Live
	// Version is that of Kubernetes; empty where it is not known.
	Version string
	// Furnished: the user gave the cluster objects before anything is delivered, so that it has more than is rendered here.
	Furnished bool

	byKind map[schema.GroupKind][]*bundle.Object
	made   map[*bundle.Object]bool
	typed  map[*bundle.Object]any
	pods   []PodTemplate

	mayMake map[string]bool
}

// New is the index of what was rendered.
func New(e *bundle.Expectation, components []recipe.Component, nodes []corev1.Node, live *Live) *Index {
	x := &Index{Expectation: e, Components: components, Nodes: nodes, Live: live, byKind: map[schema.GroupKind][]*bundle.Object{}, made: map[*bundle.Object]bool{}, typed: map[*bundle.Object]any{}, mayMake: map[string]bool{}}
	for i := range e.Objects {
		x.add(&e.Objects[i])
	}
	for i := range e.Made {
		x.made[&e.Made[i]] = true
		x.add(&e.Made[i])
	}
	return x
}

func (x *Index) add(o *bundle.Object) {
	kind := o.Object.GroupVersionKind().GroupKind()
	x.byKind[kind] = append(x.byKind[kind], o)
	raw, ok := podspec.Template(o.Object)
	if !ok {
		return
	}
	if t, err := podspec.Read(raw); err == nil {
		x.pods = append(x.pods, PodTemplate{o, t})
	}
}

// Has reports whether there is an object of one of the kinds.
func (x *Index) Has(kinds ...schema.GroupKind) bool {
	return slices.ContainsFunc(kinds, func(k schema.GroupKind) bool { return len(x.byKind[k]) > 0 })
}

// OfKind lists the objects of some kinds, rendered or made by an operator of one, kind after kind in the order of
// the bundle.
func (x *Index) OfKind(kinds ...schema.GroupKind) (all []*bundle.Object) {
	for _, k := range kinds {
		all = append(all, x.byKind[k]...)
	}
	return all
}

// Rendered is OfKind without what operators make; without a kind, all objects in the order of the bundle.
func (x *Index) Rendered(kinds ...schema.GroupKind) (all []*bundle.Object) {
	if len(kinds) == 0 {
		for i := range x.Expectation.Objects {
			all = append(all, &x.Expectation.Objects[i])
		}
		return all
	}
	return slices.DeleteFunc(x.OfKind(kinds...), x.IsMade)
}

// Before lists the rendered objects of an object's kind and namespace that come before it in the bundle.
func (x *Index) Before(o *bundle.Object) (all []*bundle.Object) {
	for _, other := range x.Rendered(o.Object.GroupVersionKind().GroupKind()) {
		if other == o {
			break
		}
		if other.Object.GetNamespace() == o.Object.GetNamespace() && other.Object.GetName() != o.Object.GetName() {
			all = append(all, other)
		}
	}
	return all
}

// IsMade reports whether an operator makes an object, so that no chart has it.
func (x *Index) IsMade(o *bundle.Object) bool { return x.made[o] }

// Find is the object of that name; nil if nothing rendered is. A cluster-scoped object is in the namespace "".
func (x *Index) Find(kind schema.GroupKind, namespace, name string) *bundle.Object {
	for _, o := range x.byKind[kind] {
		if o.Object.GetName() == name && o.Object.GetNamespace() == namespace {
			return o
		}
	}
	return nil
}

// Pods lists the pod templates, in the order of the bundle.
func (x *Index) Pods() []PodTemplate { return x.pods }

// PodsOf lists the templates in a namespace whose labels a selector takes.
func (x *Index) PodsOf(namespace string, selector labels.Selector) (all []PodTemplate) {
	for _, p := range x.pods {
		if p.Object.Object.GetNamespace() == namespace && selector.Matches(labels.Set(p.Template.Labels)) {
			all = append(all, p)
		}
	}
	return all
}

// Services lists the Services of the cluster or, before there is one, those that were rendered or that operators
// make.
func (x *Index) Services() []corev1.Service {
	if x.Live != nil {
		return x.Live.Services
	}
	var all []corev1.Service
	for _, o := range x.OfKind(schema.GroupKind{Kind: "Service"}) {
		if s := As[corev1.Service](x, o); s != nil {
			all = append(all, *s)
		}
	}
	return all
}

// Service is the Service of that name; nil if Services has none.
func (x *Index) Service(namespace, name string) *corev1.Service {
	all := x.Services()
	i := slices.IndexFunc(all, func(s corev1.Service) bool { return s.Namespace == namespace && s.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// As reads an object as a type of Kubernetes, once; nil if it is none.
func As[T any](x *Index, o *bundle.Object) *T {
	if known, ok := x.typed[o]; ok {
		if t, ok := known.(*T); ok {
			return t
		}
	}
	t := new(T)
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, t) != nil {
		t = nil
	}
	x.typed[o] = t
	return t
}

// Text is the text at a path of an object, e.g. spec.rules[0].host; empty if there is none.
func Text(o *unstructured.Unstructured, path string) string {
	v := At(o.Object, path)
	if s, ok := v.(string); ok {
		return s
	}
	return numeral(v)
}
