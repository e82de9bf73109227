package flux

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Again requests a reconciliation of the source, then of the Kustomization, then of each HelmRelease
// with force, as `flux reconcile` does: helm-controller renders and upgrades each release again. A
// HelmRelease comes after those that it depends on, since it would be put off otherwise.
func (l *fluxLane) Again(ctx context.Context, env *lane.Env, budget time.Duration) error {
	end := time.Now().Add(budget)
	token := requestToken()
	steps := [][]bundle.Delivered{nil, nil}
	var releases []bundle.Delivered
	for _, d := range env.Bundle.Expectation.Delivered {
		switch d.Kind {
		case "OCIRepository", "GitRepository":
			steps[0] = append(steps[0], d)
		case kindKustomization:
			steps[1] = append(steps[1], d)
		case KindHelmRelease:
			releases = append(releases, d)
		}
	}
	for _, objects := range append(steps, inLevels(releases)...) {
		if len(objects) == 0 {
			continue
		}
		if err := reconcile(ctx, env, objects, token, time.Until(end)); err != nil {
			if wait.IsTimeout(err) {
				return reason.Wrap(l.TimeoutReason(), err)
			}
			return err
		}
	}
	return nil
}

// inLevels groups objects so that each comes after those that it depends on.
func inLevels(objects []bundle.Delivered) [][]bundle.Delivered {
	done := map[result.Ref]bool{}
	known := map[result.Ref]bool{}
	for _, d := range objects {
		known[d.Ref] = true
	}
	var levels [][]bundle.Delivered
	for len(objects) > 0 {
		var level, rest []bundle.Delivered
		for _, d := range objects {
			if slices.ContainsFunc(d.DependsOn, func(on result.Ref) bool { return known[on] && !done[on] }) {
				rest = append(rest, d)
			} else {
				level = append(level, d)
			}
		}
		if len(level) == 0 { // a circle: the gate would not have passed
			return append(levels, rest)
		}
		for _, d := range level {
			done[d.Ref] = true
		}
		levels, objects = append(levels, level), rest
	}
	return levels
}

// reconcile requests one reconciliation of each object, and waits until its controller has handled
// it.
func reconcile(ctx context.Context, env *lane.Env, objects []bundle.Delivered, token string, budget time.Duration) error {
	for _, d := range objects {
		if err := request(ctx, env, d.Ref, token, requestedAt, forceAt); err != nil {
			return err
		}
	}
	return wait.For(ctx, "Flux to reconcile again", wait.Options{Budget: max(budget, time.Second), Interval: 250 * time.Millisecond, Changed: env.Tell}, func(ctx context.Context) wait.Result {
		var open []string
		for _, d := range objects {
			obj, err := env.Clients.Dynamic.Resource(fluxKinds()[d.Kind]).Namespace(infra.FluxNamespace).Get(ctx, d.Name, metav1.GetOptions{})
			if err != nil {
				return wait.NotYet("%v", err)
			}
			if !handled(d.Kind, obj, token) {
				open = append(open, d.Kind+" "+d.Name)
			}
		}
		if len(open) == 0 {
			return wait.Done()
		}
		return wait.NotYet("%s", strings.Join(open, ", "))
	})
}

// handled reports whether a controller has done what was requested, and is no longer at it.
func handled(kind string, obj *unstructured.Unstructured, token string) bool {
	fields := []string{"lastHandledReconcileAt"}
	if kind == KindHelmRelease {
		fields = append(fields, "lastHandledForceAt")
	}
	for _, f := range fields {
		if at, _, _ := unstructured.NestedString(obj.Object, "status", f); at != token {
			return false
		}
	}
	return conditionOf(obj, "Ready").status != "Unknown"
}
