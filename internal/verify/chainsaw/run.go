package chainsaw

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Cluster is the cluster that checks read.
type Cluster struct {
	Dynamic dynamic.Interface
	Mapper  meta.RESTMapper
}

// Failure is an operation that did not hold.
type Failure struct {
	Component string
	File      string
	Line      int
	Step      string
	// Operation is the operation with its object: "assert Deployment cert-manager/cert-manager".
	Operation string
	// Why are lines for a person: what was found, and for an object that differs the difference.
	Why []string
}

// String is the failure in one line.
func (f Failure) String() string {
	text := fmt.Sprintf("health check of %s, step %s: %s", f.Component, f.Step, f.Operation)
	if len(f.Why) > 0 {
		text += ": " + f.Why[0]
	}
	return fmt.Sprintf("%s (%s:%d)", text, f.File, f.Line)
}

// interval between two polls of an operation that does not hold yet.
const interval = 500 * time.Millisecond

// answerBudget is how long an operation's first poll may wait for the API server. It is not part of
// the budget in which an operation must become true: a busy machine is no fault of a component.
const answerBudget = 15 * time.Second

// atOnce is the number of checks that run side by side; they only read.
const atOnce = 4

// Run runs the checks side by side, each step by step, and returns the first failure of each, in
// the order of checks. The budget is one deadline for all operations, whether assert or error; each
// gets at least one poll. An error means that the cluster could not be read, so the state of the
// components is unknown.
func Run(ctx context.Context, c Cluster, list []*Check, budget time.Duration) ([]Failure, error) {
	deadline := time.Now().Add(budget)
	failures := make([]*Failure, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var mapping sync.Mutex // a mapper that discovers lazily need not be safe for concurrent use
	expressions := newEvaluator(evaluation)
	defer expressions.Close()
	for i, check := range list {
		group.Go(func() (err error) {
			failures[i], err = check.run(ctx, &reader{c, &mapping, expressions}, deadline)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var found []Failure
	for _, f := range failures {
		if f != nil {
			found = append(found, *f)
		}
	}
	return found, nil
}

// run gives the check's first failure, if any: later operations may depend on earlier ones, as in
// Chainsaw.
func (c *Check) run(ctx context.Context, r *reader, deadline time.Time) (*Failure, error) {
	for _, s := range c.steps {
		for _, op := range s.ops {
			obj, why, err := op.hold(ctx, r, c.Namespace, deadline)
			if err != nil {
				err = fmt.Errorf("health check of %s (%s:%d): %w", c.Component, c.File, op.line, err)
				return nil, result.At(result.Place{File: c.File, Line: op.line}, err)
			}
			if why != nil {
				return &Failure{Component: c.Component, File: c.File, Line: op.line, Step: s.name, Operation: op.verb + " " + describe(obj), Why: why}, nil
			}
		}
	}
	return nil, nil
}

// hold polls until the operation holds, cannot hold any more, or the deadline has passed. why is
// nil if it holds.
func (op *operation) hold(ctx context.Context, r *reader, namespace string, deadline time.Time) (obj *unstructured.Unstructured, why []string, err error) {
	obj, why, err = op.object(ctx, r.evaluator, namespace)
	if err != nil || why != nil {
		return &op.resource, why, err
	}
	held := false
	var readErr error
	begun := time.Now()
	poll := func(ctx context.Context) wait.Result {
		v, err := op.poll(ctx, r, obj, namespace)
		late := time.Now().After(deadline)
		switch {
		case err != nil && ctx.Err() != nil:
			return wait.NotYet("%v", err) // the deadline's own echo: what was seen before counts
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			return wait.Never(err)
		case err != nil && late && time.Since(begun) > time.Second:
			readErr = err
			return wait.Done()
		case err != nil: // e.g. an API server that restarts
			readErr = err
			return wait.NotYet("%v", err)
		}
		readErr, why, held = nil, v.why, len(v.why) == 0
		if held || v.final || late {
			return wait.Done()
		}
		return wait.NotYet("%s", why[0])
	}
	// At least one poll, also when another operation has used up the budget.
	err = wait.For(ctx, op.verb+" "+describe(obj), wait.Options{Budget: max(time.Until(deadline), answerBudget), Interval: interval}, poll)
	switch {
	case held:
		return obj, nil, nil
	case (err == nil || wait.IsTimeout(err)) && readErr != nil: // the last poll could not read the cluster
		err = readErr
	case (err == nil || wait.IsTimeout(err)) && len(why) > 0:
		return obj, why, nil
	}
	return obj, nil, fmt.Errorf("%s %s: %w", op.verb, describe(obj), err)
}

// describe names what an operation is about, for a person.
func describe(obj *unstructured.Unstructured) string {
	text := obj.GetKind()
	switch {
	case obj.GetName() != "" && obj.GetNamespace() != "":
		text += " " + obj.GetNamespace() + "/" + obj.GetName()
	case obj.GetName() != "":
		text += " " + obj.GetName()
	case obj.GetNamespace() != "":
		text += " in namespace " + obj.GetNamespace()
	}
	if obj.GetName() == "" && len(obj.GetLabels()) > 0 {
		text += " with labels " + labels.Set(obj.GetLabels()).String()
	}
	return text
}

// reader reads the objects that an operation is about, by Chainsaw's rule: by name, or by kind,
// namespace and labels.
type reader struct {
	Cluster
	mu        *sync.Mutex
	evaluator *evaluator
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// resource finds the kind; a *meta.NoKindMatchError if the cluster has none of that name.
func (r *reader) resource(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}

func (r *reader) read(ctx context.Context, gvr schema.GroupVersionResource, obj *unstructured.Unstructured) ([]unstructured.Unstructured, error) {
	var ri dynamic.ResourceInterface = r.Dynamic.Resource(gvr)
	if obj.GetNamespace() != "" {
		ri = r.Dynamic.Resource(gvr).Namespace(obj.GetNamespace())
	}
	if obj.GetName() != "" {
		got, err := ri.Get(ctx, obj.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []unstructured.Unstructured{*got}, nil
	}
	list, err := ri.List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(obj.GetLabels()).String()})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (r *reader) namespaceExists(ctx context.Context, name string) (bool, error) {
	_, err := r.Dynamic.Resource(namespaces).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
