package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// Captured are the live objects of a cell that has passed, normalised: those of the expectation,
// and others that the deployer counts as its own.
type Captured struct {
	objects map[string]capturedObject // by key
	// Before are the objects of what ran before an upgrade; nil after a first installation.
	Before *Captured
	// Render renders the recipe's charts once more.
	Render func(context.Context) ([]bundle.Object, error)
	// Releases are those of the lane, and RenderAs renders their charts once more with other names in
	// Helm, by the name in the recipe, together with what operators make of them. Without a name it
	// is that of the lane.
	Releases []bundle.Release
	RenderAs func(context.Context, map[string]string) ([]bundle.Object, error)
}

type capturedObject struct {
	ref lane.Object
	// mayBeGone means that its controller or its hook policy deletes it after it has done its work.
	mayBeGone bool
	// template is where its chart has it; empty if no chart of the expectation has it.
	template string
	// owners are the releases that contain the object with different content, in the order of
	// delivery; empty for all others.
	owners []string
	// json is the normalised object with sorted keys: small, and equal objects have equal bytes.
	json []byte
	// uid, generation, hook and scaled say whether a second delivery replaced or wrote the object,
	// or may have (again.go).
	uid          types.UID
	generation   int64
	hook, scaled bool
	leaving      bool // it is being deleted
}

// wanted is an object to be captured, with its renderings.
type wanted struct {
	ref       lane.Object
	mayBeGone bool
	// scaled means that a HorizontalPodAutoscaler owns spec.replicas, which changes with time.
	scaled   bool
	rendered []*unstructured.Unstructured
	objects  []bundle.Object // that rendered is of
	// further means that it is read for Also only, and not captured.
	further bool
}

// Also makes one reading do for two: each object that is captured is passed to Take too, and so are
// further ones.
type Also struct {
	Objects []lane.Object
	Take    func(Live)
}

// Look is called with a live object and its renderings; scaled means that a HorizontalPodAutoscaler
// owns its replicas.
type Look func(renderings []bundle.Object, live *unstructured.Unstructured, scaled bool)

// capturesAtATime bounds the requests in flight.
const capturesAtATime = 8

// Capture reads the expectation's objects and the deployer's own by name. One that does not exist is
// left out: the gate has seen all required objects; it was deleted since, or is listed as pruned.
// look, unless nil, is called with each object before it is normalised; also may be nil.
func Capture(ctx context.Context, env *lane.Env, own []lane.Object, look Look, also *Also) (*Captured, error) {
	if also == nil {
		also = &Also{Take: func(Live) {}}
	}
	taken := New()
	var mu sync.Mutex
	return taken, read(ctx, env, own, also.Objects, func(w *wanted, obj *unstructured.Unstructured) error {
		live := w.live(obj)
		if w.further {
			w.normalise(obj)
			mu.Lock()
			defer mu.Unlock()
			also.Take(live)
			return nil
		}
		if look != nil {
			look(w.objects, obj, w.scaled)
		}
		one, err := w.captured(obj)
		mu.Lock()
		defer mu.Unlock()
		taken.objects[w.ref.Key()] = one
		also.Take(live)
		return err
	})
}

// read reads the expectation's objects, and others by name, and passes each that exists to use, of
// which several run at a time.
func read(ctx context.Context, env *lane.Env, own, further []lane.Object, use func(*wanted, *unstructured.Unstructured) error) error {
	mapper, err := env.Clients.Mapper()
	if err != nil {
		return err
	}
	list, err := toCapture(env.Bundle.Expectation, own, further, mapper)
	if err != nil {
		return err
	}
	return readEach(ctx, env.Clients.Dynamic, mapper, list, use)
}

// readEach reads each of a list, those of a resource at once if they are many.
func readEach(ctx context.Context, from dynamic.Interface, mapper meta.RESTMapper, list map[string]*wanted, use func(*wanted, *unstructured.Unstructured) error) error {
	byResource := map[schema.GroupVersionResource][]*wanted{}
	for _, w := range list {
		mapping, err := mapper.RESTMapping(w.ref.GVK.GroupKind(), w.ref.GVK.Version)
		if err != nil {
			return err
		}
		byResource[mapping.Resource] = append(byResource[mapping.Resource], w)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(capturesAtATime)
	for resource, all := range byResource {
		client := from.Resource(resource)
		if len(all) >= listFrom && resource != infra.SecretGVR && resource.GroupResource() != corev1.Resource("pods") {
			group.Go(func() error { return readList(ctx, client, resource, all, use) })
			continue
		}
		for _, w := range all {
			group.Go(func() error {
				obj, err := client.Namespace(w.ref.Namespace).Get(ctx, w.ref.Name, metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("read %s: %w", w.ref, err)
				}
				return use(w, obj)
			})
		}
	}
	return group.Wait()
}

// listFrom is of how many objects of a resource one list is less work than a read of each: the API server answers a list out of
// its memory, and reads each single object from etcd.
const listFrom = 4

// readList reads objects of one resource at once. It is not for Secrets and pods, of which a cluster has many that are no one's
// here: Helm's releases, and what controllers make.
func readList(ctx context.Context, client dynamic.NamespaceableResourceInterface, resource schema.GroupVersionResource, all []*wanted, use func(*wanted, *unstructured.Unstructured) error) error {
	live, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // its definition is gone
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	byName := map[string]*unstructured.Unstructured{}
	for i := range live.Items {
		byName[infra.NamespacedName(live.Items[i].GetNamespace(), live.Items[i].GetName())] = &live.Items[i]
	}
	for _, w := range all {
		if obj := byName[infra.NamespacedName(w.ref.Namespace, w.ref.Name)]; obj != nil {
			if err := use(w, obj); err != nil {
				return err
			}
		}
	}
	return nil
}

// New returns a Captured without objects.
func New() *Captured { return &Captured{objects: map[string]capturedObject{}} }

// Add adds an object, normalised as if no chart had rendered it. mayBeGone means that its
// controller or its hook policy deletes it after it has done its work.
func (c *Captured) Add(obj *unstructured.Unstructured, release string, mayBeGone bool) error {
	obj = obj.DeepCopy()
	normalise(obj, nil)
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return fmt.Errorf("normalise %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	ref := lane.Object{GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Release: release}
	c.objects[ref.Key()] = capturedObject{ref: ref, mayBeGone: mayBeGone, json: raw}
	return nil
}

// toCapture lists the objects to read, by key. It removes the namespace of a cluster-scoped object.
func toCapture(e bundle.Expectation, own, further []lane.Object, mapper meta.RESTMapper) (map[string]*wanted, error) {
	list := map[string]*wanted{}
	add := func(ref lane.Object) (*wanted, error) {
		mapping, err := mapper.RESTMapping(ref.GVK.GroupKind(), ref.GVK.Version)
		if err != nil {
			return nil, fmt.Errorf("find the kind of %s: %w", ref, err)
		}
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			ref.Namespace = ""
		}
		if list[ref.Key()] == nil {
			list[ref.Key()] = &wanted{ref: ref, further: true}
		}
		return list[ref.Key()], nil
	}
	for _, o := range slices.Concat(e.Objects, e.Made) {
		obj := o.Object
		if obj.GetName() == "" { // generateName: the name is not known
			continue
		}
		w, err := add(lane.Object{GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Release: o.Release})
		if meta.IsNoMatchError(err) && o.Ephemeral {
			continue
		}
		if err != nil {
			return nil, err
		}
		w.further = false
		w.rendered, w.objects = append(w.rendered, obj), append(w.objects, o)
		_, ttl, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "ttlSecondsAfterFinished")
		w.mayBeGone = w.mayBeGone || o.Ephemeral || ttl
	}
	for _, w := range list {
		if ref, ok := scaleTarget(w.rendered); ok && list[ref.Key()] != nil {
			list[ref.Key()].scaled = true
		}
	}
	for i, ref := range slices.Concat(own, further) {
		w, err := add(ref)
		if err != nil && !meta.IsNoMatchError(err) { // a kind that is not served has no object
			return nil, err
		}
		if err == nil && i < len(own) {
			w.further = false
		}
	}
	return list, nil
}

// rivals returns the releases that render the object with different content; none if they agree, or
// if there is only one.
func (w *wanted) rivals() ([]string, error) {
	var owners []string
	differ := false
	var first *unstructured.Unstructured
	for _, o := range w.objects {
		if slices.Contains(owners, o.Release) {
			continue // e.g. a hook that is rendered twice
		}
		owners = append(owners, o.Release)
		if len(w.objects) == 1 {
			break
		}
		whole, err := o.Whole()
		if err != nil {
			return nil, err
		}
		whole = whole.DeepCopy()
		normalise(whole, w.rendered)
		if first == nil {
			first = whole
		} else if len(differences(first.Object, whole.Object)) > 0 {
			differ = true
		}
	}
	if !differ {
		return nil, nil
	}
	return owners, nil
}

// scaleTarget returns what a HorizontalPodAutoscaler scales.
func scaleTarget(rendered []*unstructured.Unstructured) (lane.Object, bool) {
	for _, r := range rendered {
		target, ok, _ := unstructured.NestedStringMap(r.Object, "spec", "scaleTargetRef")
		if r.GetKind() != "HorizontalPodAutoscaler" || !ok {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(target["apiVersion"], target["kind"])
		return lane.Object{GVK: gvk, Namespace: r.GetNamespace(), Name: target["name"]}, true
	}
	return lane.Object{}, false
}

// captured is the live object, normalised.
func (w *wanted) captured(obj *unstructured.Unstructured) (one capturedObject, err error) {
	one = capturedObject{ref: w.ref, mayBeGone: w.mayBeGone, scaled: w.scaled, uid: obj.GetUID(), generation: obj.GetGeneration(), leaving: obj.GetDeletionTimestamp() != nil}
	one.hook = slices.ContainsFunc(w.objects, func(o bundle.Object) bool { return o.Hook })
	if len(w.objects) > 0 {
		one.template = w.objects[0].Template
	}
	if one.owners, err = w.rivals(); err != nil {
		return one, err
	}
	w.normalise(obj)
	one.json, err = json.Marshal(obj.Object)
	return one, err
}

// normalise changes the live object.
func (w *wanted) normalise(obj *unstructured.Unstructured) {
	normalise(obj, w.rendered)
	if w.scaled {
		unstructured.RemoveNestedField(obj.Object, "spec", "replicas")
	}
}

// Generated lists, by object, the paths at which two renderings of the same charts differ:
// passwords, certificates, dates. Of a kind and namespace with names that differ, i.e. of a key without its
// name, it lists those names that do not.
func (c *Captured) Generated(ctx context.Context) (map[string]map[string]bool, error) {
	if c.Render == nil {
		return nil, nil
	}
	first, err := c.Render(ctx)
	second, err2 := c.Render(ctx)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	byKey := func(objs []bundle.Object) map[string]map[string]any {
		all := map[string]map[string]any{}
		for _, o := range objs {
			obj := o.Object.DeepCopy()
			normalise(obj, []*unstructured.Unstructured{obj.DeepCopy()})
			all[renderedKey(obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName())] = obj.Object
		}
		return all
	}
	found := map[string]map[string]bool{}
	once, again := byKey(first), byKey(second)
	for key := range once {
		if kind, _ := keyParts(key); again[key] == nil && found[kind] == nil {
			found[kind] = map[string]bool{}
			for other := range once {
				if of, name := keyParts(other); of == kind && again[other] != nil {
					found[kind][name] = true
				}
			}
		}
	}
	for key, a := range once {
		b, ok := again[key]
		if !ok {
			continue
		}
		for _, d := range differences(a, b) {
			if found[key] == nil {
				found[key] = map[string]bool{}
			}
			found[key][d.path] = true
		}
	}
	return found, nil
}

// keyParts splits an object's key before its name.
func keyParts(key string) (kind, name string) {
	i := strings.LastIndex(key, "/") + 1
	return key[:i], key[i:]
}

func renderedKey(gvk schema.GroupVersionKind, namespace, name string) string {
	return lane.Object{GVK: gvk, Namespace: namespace, Name: name}.Key()
}
