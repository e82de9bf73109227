package network

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var refusesItself = judge.Check{
	ID: "MX231", Name: "release-refuses-itself", Needs: judge.Rendered, First: true, Kinds: webhookConfigurations, Gives: reason.DeployFailed,
	Lanes: func(o judge.Order) bool { return !o.AtOnce },
	Title: "A release has no object that a webhook of its own refuses until a hook has run",
	Why: "A webhook that fails closed refuses everything while its caBundle is empty (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy). " +
		"A hook after the installation writes it too late for the release's own objects. A simulated cluster calls no webhook.",
	Fix:  "Let the webhook fail open at first.",
	Says: "webhook %s is for %s of the same release and fails closed (failurePolicy Fail), and its caBundle is written only by the hook %s, which runs once all else is installed",
	Then: "the API server refuses that object, so that the release cannot be installed on a new cluster: each waits for the other. " +
		"Let the webhook fail open at first (failurePolicy Ignore; kube-prometheus-stack: IgnoreOnInstallOnly, or no value)",
	Run: func(s *judge.Scope) {
		unhooked := slices.DeleteFunc(s.Rendered(), func(o *bundle.Object) bool { return o.Hook })
		for _, o := range s.Rendered(webhookConfigurations...) {
			if o.Hook {
				continue
			}
			for i, w := range facts.Webhooks(o.Object) {
				service := w.Client.Service
				if service == nil || len(w.Client.CABundle) > 0 || len(w.Conditions) > 0 || !w.FailsClosed() || fillsIn(unhooked, o, service, mayChangeWebhooks) {
					continue
				}
				at := slices.IndexFunc(unhooked, func(other *bundle.Object) bool {
					return other.Release == o.Release && !slices.Contains(releaseutil.InstallOrder, other.Object.GetKind()) && isForObject(s, w.WebhookScope, other.Object)
				})
				if hook := fillingHook(s, o); at >= 0 && hook != nil {
					s.Report(o, fmt.Sprintf("webhooks[%d]", i), w.Name, unhooked[at].Ref(), hook.Ref()).SetBy(unhooked[at].Object.GetName())
					break
				}
			}
		}
	},
}

// fillingHook is a hook of an object's release that runs after its installation and whose arguments name the object.
func fillingHook(s *judge.Scope, o *bundle.Object) *bundle.Object {
	for _, p := range s.Pods() {
		hook := p.Object
		if hook.Release == o.Release && rendering.RunsInHelm(hook.Object.GetAnnotations(), "post-install") && facts.ArgumentsName(&p.Template.Spec, o.Object.GetName()) {
			return hook
		}
	}
	return nil
}
