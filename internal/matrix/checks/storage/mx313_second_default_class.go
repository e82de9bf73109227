package storage

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var secondDefaultClass = judge.Check{
	ID: "MX313", Name: "second-default-class", Needs: judge.Rendered, Kinds: storageClasses,
	Title: "A recipe has at most one StorageClass that is the default",
	Why:   "A claim without a class gets the default that was created last (https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass). Deployers create objects in different orders.",
	Fix:   "Make one of them the default.",
	Says:  "is the default of the cluster, and so is %s (%s)", Then: "a claim without a class gets the one that was created last, which differs between deployers",
	Run: func(s *judge.Scope) {
		var first *bundle.Object
		for _, o := range s.Rendered(storageClasses...) {
			if o.Object.GetAnnotations()[simulate.DefaultClass] != "true" {
				continue
			}
			if first == nil {
				first = o
			} else if o.Ref() != first.Ref() {
				s.Report(o, `metadata.annotations["`+simulate.DefaultClass+`"]`, first.Ref(), first.Component).SetBy(simulate.DefaultClass)
			}
		}
	},
}
