package storage

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const volumeMissingSays = "names PersistentVolume %s (spec.volumeName), which does not exist, and nothing in the recipe makes it"

var volumeMissing = judge.Check{
	ID: "MX326", Name: "named-volume-missing", Needs: judge.Rendered, First: true, Gives: reason.SchedulingFailed,
	Title: "The volume that a claim names exists",
	Why:   "Kubernetes binds a claim with spec.volumeName to that volume or to none (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume), and a new cluster has none but the recipe's.",
	Fix:   "Add the PersistentVolume, or leave volumeName out.",
	Says:  volumeMissingSays, Then: claimWaits,
	Run: func(s *judge.Scope) {
		namedVolumes(s, func(c *facts.ClaimTemplate, own *bundle.Object, _ string) {
			if own == nil {
				reportVolume(s, "", c).Missing(result.Ref{Kind: "PersistentVolume", Name: c.Spec.VolumeName})
			}
		})
	},
}

// It waits for the cluster, which has the volumes from before.
var volumeFromBefore = judge.Check{
	ID: "MX327", Name: "kept-volume-does-not-fit", Needs: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "A volume from before that a claim names fits the claim, and is for it alone",
	Why: "After an upgrade a cluster has volumes that the old bundle made, or that were kept. One whose claim was deleted is Released, and Kubernetes gives it to no other claim " +
		"(https://kubernetes.io/docs/concepts/storage/persistent-volumes/#retain).",
	Fix:  "Remove the volume's spec.claimRef, or name another volume.",
	Says: "names PersistentVolume %s (spec.volumeName), %s", Then: claimWaits,
	Others: map[string]judge.Message{
		"missing":  {Says: volumeMissingSays, Then: claimWaits},
		"two":      {Says: twoClaimsSay, Then: claimWaits},
		"each":     {Says: eachClaimSays, Then: claimWaits},
		"released": {Says: "names PersistentVolume %s (spec.volumeName), which is from before, and was for a claim that has been deleted (its status is Released): Kubernetes gives it to no other claim until its spec.claimRef is removed", Then: claimWaits},
	},
	Run: func(s *judge.Scope) {
		namedVolumes(s, func(c *facts.ClaimTemplate, own *bundle.Object, first string) {
			switch v := s.Live.Volumes[c.Spec.VolumeName]; {
			case own != nil: // MX351's
			case v == nil && !s.More(): // MX326's
			case v == nil:
				reportVolume(s, "missing", c).Missing(result.Ref{Kind: "PersistentVolume", Name: c.Spec.VolumeName})
			case first != "":
				reportVolume(s, "two", c, first)
			case c.Times > 1:
				reportVolume(s, "each", c, c.Times)
			case v.Status.Phase == corev1.VolumeReleased:
				reportVolume(s, "released", c)
			default:
				if why := facts.Unfit(v, c.Namespace, c.First, c.Spec, true); why != "" {
					reportVolume(s, "", c, why)
				}
			}
		})
	},
}

func reportVolume(s *judge.Scope, message string, c *facts.ClaimTemplate, args ...any) *judge.Found {
	name := c.Spec.VolumeName
	return s.ReportAs(message, maker(s, c), claimPath(c, "volumeName"), append([]any{name}, args...)...).SetBy(name).OneCause(name + " for " + c.From.String())
}

// namedVolumes looks at the claims that name a volume: with the bundle's own of that name, nil if it has none, and the first
// claim of that volume, if that is another.
func namedVolumes(s *judge.Scope, look func(c *facts.ClaimTemplate, own *bundle.Object, first string)) {
	taken := map[string]string{}
	all := facts.ClaimsOf(s.Expectation)
	for i := range all {
		c := &all[i]
		name := c.Spec.VolumeName
		if name == "" {
			continue
		}
		first := taken[name]
		if first == "" {
			taken[name] = c.From.String()
		}
		look(c, s.Find(judge.KindsOf("", "PersistentVolume")[0], "", name), first)
	}
}
