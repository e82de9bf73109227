package storage

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var flexVolume = judge.Check{
	ID: "MX320", Name: "flex-volume", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "No pod has a flexVolume",
	Why:   "The driver of a flexVolume is a program in a directory of each node, which no chart is known to put there (https://kubernetes.io/docs/concepts/storage/volumes/#flexvolume). It is deprecated since Kubernetes 1.23.",
	Fix:   "Use a CSI driver.",
	Says:  "mounts a flexVolume of driver %s, a program that nothing in the recipe installs on a node", Then: volumeWaits,
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, v := range facts.MountedVolumes(&p.Template.Spec) {
				if v.FlexVolume != nil {
					s.Report(p.Object, fmt.Sprintf("%s.volumes[%d].flexVolume.driver", p.Path(), i), v.FlexVolume.Driver).OneCause(v.FlexVolume.Driver)
				}
			}
		}
	},
}
