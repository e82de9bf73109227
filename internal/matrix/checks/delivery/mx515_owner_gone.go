package delivery

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var ownerGone = judge.Check{
	ID: "MX515", Name: "owner-of-another-cluster", Needs: judge.Rendered, First: true, Gives: reason.DeployFailed,
	Title: "No manifest names an owner by its UID",
	Why: "The garbage collector deletes an object whose owners do not exist (https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents), and Argo CD creates it again for ever. " +
		"No object of a new cluster has a UID that a manifest could know. The collector leaves an object alone if nothing serves the owner's kind.",
	Fix:  "Leave metadata.ownerReferences out.",
	Says: "has %s %s with UID %s as its owner (metadata.ownerReferences), and no object of a new cluster can have that UID",
	Then: "the garbage collector deletes it as soon as it is created",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			refs := o.Object.GetOwnerReferences()
			counts := len(refs) > 0
			for _, owner := range refs {
				// Without a UID the API server refuses it; an owner of a kind that none serves counts as one.
				counts = counts && owner.UID != "" && serves(s, schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind())
			}
			if counts {
				s.Report(o, "metadata.ownerReferences[0].uid", refs[0].Kind, refs[0].Name, refs[0].UID).SetBy(refs[0].Name)
			}
		}
	},
}

// serves reports whether the API server serves a kind, as far as the bundle shows.
func serves(s *judge.Scope, kind schema.GroupKind) bool {
	return !strings.Contains(kind.Group, ".") || strings.HasSuffix(kind.Group, ".k8s.io") ||
		slices.ContainsFunc(s.Rendered(), func(o *bundle.Object) bool { return apis.Defines(o.Object, kind) })
}
