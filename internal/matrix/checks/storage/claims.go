package storage

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// maker is the object that a claim is, or that makes it.
func maker(s *judge.Scope, c *facts.ClaimTemplate) *bundle.Object {
	for i := range s.Expectation.Objects {
		if o := &s.Expectation.Objects[i]; o.Ref() == c.From && o.Template == c.Template {
			return o
		}
	}
	w := bundle.Workload{Component: c.Component, Template: c.Template, Kind: c.From.Kind, Namespace: c.From.Namespace, Name: c.From.Name}
	return s.ObjectOf(&w)
}

// claimPath is a field of a claim, in the object that is or makes it.
func claimPath(c *facts.ClaimTemplate, field string) string {
	if c.Path == "" {
		return facts.PodPath(c.From.Kind) + ".volumes"
	}
	return c.Path + "." + field
}
