package storage

import (
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var attributesClass = judge.Check{
	ID: "MX325", Name: "attributes-class-missing", Needs: judge.Rendered, First: true, Gives: reason.SchedulingFailed,
	Title: "The VolumeAttributesClass of a claim exists",
	Why:   "A provisioner waits for the class of a claim's attributes, and no managed Kubernetes has one by itself (https://kubernetes.io/docs/concepts/storage/volume-attributes-classes/).",
	Fix:   "Add the VolumeAttributesClass, or leave the name out.",
	Says:  "wants VolumeAttributesClass %s, which nothing in the recipe makes", Then: "no provisioner makes its volume",
	Run: func(s *judge.Scope) {
		all := facts.ClaimsOf(s.Expectation)
		for i := range all {
			c := &all[i]
			if name := c.Spec.VolumeAttributesClassName; name != nil && *name != "" && !observe.Makes(s.Expectation, "VolumeAttributesClass", "", *name) {
				s.Report(maker(s, c), claimPath(c, "volumeAttributesClassName"), *name).SetBy(*name).OneCause(*name).
					Missing(result.Ref{Kind: "VolumeAttributesClass", Name: *name})
			}
		}
	},
}
