package storage

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var claimMissing = judge.Check{
	ID: "MX324", Name: "claim-missing", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "The claims of a workload that has no pods yet exist",
	Why:   "The scheduler places no pod whose claim does not exist (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#claims-as-volumes), and says it of pods alone: a CronJob or a workload of 0 replicas has none.",
	Fix:   "Add the claim, or correct claimName.",
	Says:  "mounts PersistentVolumeClaim %s, which does not exist, and nothing in the recipe makes it", Then: "the scheduler does not place its pods",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Workloads {
			w := &s.Expectation.Workloads[i]
			if w.Kind != "CronJob" && w.Replicas != 0 {
				continue
			}
			for j, v := range w.PodSpec.Volumes {
				if v.PersistentVolumeClaim == nil {
					continue
				}
				name := v.PersistentVolumeClaim.ClaimName
				full, claim := infra.NamespacedName(w.Namespace, name), result.Ref{Kind: "PersistentVolumeClaim", Namespace: w.Namespace, Name: name}
				if s.Lacks(claim, s.ObjectOf(w).Ref()) {
					s.Report(s.ObjectOf(w), fmt.Sprintf("%s.volumes[%d].persistentVolumeClaim.claimName", facts.PodPath(w.Kind), j), full).SetBy(name).OneCause(full).
						Missing(claim)
				}
			}
		}
	},
}
