package daytwo

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// longBefore is a time to live after which a finished Job is gone before anybody upgrades. The second
// delivery of a cell comes within seconds.
const longBefore = time.Hour

// expireJobs deletes each finished Job whose template the delivery changes and whose time to live would have
// ended before an upgrade: while it is there, the API server lets nobody change it. Argo CD creates it
// again each time, so that it is there.
func expireJobs(ctx context.Context, env *lane.Env, l lane.Lane, before, after *bundle.Bundle) (notes []string, err error) {
	if before == nil || slices.Contains(l.Controllers(), infra.ArgoCDControllers) {
		return nil, nil
	}
	for i := range after.Expectation.Objects {
		now := &after.Expectation.Objects[i]
		old := before.Expectation.Object(now.Ref())
		if old == nil || old.Hook || now.Hook || now.Object.GetKind() != "Job" || reflect.DeepEqual(jobSpec(old), jobSpec(now)) {
			continue
		}
		ttl, limited := expiringAfter(old)
		if !limited || ttl > longBefore {
			continue
		}
		jobs := env.Clients.Dynamic.Resource(infra.ResourceFor(old.Object.GroupVersionKind())).Namespace(old.Object.GetNamespace())
		live, err := jobs.Get(ctx, old.Object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && !finished(live) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s, to see whether it has finished: %w", old.Ref(), err)
		}
		propagation := metav1.DeletePropagationBackground
		err = jobs.Delete(ctx, live.GetName(), metav1.DeleteOptions{PropagationPolicy: &propagation})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("delete %s, whose time to live is %s: %w", old.Ref(), ttl, err)
		}
		notes = append(notes, fmt.Sprintf("%s is deleted %s after it has finished (spec.ttlSecondsAfterFinished): deleted before the second delivery, which comes sooner here", old.Ref(), ttl))
	}
	return notes, nil
}

// jobSpec is what a Job is created with, without its time to live, which may be changed.
func jobSpec(o *bundle.Object) map[string]any {
	spec, _, _ := unstructured.NestedMap(o.Object.Object, "spec")
	delete(spec, "ttlSecondsAfterFinished")
	return spec
}

// finished reports whether a Job has succeeded or failed.
func finished(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["status"] == "True" && (m["type"] == "Complete" || m["type"] == "Failed")
	})
}
