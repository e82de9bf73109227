package network

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

var webhookAtLoopback = judge.Check{
	ID: "MX225", Name: "webhook-at-loopback", Needs: judge.Rendered, Kinds: slices.Concat(webhookConfigurations, definitions), Gives: reason.DeployFailed,
	Title: "The API server calls no webhook on its own machine",
	Why: "localhost is the API server's own machine (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#url). " +
		"A pod with hostNetwork and that port may serve it where it is on that machine, which is a note. A warning for a webhook that fails open.",
	Fix:  "Call a Service (clientConfig.service).",
	Says: "%s %s, the API server's own machine, and nothing in the recipe serves it there", Then: "%[3]s",
	Others: map[string]judge.Message{"may be": {Says: "%s %s, which %[4]s may serve where it is on the API server's machine", Then: "whether it is there is not verified"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(webhookConfigurations...) {
			for i, w := range facts.Webhooks(o.Object) {
				if w.Client.URL == nil {
					continue
				}
				path, verb := fmt.Sprintf("webhooks[%d].clientConfig.url", i), "webhook "+w.Name+" calls"
				if w.FailsClosed() {
					atLoopback(s, o, path, verb, refusesAll)
				} else if f := atLoopback(s, o, path, verb, leavesOut); f != nil {
					f.Warning()
				}
			}
		}
		for _, o := range s.Rendered(definitions...) {
			atLoopback(s, o, conversion+".url", "is converted by", unreadable)
		}
	},
}

// atLoopback reports an address of the API server's own machine; nil if it is another, or a note.
func atLoopback(s *judge.Scope, o *bundle.Object, path, verb, then string) *judge.Found {
	address := facts.Text(o.Object, path)
	at, err := url.Parse(address)
	if address == "" || err != nil || !egress.Loopback(at.Host) {
		return nil
	}
	port := cmp.Or(at.Port(), "443")
	for _, p := range s.Pods() {
		if p.Template.Spec.HostNetwork && slices.ContainsFunc(p.Containers(), func(c facts.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return fmt.Sprint(p.ContainerPort) == port })
		}) {
			s.ReportAs("may be", o, path, verb, address, then, p.Object.Ref()).Note()
			return nil
		}
	}
	return s.Report(o, path, verb, address, then)
}
