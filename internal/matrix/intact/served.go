package intact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
)

// servedWithin is how long a definition may take to be served.
const servedWithin = 15 * time.Second

// Served has the API server of an empty cluster answer for every object of a bundle, in the bundle's order: namespaces and
// definitions are created, since others need them, and all else in a dry run. No webhook and no policy of the bundle is there
// to be asked. It returns the API server's warnings, too.
func Served(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) (answers []facts.Answer, err error) {
	answers = make([]facts.Answer, len(e.Objects))
	if err := makeNamespaces(ctx, clients, e); err != nil {
		return nil, err
	}
	if err := makeDefinitions(ctx, clients, e, answers); err != nil {
		return nil, err
	}
	asking, mapper, err := asker(clients, &warned{clients.Warnings})
	if err != nil {
		return nil, err
	}
	askAll(ctx, asking, mapper, e, answers, "", func(string) bool { return true })
	return answers, ctx.Err()
}

// AskBefore has the API server of a cell answer before anything is delivered, in dry runs that leave nothing behind: objects of kinds that
// it has by itself, as if they were in a namespace that exists. What it refuses so for a value of theirs, it refuses of every deployer.
// Definitions are not asked about, since only their heads are kept, and neither is what is of a definition's kind, a controller's included, nor anything if a policy of
// the bundle may mend what comes after it.
func AskBefore(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) ([]facts.Answer, error) {
	answers := make([]facts.Answer, len(e.Objects))
	if slices.ContainsFunc(e.Objects, mutatingBinding) {
		return answers, nil
	}
	asking, mapper, err := asker(clients, rest.NoWarnings{})
	if err != nil {
		return nil, err
	}
	askAll(ctx, asking, mapper, e, answers, metav1.NamespaceDefault, scheme.Scheme.IsGroupRegistered)
	return answers, ctx.Err()
}

// askAll asks about all objects of some API groups whose kinds are served, in their namespaces or in another one.
func askAll(ctx context.Context, asking *infra.Clients, mapper meta.RESTMapper, e *bundle.Expectation, answers []facts.Answer, namespace string, groups func(string) bool) {
	var group errgroup.Group
	group.SetLimit(asksAtATime)
	for i := range e.Objects {
		obj := e.Objects[i].Object
		mapping, err := mapper.RESTMapping(obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
		if err != nil || infra.ResourceFor(obj.GroupVersionKind()) == infra.CRDResource || !groups(obj.GroupVersionKind().Group) {
			continue // nothing here defines its kind, or it was created
		}
		group.Go(func() error {
			named, trial := mapping.Scope.Name() == meta.RESTScopeNameNamespace, obj.DeepCopy()
			if named && namespace != "" {
				trial.SetNamespace(namespace)
			}
			answers[i] = answered(try(ctx, asking.Scoped(mapping, trial.GetNamespace()), obj, trial, " zy01", named))
			return nil
		})
	}
	_ = group.Wait() // none returns an error
}

// answered is an answer as data.
func answered(a answer) facts.Answer {
	out := facts.Answer{Asked: a.known || a.asked || a.refused != nil}
	if a.refused != nil {
		out.Refused, out.Field = a.refused.Error(), refusedField(a.refused)
	}
	for _, l := range a.lost {
		if l.Missing() && !zero(l.Rendered) {
			out.Dropped = append(out.Dropped, l.Path)
		}
	}
	return out
}

// refusedField is the first field that the API server refuses; empty if it names none.
func refusedField(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.Status().Details == nil {
		return ""
	}
	for _, c := range status.Status().Details.Causes {
		if c.Field != "" {
			return c.Field
		}
	}
	return ""
}

// makeNamespaces creates what the objects are in, those of the bundle with their labels.
func makeNamespaces(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) error {
	all := map[string]*unstructured.Unstructured{}
	for i := range e.Objects {
		o := e.Objects[i].Object
		if ns := o.GetNamespace(); ns != "" && all[ns] == nil {
			all[ns] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}}
		}
		if o.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			all[o.GetName()] = o
		}
	}
	for name, o := range all {
		_, err := clients.Dynamic.Resource(infra.ResourceFor(o.GroupVersionKind())).Create(ctx, o, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsInvalid(err) { // which the dry run says, too
			return fmt.Errorf("create namespace %s, for the dry run of what is in it: %w", name, err)
		}
	}
	return nil
}

// makeDefinitions creates the definitions, and waits until they are served.
func makeDefinitions(ctx context.Context, clients *infra.Clients, e *bundle.Expectation, answers []facts.Answer) error {
	var made []string
	for i := range e.Objects {
		if infra.ResourceFor(e.Objects[i].Object.GroupVersionKind()) != infra.CRDResource {
			continue
		}
		whole, err := e.Objects[i].Whole()
		if err != nil {
			return err
		}
		_, err = clients.Dynamic.Resource(infra.CRDResource).Create(ctx, whole, metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore})
		switch {
		case err == nil:
			answers[i].Asked, made = true, append(made, whole.GetName())
		case apierrors.IsAlreadyExists(err): // of an earlier release
			answers[i].Asked = true
		case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
			answers[i] = answered(answer{refused: err})
		default:
			return fmt.Errorf("create %s, for the dry run of objects of its kind: %w", e.Objects[i].Ref(), err)
		}
	}
	_ = clients.WaitCRDs(ctx, made, servedWithin) // one that is not served has no objects, which are not asked about then
	return ctx.Err()
}
