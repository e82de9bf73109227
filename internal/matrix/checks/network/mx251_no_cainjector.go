package network

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var noCAInjector = judge.Check{
	ID: "MX251", Name: "ca-bundle-without-cainjector", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Title: "Where cert-manager is to write a caBundle, the recipe's cert-manager has a cainjector",
	Why: "cert-manager's cainjector writes the caBundle of objects with its annotations (https://cert-manager.io/docs/concepts/ca-injector/). Its chart can be installed without it. " +
		"Where the recipe has no cert-manager, the cluster may.",
	Fix:  "Install cainjector, with a replica.",
	Says: "has its caBundle written by cert-manager's cainjector (%s), %s", Then: "the API server trusts nothing that answers it, so that every request to it fails",
	Run: func(s *judge.Scope) {
		lacks := lacksInjector(s.Expectation)
		if lacks == "" {
			return
		}
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			for _, key := range []string{"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret"} {
				if o.Object.GetAnnotations()[key] != "" {
					if len(calledBy(o.Object)) > 0 && !strings.Contains(fmt.Sprint(o.Object.Object), "caBundle:") {
						s.Report(o, `metadata.annotations["`+key+`"]`, key, lacks).SetBy(key).OneCause("no cainjector")
					}
					break
				}
			}
		}
	},
}

// lacksInjector is how the cert-manager of a bundle has no cainjector with pods; empty if it has one, or if the
// bundle has no cert-manager.
func lacksInjector(e *bundle.Expectation) string {
	managed, lacks := false, "which the bundle lacks"
	for i := range e.Workloads {
		w := &e.Workloads[i]
		switch {
		case facts.HasImage(w, "jetstack/cert-manager-controller"):
			managed = true
		case !slices.ContainsFunc(w.PodSpec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, "cainjector") }): // by whatever name a mirror has
		case !facts.Idle(w):
			return ""
		default:
			lacks = fmt.Sprintf("%s (%s), which has 0 replicas", observe.WorkloadRef(w.Kind, w.Namespace, w.Name), w.Component)
		}
	}
	if !managed {
		return "" // another recipe's, or the cluster's
	}
	return lacks
}
