package intact

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// refusedCreated finds the objects that a policy, a quota or a limit of the recipe denies though it comes
// before them: a deployer that goes on within milliseconds has created them before it was in force, and the
// next installation may take longer. Each is created in a dry run, by the name that it has: the API server
// asks the policies before it looks whether the name is taken.
func refusedCreated(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) ([]refusal, error) {
	asking, mapper, err := asker(clients, rest.NoWarnings{})
	if err != nil {
		return nil, err
	}
	answers := make([]string, len(e.Objects))
	var group errgroup.Group
	group.SetLimit(asksAtATime)
	for i := range e.Objects {
		o := &e.Objects[i]
		if !deniable(e, o) {
			continue
		}
		mapping, err := mapper.RESTMapping(o.Object.GroupVersionKind().GroupKind(), o.Object.GroupVersionKind().Version)
		if err != nil || o.Object.GetName() == "" || o.InCRDs() {
			continue
		}
		group.Go(func() error {
			_, err := asking.Scoped(mapping, o.Object.GetNamespace()).Create(ctx, onTrial(o.Object), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationIgnore})
			answers[i] = reasonOf(err)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	var all []refusal
	for i, why := range answers {
		if why == "" {
			continue
		}
		o := &e.Objects[i]
		if by := blamed(e, o.Object.GetNamespace(), why); by != nil && comesBefore(e, by, o) {
			all = append(all, refusal{of: o.Ref(), component: o.Component, what: "its creation", why: why, then: tooEarly, check: &createdEarly})
		}
	}
	return all, nil
}

// deniable reports whether something of the bundle that comes before an object may deny its creation: a policy any, all else what
// is in its namespace. What the API server says of another object would not count.
func deniable(e *bundle.Expectation, o *bundle.Object) bool {
	return slices.ContainsFunc(e.Objects, func(by bundle.Object) bool {
		concerned := false
		switch by.Object.GetKind() {
		case "ValidatingAdmissionPolicy", mutating:
			concerned = true
		case "ResourceQuota", "LimitRange":
			concerned = by.Object.GetNamespace() == o.Object.GetNamespace()
		case "Namespace":
			concerned = by.Object.GetName() == o.Object.GetNamespace()
		}
		return concerned && comesBefore(e, &by, o)
	})
}

// comesBefore reports whether what denies an object is delivered before it: with an earlier release, or, if it
// is a quota or a limit, with the same one, of which deployers create these first. Hooks are outside of that order.
func comesBefore(e *bundle.Expectation, by, o *bundle.Object) bool {
	at := func(release string) int {
		return slices.IndexFunc(e.Releases, func(r bundle.Release) bool { return r.Name == release })
	}
	if by.Release == o.Release {
		return !by.Hook && !o.Hook && (by.Object.GetKind() == "ResourceQuota" || by.Object.GetKind() == "LimitRange")
	}
	return at(by.Release) < at(o.Release)
}
