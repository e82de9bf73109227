package storage

import (
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var claimSource = judge.Check{
	ID: "MX323", Name: "claim-source-missing", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "What a claim is filled from exists",
	Why:   "A provisioner waits for the claim, the snapshot or the resource of a dataSource before it makes the volume (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#volume-populators-and-data-sources).",
	Fix:   "Add it to the recipe, or correct the name.",
	Says:  "is filled from %s %s, which does not exist, and nothing in the recipe makes it", Then: "no provisioner makes its volume",
	Run: func(s *judge.Scope) {
		all := facts.ClaimsOf(s.Expectation)
		for i := range all {
			c := &all[i]
			from := sourceOf(c)
			if from.Name == "" || c.From.Kind == "PersistentVolumeClaim" && c.Spec.VolumeName != "" {
				continue
			}
			full := infra.NamespacedName(from.Namespace, from.Name)
			isClaim := from.Group == "" && from.Kind == "PersistentVolumeClaim"
			if (isClaim || s.Live == nil) && !s.Lacks(from, c.From) || !isClaim && observe.Makes(s.Expectation, from.Kind, from.Namespace, from.Name) {
				continue
			}
			s.Report(maker(s, c), claimPath(c, "dataSource"), from.Kind, full).SetBy(from.Name).OneCause(from.Kind + " " + full).Missing(from)
		}
	},
}

// sourceOf is what a claim is filled from; zero for one that is not.
func sourceOf(c *facts.ClaimTemplate) result.Ref {
	of := func(group *string, kind, name, namespace string) result.Ref {
		r := result.Ref{Kind: kind, Namespace: namespace, Name: name}
		if group != nil {
			r.Group = *group
		}
		return r
	}
	if r := c.Spec.DataSourceRef; r != nil {
		namespace := c.Namespace
		if r.Namespace != nil {
			namespace = *r.Namespace
		}
		return of(r.APIGroup, r.Kind, r.Name, namespace)
	}
	if r := c.Spec.DataSource; r != nil {
		return of(r.APIGroup, r.Kind, r.Name, c.Namespace)
	}
	return result.Ref{}
}
