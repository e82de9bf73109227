package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// helmTemplateLane is helm-template: it applies the manifests that the charts render, as the
// bundle's apply.sh does. In the cluster, only the field managers of the objects show their
// releases.
type helmTemplateLane struct {
	d bundle.Deployer
	lane.InOrder
	// kinds are those of the applied objects; complete once every release is reported as applied.
	kinds map[schema.GroupVersionKind]*meta.RESTMapping
}

// NewTemplate returns the lane helm-template, for one cell.
func NewTemplate(d bundle.Deployer) lane.Lane {
	return &helmTemplateLane{d: d, kinds: map[schema.GroupVersionKind]*meta.RESTMapping{}}
}

var _ lane.Lane = (*helmTemplateLane)(nil)

func (l *helmTemplateLane) Deployer() bundle.Deployer { return l.d }

// Order is none: hooks are applied like all else.
func (l *helmTemplateLane) Order(*lane.Env) lane.Order { return lane.Order{AtOnce: true} }

// Deploy starts applying.
func (l *helmTemplateLane) Deploy(ctx context.Context, env *lane.Env) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(env.Clients.Discovery))
	l.BestEffort = env.BestEffort
	l.Start(ctx, env.Bundle.Expectation.Releases, func(ctx context.Context, r bundle.Release) error {
		for _, name := range []string{bundle.TemplateNamespace, bundle.TemplateCRDs, bundle.TemplateManifests} {
			if err := l.applyFile(ctx, env, mapper, r, name); err != nil {
				return err
			}
		}
		return nil
	}, "applied")
	return nil
}

// Again is a second run of apply.sh.
func (l *helmTemplateLane) Again(ctx context.Context, env *lane.Env, budget time.Duration) error {
	l.Stop()
	if err := l.Deploy(ctx, env); err != nil {
		return err
	}
	return l.Finished(ctx, budget)
}

// Remove is `kubectl delete -f` of each release's manifests, the last one first. Namespaces and CRDs
// of crds/ are files of their own, which stay.
func (l *helmTemplateLane) Remove(ctx context.Context, env *lane.Env, budget time.Duration) error {
	l.Stop()
	releases := slices.Clone(env.Bundle.Expectation.Releases)
	slices.Reverse(releases)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(env.Clients.Discovery))
	l.Start(ctx, releases, func(ctx context.Context, r bundle.Release) error {
		objs, err := objectsOf(env, r, bundle.TemplateManifests)
		if err != nil {
			return err
		}
		for _, o := range slices.Backward(objs) {
			client, err := clientOf(env, mapper, o)
			if err == nil {
				err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			}
			if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
				return fmt.Errorf("delete %s %s: %w", o.GetKind(), infra.NamespacedName(o.GetNamespace(), o.GetName()), err)
			}
		}
		return nil
	}, "removed")
	return l.Finished(ctx, budget)
}

// objectsOf returns the objects in a file of a release; none if the bundle lacks it.
func objectsOf(env *lane.Env, r bundle.Release, name string) ([]*unstructured.Unstructured, error) {
	path := r.Name + "/" + name
	i := slices.IndexFunc(env.Bundle.Files, func(f bundle.File) bool { return f.Path == path })
	if i < 0 {
		return nil, nil
	}
	objs, err := infra.DecodeObjects(env.Bundle.Files[i].Content)
	if err != nil {
		return nil, fmt.Errorf("read %s of the bundle: %w", path, err)
	}
	return objs, nil
}

func clientOf(env *lane.Env, mapper meta.RESTMapper, obj *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := obj.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	return env.Clients.Scoped(mapping, obj.GetNamespace()), nil
}

// crdBudget is how long to wait for CRDs, the same as in apply.sh.
const crdBudget = 60 * time.Second

// applyFile applies one file of a release, if the bundle has it, and waits for the CRDs in it.
func (l *helmTemplateLane) applyFile(ctx context.Context, env *lane.Env, mapper meta.ResettableRESTMapper, r bundle.Release, name string) error {
	objs, err := objectsOf(env, r, name)
	if err != nil || len(objs) == 0 {
		return err
	}
	manager := bundle.TemplateManager(r.Name)
	if name == bundle.TemplateNamespace {
		manager = bundle.HelmTemplate // not one of the chart's objects
	}
	var crds []string
	for _, o := range objs {
		if err := l.applyPatiently(ctx, env, mapper, r.Name, manager, o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), infra.NamespacedName(o.GetNamespace(), o.GetName()), err)
		}
		if o.GetKind() == "CustomResourceDefinition" {
			crds = append(crds, o.GetName())
		}
	}
	return env.Clients.WaitCRDs(ctx, crds, crdBudget)
}

// applyPatiently applies an object. It retries what the API server may accept a moment later, e.g.
// an object of a new CRD's kind, for as long as any error has to last; a rejection is an error at
// once. A slow request is no error: the gate's budget ends it.
func (l *helmTemplateLane) applyPatiently(ctx context.Context, env *lane.Env, mapper meta.ResettableRESTMapper, release, manager string, obj *unstructured.Unstructured) error {
	tries := 0
	var first time.Time
	return wait.For(ctx, "the API server to take it", wait.Options{Budget: lane.HookTimeout}, func(ctx context.Context) wait.Result {
		err := l.applyOnce(ctx, env, mapper, manager, obj)
		if err == nil {
			return wait.Done()
		}
		if first.IsZero() {
			first = time.Now()
		}
		patience := lane.SuspectFor
		if gvk := obj.GroupVersionKind(); meta.IsNoMatchError(err) && lane.DefinesKind(env.Bundle.Expectation, gvk.Group, gvk.Kind) {
			patience = crdBudget // its CRD is Established, and discovery is behind
		}
		if webhook, of, ok := lane.StartingWebhook(err.Error(), env.Bundle.Expectation); ok {
			tries, patience = tries+1, lane.WebhookPatience
			l.TriesAgain(release, tries, webhook, of, err)
		}
		if !meta.IsNoMatchError(err) && !lane.Retryable(err.Error()) || time.Since(first) >= patience {
			return wait.Never(err)
		}
		mapper.Reset()
		return wait.NotYet("%v", err)
	})
}

// applyOnce applies without force: an object with other values of another release is a conflict.
func (l *helmTemplateLane) applyOnce(ctx context.Context, env *lane.Env, mapper meta.RESTMapper, manager string, obj *unstructured.Unstructured) error {
	gvk := obj.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	client := env.Clients.Scoped(mapping, obj.GetNamespace())
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		obj.SetNamespace("") // rendering cannot know the scope of a kind whose CRD is not in the bundle
	}
	l.kinds[gvk] = mapping
	_, err = client.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: manager})
	return err
}

// listsAtATime bounds the requests in flight.
const listsAtATime = 8

// ReadBack has no records of releases to read. It searches the applied kinds for objects with a
// release's field manager. These must be the ones that the charts render, each by its release.
func (l *helmTemplateLane) ReadBack(ctx context.Context, env *lane.Env) (lane.Record, error) {
	client, err := metadata.NewForConfig(env.Clients.Config)
	if err != nil {
		return lane.Record{}, err
	}
	var mu sync.Mutex
	found, exist := newTally(), map[lane.Object]bool{}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(listsAtATime)
	for gvk, mapping := range l.kinds {
		group.Go(func() error {
			list, err := client.Resource(mapping.Resource).List(gctx, metav1.ListOptions{})
			if err != nil {
				return fmt.Errorf("list %s: %w", mapping.Resource.Resource, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range list.Items {
				found.applied(gvk, &list.Items[i])
				exist[lane.Object{GVK: gvk, Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}] = true
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return lane.Record{}, err
	}
	clusterScoped := map[schema.GroupKind]bool{}
	for gvk, mapping := range l.kinds {
		clusterScoped[gvk.GroupKind()] = mapping.Scope.Name() == meta.RESTScopeNameRoot
	}
	found.bare(env.Bundle.Expectation, exist)
	return lane.Record{Want: wantApplied(env.Bundle.Expectation, clusterScoped, found).deliveries(), Got: found.deliveries(), Objects: found.objects}, nil
}

// tally is objects with the releases that have applied them, or must have.
type tally struct {
	order    []string
	releases map[string][]string
	objects  []lane.Object
}

func newTally() *tally { return &tally{releases: map[string][]string{}} }

func (t *tally) add(ref lane.Object) {
	id := ref.String()
	if t.releases[id] == nil {
		t.order = append(t.order, id)
		t.objects = append(t.objects, ref)
	}
	if !slices.Contains(t.releases[id], ref.Release) {
		t.releases[id] = append(t.releases[id], ref.Release)
	}
}

// applied counts an object of the cluster, for each release whose field manager has applied it.
func (t *tally) applied(gvk schema.GroupVersionKind, obj metav1.Object) {
	for _, m := range obj.GetManagedFields() {
		name, ok := strings.CutPrefix(m.Manager, bundle.TemplateManager(""))
		if ok && m.Operation == metav1.ManagedFieldsOperationApply {
			t.add(lane.Object{GVK: gvk, Namespace: obj.GetNamespace(), Name: obj.GetName(), Release: name})
		}
	}
}

// bare counts the objects that exist and that nobody can own a field of: their charts render a name
// and nothing else, so that the API server records no field manager.
func (t *tally) bare(e bundle.Expectation, exist map[lane.Object]bool) {
	for _, o := range e.Objects {
		meta, _ := o.Object.Object["metadata"].(map[string]any)
		if len(o.Object.Object) > 3 || len(meta) > 2 || len(meta) == 2 && meta["namespace"] == nil {
			continue
		}
		ref := lane.Object{GVK: o.Object.GroupVersionKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName()}
		if !exist[ref] {
			ref.Namespace = "" // rendering cannot know the scope of a kind whose CRD is not in the bundle
		}
		if exist[ref] {
			ref.Release = o.Release
			t.add(ref)
		}
	}
}

func (t *tally) deliveries() []lane.Delivery {
	var all []lane.Delivery
	slices.Sort(t.order) // the same report every time
	refs := map[string]result.Ref{}
	for _, o := range t.objects {
		refs[o.String()] = o.Ref()
	}
	for _, id := range t.order {
		slices.Sort(t.releases[id])
		all = append(all, lane.Delivery{ID: id, Facts: []lane.Fact{{Name: "applied by", Value: strings.Join(t.releases[id], ", ")}}, Object: refs[id]})
	}
	return all
}

// wantApplied counts the objects of the expectation. A Job that the control plane deletes after it
// has ended may be gone.
func wantApplied(e bundle.Expectation, clusterScoped map[schema.GroupKind]bool, found *tally) *tally {
	want := newTally()
	for _, o := range e.Objects {
		ref := lane.Object{GVK: o.Object.GroupVersionKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName(), Release: o.Release}
		if clusterScoped[ref.GVK.GroupKind()] {
			ref.Namespace = ""
		}
		_, ttl, _ := unstructured.NestedFieldNoCopy(o.Object.Object, "spec", "ttlSecondsAfterFinished")
		if ttl && found.releases[ref.String()] == nil {
			continue
		}
		want.add(ref)
	}
	return want
}
