package flux

import (
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Remove deletes the Kustomization, which prunes the HelmReleases, which helm-controller uninstalls.
// The source goes last.
func (l *fluxLane) Remove(ctx context.Context, env *lane.Env, budget time.Duration) error {
	if err := l.delete(ctx, env, kindKustomization); err != nil {
		return err
	}
	err := wait.For(ctx, "Flux to remove the releases", wait.Options{Budget: budget, Interval: time.Second, Changed: env.Tell}, func(ctx context.Context) wait.Result {
		var left []string
		for _, d := range env.Bundle.Expectation.Delivered {
			if d.Kind != kindKustomization && d.Kind != KindHelmRelease {
				continue
			}
			obj, err := env.Clients.Dynamic.Resource(fluxKinds()[d.Kind]).Namespace(infra.FluxNamespace).Get(ctx, d.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
			case err != nil:
				return wait.NotYet("%v", err)
			default:
				text := d.Kind + " " + d.Name
				if ready := conditionOf(obj, "Ready"); ready.status == "False" {
					text += " (" + ready.reason + ": " + ready.message + ")"
				}
				left = append(left, text)
			}
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
	if err != nil {
		return err
	}
	return l.delete(ctx, env, "OCIRepository", "GitRepository")
}

// delete deletes the bundle's objects of these kinds.
func (l *fluxLane) delete(ctx context.Context, env *lane.Env, kinds ...string) error {
	for _, d := range env.Bundle.Expectation.Delivered {
		if !slices.Contains(kinds, d.Kind) {
			continue
		}
		err := env.Clients.Dynamic.Resource(fluxKinds()[d.Kind]).Namespace(infra.FluxNamespace).Delete(ctx, d.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return reason.New(reason.ClusterFailed, "delete %s %s: %w", d.Kind, d.Name, err)
		}
	}
	return nil
}
