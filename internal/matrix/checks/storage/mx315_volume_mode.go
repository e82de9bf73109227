package storage

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var volumeMode = judge.Check{
	ID: "MX315", Name: "volume-in-another-form", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "A container takes a volume in the form that its claim has",
	Why: "A kubelet mounts a file system and hands over a block device (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#volume-mode). " +
		"It starts no container of a pod that has a claim of one form and asks for the other; a simulated one starts every pod.",
	Fix:  "List the volume in volumeMounts for a file system, or in volumeDevices for volumeMode: Block.",
	Says: "container %s has volume %s in %s, and the volumeMode of claim %s is %s", Then: "a kubelet starts none of its containers: a file system belongs in volumeMounts, a block device in volumeDevices",
	Run: func(s *judge.Scope) {
		made := s.Claims()
		for _, p := range s.Pods() {
			for i := range p.Template.Spec.Volumes {
				v := &p.Template.Spec.Volumes[i]
				if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
					form(s, p, v.Name, v.Name, &v.Ephemeral.VolumeClaimTemplate.Spec)
				} else if j := slices.IndexFunc(made, func(c facts.Claim) bool {
					return v.PersistentVolumeClaim != nil && c.Namespace == p.Object.Object.GetNamespace() && c.First == v.PersistentVolumeClaim.ClaimName
				}); j >= 0 {
					form(s, p, v.Name, made[j].Name, made[j].Spec)
				}
			}
			for j := range made {
				if c := &made[j]; c.Object == p.Object {
					form(s, p, c.Name, c.Name, c.Spec)
				}
			}
		}
	},
}

// form reports the first container that takes a volume in another form than its claim has.
func form(s *judge.Scope, p facts.PodTemplate, volume, claim string, spec *corev1.PersistentVolumeClaimSpec) {
	isBlock := spec.VolumeMode != nil && *spec.VolumeMode == corev1.PersistentVolumeBlock
	for _, c := range p.Containers() {
		i, field, is := slices.IndexFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == volume }), "volumeDevices", corev1.PersistentVolumeFilesystem
		if isBlock {
			i, field, is = slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }), "volumeMounts", corev1.PersistentVolumeBlock
		}
		if i >= 0 {
			s.Report(p.Object, fmt.Sprintf("%s.%s[%d].name", c.Path, field, i), c.Name, volume, field, claim, is)
			return
		}
	}
}
