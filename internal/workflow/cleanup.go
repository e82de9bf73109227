package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// created is an object that this run created.
type created struct {
	object *unstructured.Unstructured
	task   *Task // nil for what a Configure task created
}

func newObject(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// cleanUp deletes what the run created, in reverse order, and waits until it is gone.
func (e *Engine) cleanUp(ctx context.Context) error {
	line := e.Progress.Begin(fmt.Sprintf("cleaning up %d objects", len(e.made)))
	objects := make([]*unstructured.Unstructured, 0, len(e.made))
	for _, m := range slices.Backward(e.made) {
		objects = append(objects, m.object)
	}
	err := e.removeAll(ctx, objects, e.CleanupTimeout, line.Update)
	line.End("", err)
	if err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// remove deletes all documents of objects that this run created.
func (e *Engine) remove(ctx context.Context, objects []*object, budget time.Duration) error {
	var all []*unstructured.Unstructured
	for _, o := range slices.Backward(objects) {
		for _, d := range slices.Backward(o.documents) {
			if slices.ContainsFunc(e.made, func(m created) bool { return m.object == d }) {
				all = append(all, d)
			}
		}
	}
	err := e.removeAll(ctx, all, budget, nil)
	if err == nil {
		e.made = slices.DeleteFunc(e.made, func(m created) bool { return slices.Contains(all, m.object) })
	}
	return err
}

// removeAll deletes objects with what they own, and waits until they are gone.
func (e *Engine) removeAll(ctx context.Context, objects []*unstructured.Unstructured, budget time.Duration, changed func(string)) error {
	bounded, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	foreground := metav1.DeletePropagationForeground
	var errs []error
	var left []*unstructured.Unstructured
	for _, o := range objects {
		api, err := e.resource(o)
		if err == nil {
			err = api.Delete(bounded, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
		}
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs = append(errs, fmt.Errorf("delete %s: %w", objectName(o), err))
		default:
			left = append(left, o)
		}
	}
	if len(left) > 0 {
		errs = append(errs, wait.For(bounded, fmt.Sprintf("%d objects to be gone", len(left)), wait.Options{Budget: budget, Changed: changed}, func(ctx context.Context) wait.Result {
			left = slices.DeleteFunc(left, func(o *unstructured.Unstructured) bool {
				api, err := e.resource(o)
				if err == nil {
					_, err = api.Get(ctx, o.GetName(), metav1.GetOptions{})
				}
				return apierrors.IsNotFound(err)
			})
			if len(left) == 0 {
				return wait.Done()
			}
			var names []string
			for _, o := range left {
				names = append(names, objectName(o))
			}
			return wait.NotYet("still there: %s", strings.Join(lists.AtMost(names, named), ", "))
		}))
	}
	return errors.Join(errs...)
}
