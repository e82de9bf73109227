package observe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// Forbidden reports whether the API server denied a request for lack of permission. Waiting cannot
// fix that.
func Forbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// MissingObject is an expected object that does not exist.
type MissingObject struct {
	ref                 result.Ref
	component, template string
}

func (m MissingObject) String() string {
	return fmt.Sprintf("%s %s (%s, %s)", m.ref.Kind, infra.NamespacedName(m.ref.Namespace, m.ref.Name), m.component, m.template)
}

// Is reports whether it is the object, by a reference that may have a namespace too many.
func (m MissingObject) Is(ref result.Ref) bool {
	if m.ref.Namespace == "" {
		ref.Namespace = ""
	}
	return m.ref == ref
}

// MissingTexts returns a line for each missing object.
func MissingTexts(all []MissingObject) []string {
	var lines []string
	for _, m := range all {
		lines = append(lines, m.String())
	}
	return lines
}

// MissingFinding reports missing objects; the cause is about the first one.
func MissingFinding(first MissingObject, all []MissingObject, cause string) *result.Failure {
	f := result.Finding{Cause: cause, Object: &first.ref, Component: first.component, Story: MissingTexts(all)}
	for _, m := range all {
		if m != first {
			f.Others = append(f.Others, m.ref)
		}
	}
	return result.NewFailure(f)
}

// MissingObjects returns the expected objects that do not exist. It reads only names, with one list
// per kind. A Job that was seen complete may have been deleted since.
func MissingObjects(ctx context.Context, clients *infra.Clients, expected []bundle.Object, jobs *Jobs) ([]MissingObject, error) {
	mapper, err := clients.Mapper()
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(clients.Config)
	if err != nil {
		return nil, err
	}
	have := map[schema.GroupVersionKind]existing{}
	var missing []MissingObject
	for _, o := range expected {
		if o.Ephemeral || o.Object.GetName() == "" { // generateName: the name is not known
			continue
		}
		gvk := o.Object.GroupVersionKind()
		if gvk.Group == "batch" && gvk.Kind == "Job" && jobs.Completed(o.Object.GetNamespace(), o.Object.GetName()) {
			continue
		}
		if _, ok := have[gvk]; !ok {
			found, err := listNames(ctx, client, mapper, gvk)
			if err != nil {
				return nil, err
			}
			have[gvk] = found
		}
		ref := result.Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Object.GetNamespace(), Name: o.Object.GetName()}
		if have[gvk].clusterScoped { // rendering cannot know the scope of a kind whose CRD is not in the bundle
			ref.Namespace = ""
		}
		if !have[gvk].names[infra.NamespacedName(ref.Namespace, ref.Name)] {
			missing = append(missing, MissingObject{ref, o.Component, o.Template})
		}
	}
	return missing, nil
}

// existing are the objects of one kind.
type existing struct {
	clusterScoped bool
	names         map[string]bool // namespace/name, or name
}

func listNames(ctx context.Context, client metadata.Interface, mapper meta.RESTMapper, gvk schema.GroupVersionKind) (existing, error) {
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return existing{}, nil // without the kind, none of its objects exists
	}
	if err != nil {
		return existing{}, fmt.Errorf("find kind %s: %w", gvk, err)
	}
	list, err := client.Resource(mapping.Resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return existing{}, fmt.Errorf("list %s: %w", mapping.Resource.Resource, err)
	}
	found := existing{clusterScoped: mapping.Scope.Name() == meta.RESTScopeNameRoot, names: map[string]bool{}}
	for i := range list.Items {
		found.names[infra.NamespacedName(list.Items[i].Namespace, list.Items[i].Name)] = true
	}
	return found, nil
}
