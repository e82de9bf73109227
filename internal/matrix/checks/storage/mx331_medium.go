package storage

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var unknownMedium = judge.Check{
	ID: "MX331", Name: "medium-unknown", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "An emptyDir has a medium that a kubelet knows",
	Why:   "The API server takes any text; a kubelet knows none, Memory, HugePages and HugePages-SIZE, and mounts nothing else (https://github.com/kubernetes/kubernetes/blob/master/pkg/volume/emptydir/empty_dir.go).",
	Fix:   "Leave the medium out, or name Memory.",
	Says:  "has volume %s of medium %s, which is none", Then: "a kubelet starts none of its containers (FailedMount)",
	Run: func(s *judge.Scope) {
		known := []string{"", string(corev1.StorageMediumMemory), string(corev1.StorageMediumHugePages)}
		for _, p := range s.Pods() {
			for i, v := range facts.MountedVolumes(&p.Template.Spec) {
				if d := v.EmptyDir; d != nil && !slices.Contains(known, string(d.Medium)) && !strings.HasPrefix(string(d.Medium), string(corev1.StorageMediumHugePagesPrefix)) {
					s.Report(p.Object, fmt.Sprintf("%s.volumes[%d].emptyDir.medium", p.Path(), i), v.Name, d.Medium).OneOfTemplate()
				}
			}
		}
	},
}
