package daytwo

// races.go finds what Flux removes in no order although the order matters: the definition of a kind
// with one release, and an object of that kind with another one. It must not know whether an upgrade, a
// rollback or a removal does that.

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// race is a definition that one release loses, and an object of its kind that another one loses.
type race struct{ Definition, Object *bundle.Object }

// findRaces lists the races among what is removed of each release: one for each two releases. ordered reports
// whether the definition's release, which comes first, waits for the object's.
func findRaces(removed map[string][]*bundle.Object, ordered func(definition, object string) bool) (all []race) {
	for _, of := range slices.Sorted(maps.Keys(removed)) {
		for _, release := range slices.Sorted(maps.Keys(removed)) {
			if release == of || ordered(of, release) {
				continue
			}
			if r, ok := between(removed[of], removed[release]); ok {
				all = append(all, r)
			}
		}
	}
	return all
}

func between(definitions, objects []*bundle.Object) (race, bool) {
	for _, definition := range definitions {
		kind := apis.DefinedBy(definition.Object)
		if kind.Kind == "" {
			continue
		}
		if i := slices.IndexFunc(objects, func(o *bundle.Object) bool { return o.Object.GroupVersionKind().GroupKind() == kind }); i >= 0 {
			return race{definition, objects[i]}, true
		}
	}
	return race{}, false
}

// ofRemoval lists the races of the removal of a whole bundle.
func ofRemoval(e *bundle.Expectation) []race {
	return findRaces(guardedOwned(e, rendering.KeptAtUninstall, func(*bundle.Object) bool { return true }), func(string, string) bool { return false })
}

// uninstalled says of a race in a delivery or a removal, which what names, that it went well, as the end of a sentence that
// begins with the object.
func (r race) uninstalled(what string) string {
	return fmt.Sprintf("is removed by %s with release %s, and its definition, %s, with release %s (component %s, %s): Flux does both in no order. Here that went well; where the definition goes first, it takes every %s with it, and helm-controller cannot uninstall %[2]s, with a kind that the API server does not serve any more",
		what, r.Object.Release, r.Definition.Ref(), r.Definition.Release, r.Definition.Component, r.Definition.Where(), r.Object.Object.GetKind())
}

// Order says what helps.
func (r race) Order() string {
	return fmt.Sprintf("remove component %s first, and component %s in a delivery after that, when HelmRelease %s is gone", r.Object.Component, r.Definition.Component, r.Object.Release)
}

// Lost is what is said of a race whose definition went first: helm-controller has failed to uninstall the
// release of the object, and waits between attempts of which none can succeed. Empty if that is not so.
func (r race) Lost(ctx context.Context, env *lane.Env) string {
	_, err := env.Clients.Dynamic.Resource(infra.CRDResource).Get(ctx, r.Definition.Object.GetName(), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return ""
	}
	release, err := env.Clients.Dynamic.Resource(infra.HelmReleaseGVR).Namespace(infra.FluxNamespace).Get(ctx, r.Object.Release, metav1.GetOptions{})
	if err != nil || release.GetDeletionTimestamp() == nil {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(release.Object, "status", "conditions")
	for _, c := range conditions {
		if m, _ := c.(map[string]any); m["reason"] == "UninstallFailed" {
			return fmt.Sprintf("HelmRelease %s cannot be uninstalled (%v): it has %s, and %s, its definition, went before it, with release %s; Flux uninstalls both in no order", r.Object.Release, m["message"], r.Object.Ref(), r.Definition.Ref(), r.Definition.Release)
		}
	}
	return ""
}
