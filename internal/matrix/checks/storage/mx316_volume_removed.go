package storage

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var volumeRemoved = judge.Check{
	ID: "MX316", Name: "volume-type-removed", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "Kubernetes still mounts volumes of the type",
	Why:   "The API server keeps the fields of volume types whose plugins are gone, for old objects (https://kubernetes.io/docs/concepts/storage/volumes/#volume-types). gitRepo is switched off since 1.33.",
	Fix:   "Use a CSI driver, or an init container that clones the repository.",
	Says:  "has volume %s of type %s, which Kubernetes no longer mounts", Then: "a kubelet starts none of its containers (FailedMount)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, v := range facts.MountedVolumes(&p.Template.Spec) {
				if what := removed(&v.VolumeSource); what != "" {
					s.Report(p.Object, fmt.Sprintf("%s.volumes[%d].%s", p.Path(), i, what), v.Name, what).SetBy(what).OneOfTemplate()
				}
			}
		}
	},
}

// removed is the volume's type if Kubernetes has no plugin for it any more, in any version that cells run.
func removed(v *corev1.VolumeSource) string {
	switch {
	case v.GitRepo != nil:
		return "gitRepo"
	case v.CephFS != nil:
		return "cephfs"
	case v.RBD != nil:
		return "rbd"
	case v.Glusterfs != nil:
		return "glusterfs"
	case v.Quobyte != nil:
		return "quobyte"
	case v.Flocker != nil:
		return "flocker"
	case v.ScaleIO != nil:
		return "scaleIO"
	case v.StorageOS != nil:
		return "storageos"
	case v.PhotonPersistentDisk != nil:
		return "photonPersistentDisk"
	}
	return ""
}
