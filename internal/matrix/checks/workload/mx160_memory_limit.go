package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var memoryLimit = judge.Check{
	ID: "MX160", Name: "memory-limit-too-low", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "A container may use the memory with which a process starts",
	Why: "m is a thousandth: 512m of memory is half a byte, and was meant to be 512Mi (https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#meaning-of-memory). " +
		"runc's own process is killed below some MiB (container init was OOM-killed). The API server warns of fractions alone.",
	Fix:  "Write Mi or Gi.",
	Says: "container %s has a memory limit of %s, in which no process starts", Then: "a kubelet never starts it (RunContainerError): m is a thousandth, write Mi",
	Run: func(s *judge.Scope) {
		least := resource.MustParse("1Mi")
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && !limit.IsZero() && limit.Cmp(least) < 0 {
					s.Report(p.Object, c.Path+".resources.limits.memory", c.Name, limit.String()).OneOfTemplate()
				}
			}
		}
	},
}
