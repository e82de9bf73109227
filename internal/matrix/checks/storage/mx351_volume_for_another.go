package storage

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	claimWaits    = "the claim waits for ever, and so do the pods that use it"
	twoClaimsSay  = "names PersistentVolume %s (spec.volumeName), and so does %s: a volume is for one claim"
	eachClaimSays = "names PersistentVolume %s (spec.volumeName), and so does each of its %d claims: a volume is for one claim"
)

var volumeForAnother = judge.Check{
	ID: "MX351", Name: "named-volume-does-not-fit", Needs: judge.Rendered, First: true, Kinds: judge.KindsOf("", "PersistentVolume"), Gives: reason.SchedulingFailed,
	Title: "A volume of the recipe that a claim names fits the claim, and is for it alone",
	Why: "Kubernetes binds a claim with spec.volumeName to that volume or to none, and a volume to one claim (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume). " +
		"Class, size, modes and spec.claimRef have to fit. Of a claim without a class, the cluster's default decides.",
	Fix:  "Give each claim a volume of its own, with its class, size and modes.",
	Says: "names PersistentVolume %s (spec.volumeName), %s", Then: claimWaits,
	Others: map[string]judge.Message{
		"two":  {Says: twoClaimsSay, Then: claimWaits},
		"each": {Says: eachClaimSays, Then: claimWaits},
	},
	Run: func(s *judge.Scope) {
		namedVolumes(s, func(c *facts.ClaimTemplate, own *bundle.Object, first string) {
			if own == nil {
				return // another check's
			}
			v := facts.As[corev1.PersistentVolume](s.Index, own)
			if v == nil {
				return
			}
			name := c.Spec.VolumeName
			const path = "spec.volumeName"
			var found *judge.Found
			if first != "" {
				found = s.ReportAs("two", maker(s, c), path, name, first)
			} else if c.Times > 1 {
				found = s.ReportAs("each", maker(s, c), path, name, c.Times)
			} else if why := facts.Unfit(v, c.Namespace, c.First, c.Spec, false); why != "" {
				found = s.Report(maker(s, c), path, name, why)
			}
			if found != nil {
				found.SetBy(name).OneCause(name + " for " + c.From.String())
			}
		})
	},
}
