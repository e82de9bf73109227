package refs

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// refusesItself finds a release that can never be installed: one of its objects calls a webhook of
// its own, which fails closed and has no caBundle until a hook of the release writes one. The hook
// comes after the object, and the object is refused until the hook has run. A simulated cluster
// calls no webhook, so that nothing else notices.
func (c order) refusesItself(o *bundle.Object) {
	if o.Hook {
		return
	}
	for _, w := range facts.Webhooks(o.Object) {
		service := w.Client.Service
		if service == nil || len(w.Client.CABundle) > 0 || len(w.Conditions) > 0 || !w.FailsClosed() || c.fillsInUnasked(o, service) {
			continue
		}
		i := slices.IndexFunc(c.expectation.Objects, func(other bundle.Object) bool {
			return other.Release == o.Release && !other.Hook && !slices.Contains(releaseutil.InstallOrder, other.Object.GetKind()) && c.isFor(w.WebhookScope, other.Object)
		})
		hook := c.fillingHook(o)
		if i < 0 || hook == nil {
			continue
		}
		refused := &c.expectation.Objects[i]
		c.fail(reason.DeployFailed, refsReference{from: o.Ref(), component: o.Component, template: o.Template, name: refused.Object.GetName(), cause: "itself " + o.Ref().String(),
			text: fmt.Sprintf("webhook %s is for %s of the same release and fails closed (failurePolicy Fail), and its caBundle is written only by the hook %s, which runs once all else is installed", w.Name, refused.Ref(), hook.Ref()),
			then: "the API server refuses that object, so that the release cannot be installed on a new cluster: each waits for the other. Let the webhook fail open at first (failurePolicy Ignore; kube-prometheus-stack: IgnoreOnInstallOnly, or no value)"})
		return
	}
}

// fillsInUnasked is fillsIn for what is no hook.
func (c order) fillsInUnasked(o *bundle.Object, service *admissionv1.ServiceReference) bool {
	e := *c.expectation
	e.Objects = slices.DeleteFunc(slices.Clone(e.Objects), func(other bundle.Object) bool { return other.Hook })
	return newChecker(&e, nil, nil).fillsIn(o, service, mayChangeWebhooks)
}

// fillingHook is a hook of an object's release that runs after its installation and whose arguments
// name the object.
func (c order) fillingHook(o *bundle.Object) *bundle.Object {
	for i := range c.expectation.Objects {
		hook := &c.expectation.Objects[i]
		if spec := facts.PodSpec(hook); hook.Release == o.Release && rendering.RunsInHelm(hook.Object.GetAnnotations(), "post-install") && spec != nil && facts.ArgumentsName(spec, o.Object.GetName()) {
			return hook
		}
	}
	return nil
}
