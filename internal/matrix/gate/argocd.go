package gate

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// notInApplication returns those of the objects which Argo CD, by its own record, rendered under another
// name: the Application of their release is Synced, does not list them, and lists another object of their
// kind that the bundle does not have. Their template generates the name.
func notInApplication(ctx context.Context, env *lane.Env, missing []bundle.Object) (without []bundle.Object, err error) {
	lists := map[string][]result.Ref{}
	for _, o := range missing {
		if o.Hook || argoapi.ExclusionOf(o.Object.GroupVersionKind().GroupKind()) != argoapi.NotExcluded {
			continue
		}
		all, known := lists[o.Release]
		if !known {
			if all, err = resourcesOf(ctx, env, o.Release); err != nil {
				return nil, err
			}
			lists[o.Release] = all
		}
		ref := o.Ref()
		if !slices.Contains(all, ref) && slices.ContainsFunc(all, func(other result.Ref) bool {
			return other.Group == ref.Group && other.Kind == ref.Kind && other.Namespace == ref.Namespace && !has(env.Bundle, other) && !has(env.Before, other)
		}) && generates(bundle.TemplateOf(env.Bundle.Installs, &o)) {
			without = append(without, o)
		}
	}
	return without, nil
}

// generates reports whether a template may render another name each time.
func generates(template string) bool {
	return slices.ContainsFunc([]string{"rand", "uuid", "now", "shuffle", "gen", "htpasswd", "bcrypt", "lookup", "keys", "values"}, func(word string) bool { return strings.Contains(template, word) })
}

func has(b *bundle.Bundle, ref result.Ref) bool {
	return b != nil && slices.ContainsFunc(b.Expectation.Objects, func(o bundle.Object) bool { return o.Ref() == ref })
}

// resourcesOf lists what an Application that is Synced has; nothing if there is none.
func resourcesOf(ctx context.Context, env *lane.Env, name string) (all []result.Ref, err error) {
	app, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if status, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status"); status != "Synced" {
		return nil, nil
	}
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	for _, r := range resources {
		m, _ := r.(map[string]any)
		text := func(key string) string { s, _ := m[key].(string); return s }
		gk := schema.GroupKind{Group: text("group"), Kind: text("kind")}
		all = append(all, result.Ref{Group: gk.Group, Kind: gk.Kind, Namespace: text("namespace"), Name: text("name")})
	}
	return all, nil
}
