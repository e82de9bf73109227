package argocd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helminstall"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Remove deletes the root with Argo CD's finalizer, as `argocd app delete --cascade` does: the
// Applications are its objects, and what they deploy is deleted with them.
func (l *appLane) Remove(ctx context.Context, env *lane.Env, budget time.Duration) error {
	for _, d := range slices.Backward(env.Bundle.Expectation.Delivered) { // ops, which may need core, before it
		if !d.Root || d.Kind != "Application" {
			continue
		}
		if err := patchApplication(ctx, env, d.Name, `{"metadata":{"finalizers":["`+cascade+`"]}}`); err != nil && !apierrors.IsNotFound(err) {
			return reason.New(reason.ClusterFailed, "set the finalizer of Application %s: %w", d.Name, err)
		}
		err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).Delete(ctx, d.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return reason.New(reason.ClusterFailed, "delete Application %s: %w", d.Name, err)
		}
	}
	return l.removed(ctx, env, budget)
}

// cascade is the finalizer by which Argo CD deletes what an Application has deployed.
const cascade = "resources-finalizer.argocd.argoproj.io"

// Remove is `helm uninstall` of the wrapper chart, which deletes the root.
func (l helmLane) Remove(ctx context.Context, env *lane.Env, budget time.Duration) error {
	installer := helminstall.New(env, false)
	defer installer.Close()
	name := bundle.WrapperRelease(bundle.RecipeName(env.Input.Recipe))
	if err := installer.Uninstall(ctx, name, infra.ArgoCDNamespace); err != nil {
		return reason.New(reason.DeployFailed, "helm uninstall %s: %w", name, err)
	}
	return l.removed(ctx, env, budget)
}

// Remove deletes the ApplicationSet, and with it its Applications.
func (l appSetLane) Remove(ctx context.Context, env *lane.Env, budget time.Duration) error {
	err := env.Clients.Dynamic.Resource(infra.ApplicationSetGVR).Namespace(infra.ArgoCDNamespace).Delete(ctx, argoapi.AppSetName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return reason.New(reason.ClusterFailed, "delete ApplicationSet %s: %w", argoapi.AppSetName, err)
	}
	return l.removed(ctx, env, budget)
}

// removed waits until no Application of the bundle exists.
func (l *appLane) removed(ctx context.Context, env *lane.Env, budget time.Duration) error {
	err := wait.For(ctx, "Argo CD to delete the Applications", wait.Options{Budget: budget, Interval: time.Second, Changed: env.Tell}, func(ctx context.Context) wait.Result {
		apps, err := applications(ctx, env)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		var left []string
		for _, d := range env.Bundle.Expectation.Delivered {
			app := apps[d.Name]
			if app == nil || d.Kind != "Application" {
				continue
			}
			if what := deletionAsks(app); what != "" {
				return wait.Never(reason.New(reason.DeployFailed, "%s", asksText(d.Name, what)))
			}
			text := "Application " + d.Name
			if kind, said := errorCondition(app); kind != "" {
				text += fmt.Sprintf(" (%s: %s)", kind, said)
			}
			left = append(left, text)
		}
		if len(left) == 0 {
			return wait.Done()
		}
		slices.Sort(left)
		return wait.NotYet("%s", strings.Join(left, ", "))
	})
	if wait.IsTimeout(err) {
		return reason.Wrap(l.TimeoutReason(), err)
	}
	return err
}

// deletionAsks is the first object of an Application that is being deleted for whose deletion Argo CD waits
// for a person; empty if there is none. It never deletes definitions.
func deletionAsks(app *unstructured.Unstructured) string {
	if app.GetDeletionTimestamp() == nil || app.GetAnnotations()["argocd.argoproj.io/deletion-approved"] != "" {
		return ""
	}
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	for _, r := range resources {
		m, _ := r.(map[string]any)
		if asks, _ := m["requiresDeletionConfirmation"].(bool); asks && m["kind"] != "CustomResourceDefinition" {
			return resourceRef(m).String()
		}
	}
	return ""
}

func asksText(app, what string) string {
	return fmt.Sprintf("Application %s: its deletion waits until somebody confirms that %s is deleted, for as long as that takes (argocd.argoproj.io/sync-options: Delete=confirm or Prune=confirm): argocd app confirm-deletion %s, or take the option off the object before", app, what, app)
}

// unconfirmed says of an Application that the bundle has no more that its deletion waits for a person; empty
// if none does.
func unconfirmed(apps map[string]*unstructured.Unstructured, e bundle.Expectation) string {
	for _, name := range slices.Sorted(maps.Keys(apps)) {
		if slices.ContainsFunc(e.Delivered, func(d bundle.Delivered) bool { return d.Name == name }) {
			continue
		}
		if what := deletionAsks(apps[name]); what != "" {
			return asksText(name, what)
		}
	}
	return ""
}
