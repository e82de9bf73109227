package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// atATime is how many requests are in flight where order does not matter.
const atATime = 16

// noKind returns the error for an object of a kind that the cluster does not have.
func noKind(gvk schema.GroupVersionKind) error {
	how := "install its CRD first, e.g. with --apply FILE"
	if name := addons.ControllerOf(gvk.Group); name != "" {
		how += ", or on a cluster of the run's own have its controller run, with --controller " + name
	}
	return fmt.Errorf("the cluster has no kind %s in %s: %s", gvk.Kind, gvk.GroupVersion(), how)
}

// resource returns the API of an object.
func (e *Engine) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := e.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		e.mapper.Reset() // a CRD may be new
		mapping, err = e.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if meta.IsNoMatchError(err) {
		return nil, noKind(gvk)
	}
	if err != nil {
		return nil, fmt.Errorf("find the API of %s: %w", gvk, err)
	}
	return e.Clients.Scoped(mapping, cmp.Or(o.GetNamespace(), "default")), nil
}

func objectName(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + infra.NamespacedName(o.GetNamespace(), o.GetName())
}

// submit creates a task's objects, one after the other: their order is part of what a scheduler is
// tested with.
func (e *Engine) submit(ctx context.Context, w *Workflow, s *submission) (string, error) {
	n := 0
	for _, o := range s.objects {
		for _, d := range o.documents {
			api, err := e.resource(d)
			if err != nil {
				return "", err
			}
			_, err = api.Create(ctx, d, metav1.CreateOptions{FieldManager: infra.FieldManager})
			switch {
			case apierrors.IsAlreadyExists(err) && s.canExist:
				continue
			case apierrors.IsAlreadyExists(err):
				return "", fmt.Errorf("%s exists already. Delete it (--cleanup deletes what a run created), or set canExist: true", objectName(d))
			case apierrors.IsNotFound(err) && d.GetNamespace() != "":
				return "", fmt.Errorf("create %s: %w. A Configure task creates a namespace: namespaces: [{name: %s, op: create}]", objectName(d), err, d.GetNamespace())
			case err != nil:
				return "", fmt.Errorf("create %s: %w", objectName(d), err)
			}
			e.made = append(e.made, created{object: d, task: s.task})
			n++
		}
		e.jobsMu.Lock()
		e.jobs = append(e.jobs, job{placement.Submitted{Name: o.name, Namespace: o.namespace(), Task: s.task.ID, PodName: o.podName, Wanted: o.pods}, w})
		e.jobsMu.Unlock()
	}
	return fmt.Sprintf("%d objects", n), nil
}

// each calls do with the document at index of every object, several at a time, and returns the
// first error.
func (e *Engine) each(ctx context.Context, s *submission, index int, do func(ctx context.Context, api dynamic.ResourceInterface, d *unstructured.Unstructured) error) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, o := range s.objects {
		d := o.documents[index]
		api, err := e.resource(d)
		if err != nil {
			return err
		}
		group.Go(func() error { return do(gctx, api, d) })
	}
	return group.Wait()
}

// updateObjects patches with the state; null removes a field. The part under status is sent to the
// subresource, if the kind has one.
func (e *Engine) updateObjects(ctx context.Context, s *submission, p *stateParams) (string, error) {
	if p.Timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, time.Duration(p.Timeout))
		defer cancel()
		ctx = bounded
	}
	main := maps.Clone(p.State)
	delete(main, "status")
	patch := func(ctx context.Context, api dynamic.ResourceInterface, d *unstructured.Unstructured, state map[string]any, sub ...string) error {
		raw, err := json.Marshal(state)
		if err != nil {
			return fmt.Errorf("state: %w", err)
		}
		_, err = api.Patch(ctx, d.GetName(), types.MergePatchType, raw, metav1.PatchOptions{FieldManager: infra.FieldManager}, sub...)
		return err
	}
	err := e.each(ctx, s, p.Index, func(ctx context.Context, api dynamic.ResourceInterface, d *unstructured.Unstructured) error {
		if len(main) > 0 {
			if err := patch(ctx, api, d, main); err != nil {
				return fmt.Errorf("change %s: %w", objectName(d), err)
			}
		}
		status, ok := p.State["status"]
		if !ok {
			return nil
		}
		err := patch(ctx, api, d, map[string]any{"status": status}, "status")
		if apierrors.IsNotFound(err) { // its CRD has no subresource
			err = patch(ctx, api, d, map[string]any{"status": status})
		}
		if err != nil {
			return fmt.Errorf("change the status of %s: %w", objectName(d), err)
		}
		return nil
	})
	return fmt.Sprintf("%d objects", len(s.objects)), err
}

// checkObjects waits until every object has the state.
func (e *Engine) checkObjects(ctx context.Context, s *submission, p *stateParams, line infra.Task) (string, error) {
	what := fmt.Sprintf("%d objects of %s to have the state", len(s.objects), s.task.ID)
	err := until(ctx, what, p.Timeout, line, func(ctx context.Context) wait.Result {
		err := e.each(ctx, s, p.Index, func(ctx context.Context, api dynamic.ResourceInterface, d *unstructured.Unstructured) error {
			have, err := api.Get(ctx, d.GetName(), metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("%s: %w", objectName(d), err)
			}
			if why := lacking(p.State, have.Object, ""); why != "" {
				return fmt.Errorf("%s: %s", objectName(d), why)
			}
			return nil
		})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
	return fmt.Sprintf("%d objects", len(s.objects)), err
}

// deleteObjects deletes what a task submitted, and waits until it is gone, at most 5 minutes. Their
// pods go first.
func (e *Engine) deleteObjects(ctx context.Context, s *submission) (string, error) {
	err := e.remove(ctx, s.objects, 5*time.Minute)
	return fmt.Sprintf("%d objects", len(s.objects)), err
}
