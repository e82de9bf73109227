package storage

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var sharedMemory = judge.Check{
	ID: "MX330", Name: "memory-volume-over-limit", Needs: judge.Rendered,
	Title: "A volume in memory is smaller than the memory that its pod may use",
	Why:   "What is written to an emptyDir of medium Memory, e.g. /dev/shm, counts as memory of the container that wrote it (https://kubernetes.io/docs/concepts/storage/volumes/#emptydir). One that may grow beyond all limits of its pod has its writer killed.",
	Fix:   "Lower sizeLimit, or raise the containers' memory limits.",
	Says:  "has volume %s in memory, of up to %s, and its containers may use %s together", Then: "a container that fills it is killed (OOMKilled)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			var sum resource.Quantity
			limited := true
			for _, c := range p.Containers() {
				limit, ok := c.Resources.Limits[corev1.ResourceMemory]
				limited = limited && (ok || c.Init)
				sum.Add(limit)
			}
			for i, v := range p.Template.Spec.Volumes {
				if e := v.EmptyDir; e != nil && e.Medium == corev1.StorageMediumMemory && e.SizeLimit != nil && limited && e.SizeLimit.Cmp(sum) > 0 {
					s.Report(p.Object, fmt.Sprintf("%s.volumes[%d].emptyDir.sizeLimit", p.Path(), i), v.Name, e.SizeLimit, sum.String())
				}
			}
		}
	},
}
