package storage

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// It waits for the cluster: which volume a claim gets is the controller's to decide.
var claimWithSelector = judge.Check{
	ID: "MX311", Name: "claim-with-selector-and-no-volume", Needs: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "A claim with a selector has a volume that fits it",
	Why: "A claim with a non-empty selector is for volumes that exist: no provisioner makes one for it (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#selector). " +
		"The provisioner of a simulated cluster does, and that is how this check sees that no volume of the recipe fits.",
	Fix:  "Remove spec.selector, or add a PersistentVolume with its labels.",
	Says: "claim %s is for a volume with %s (spec.selector), and no PersistentVolume of the recipe fits it", Then: "provisioners make no volumes for claims with a selector, so that the claim and its pods wait for ever",
	Run: func(s *judge.Scope) {
		for _, c := range s.Claims() {
			if c.Spec.Selector != nil && c.Spec.VolumeName == "" && isProvisioned(s, &c) {
				s.Report(c.Object, c.Path+".selector", c.Name, metav1.FormatLabelSelector(c.Spec.Selector)).SetBy(c.Name)
			}
		}
	},
}

// isProvisioned reports whether the simulated provisioner has made a volume for a claim. Those of a StatefulSet differ
// by their ordinals.
func isProvisioned(s *judge.Scope, c *facts.Claim) bool {
	for _, v := range s.Live.Volumes {
		owner := v.Spec.ClaimRef
		if owner == nil || owner.Namespace != c.Namespace || v.Annotations["pv.kubernetes.io/provisioned-by"] != simulate.Provisioner {
			continue
		}
		if owner.Name == c.First || c.Object.Object.GetKind() == "StatefulSet" && strings.HasPrefix(owner.Name, strings.TrimSuffix(c.First, "0")) {
			return true
		}
	}
	return false
}
