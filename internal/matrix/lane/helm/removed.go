package helm

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// removalBudget is how long to wait until the API server serves a kind no more.
const removalBudget = 10 * time.Second

// removedKinds waits until the kinds are gone whose definitions the upgrade of a release has removed. Helm
// waits for no deletion, and takes about as long to start for the next release as that needs: this makes
// what comes of a release that has such an object a verdict, and not a matter of luck.
func removedKinds(ctx context.Context, env *lane.Env, release string) {
	if env.Before == nil {
		return
	}
	for i := range env.Before.Expectation.Objects {
		o := &env.Before.Expectation.Objects[i]
		kind := apis.DefinedBy(o.Object)
		if kind.Kind == "" || o.Release != release || o.Hook || o.InCRDs() || rendering.KeptAtUpgrade(o.Object.GetAnnotations()) ||
			slices.ContainsFunc(env.Bundle.Expectation.Objects, func(now bundle.Object) bool { return now.Ref() == o.Ref() }) {
			continue
		}
		_ = wait.For(ctx, "the removal of kind "+kind.Kind, wait.Options{Budget: removalBudget, Interval: 200 * time.Millisecond}, func(context.Context) wait.Result {
			if served(env, o.Object) {
				return wait.NotYet("the API server serves it still")
			}
			return wait.Done()
		})
	}
}

// served reports whether the API server has the kind of a definition in one of its versions.
func served(env *lane.Env, definition *unstructured.Unstructured) bool {
	kind := apis.DefinedBy(definition)
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		list, err := env.Clients.Kube.Discovery().ServerResourcesForGroupVersion(fmt.Sprintf("%s/%s", kind.Group, version["name"]))
		if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }) {
			return true
		}
	}
	return false
}
