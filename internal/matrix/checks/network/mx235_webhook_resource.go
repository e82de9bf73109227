package network

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var webhookResource = judge.Check{
	ID: "MX235", Name: "webhook-for-no-resource", Needs: judge.Rendered, Kinds: webhookConfigurations,
	Title: "The rules of a webhook name resources as the API server does",
	Why:   "rules[].resources are plurals in small letters (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules). The API server takes any word, and calls the webhook for none of another spelling.",
	Fix:   "Write the resource's name, e.g. pods.",
	Says:  "webhook %s is for %s, which is no resource; its name is %s", Then: "the API server never calls it for these",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(webhookConfigurations...) {
			for i, w := range facts.Webhooks(o.Object) {
				for j, rule := range w.Rules {
					for k, resource := range rule.Resources {
						if right := facts.Misspelled(rule.APIGroups, resource); right != "" {
							s.Report(o, fmt.Sprintf("webhooks[%d].rules[%d].resources[%d]", i, j, k), w.Name, resource, right)
						}
					}
				}
			}
		}
	},
}
