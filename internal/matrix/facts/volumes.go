package facts

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/nvidia/aicr-action/internal/infra"
)

// Unfit says why Kubernetes does not bind a claim to the volume that it names; empty if it does. A
// volume that names the claim is not compared further. Of a claim without a class, the cluster's
// default decides. before: the volume is from before, so that the claim's UID is in it once they are bound.
func Unfit(v *corev1.PersistentVolume, namespace, claim string, spec *corev1.PersistentVolumeClaimSpec, before bool) string {
	if own := v.Spec.ClaimRef; own != nil {
		switch {
		case own.Namespace != namespace || own.Name != claim && claim != "":
			return "which is for PersistentVolumeClaim " + infra.NamespacedName(own.Namespace, own.Name) + " (spec.claimRef)"
		case own.UID != "" && !before:
			return "which is for a claim with UID " + string(own.UID) + " (spec.claimRef), and no claim of a new cluster can have that UID"
		}
		return ""
	}
	has, wants := v.Spec.Capacity[corev1.ResourceStorage], spec.Resources.Requests[corev1.ResourceStorage]
	switch {
	case has.Cmp(wants) < 0:
		return fmt.Sprintf("which has %s of the %s that it asks for", has.String(), wants.String())
	case spec.StorageClassName != nil && *spec.StorageClassName != v.Spec.StorageClassName:
		return fmt.Sprintf("whose storageClassName is %q, and the claim's is %q", v.Spec.StorageClassName, *spec.StorageClassName)
	case volume.CheckVolumeModeMismatches(spec, &v.Spec):
		return "which has another volumeMode"
	case !volume.CheckAccessModes(&corev1.PersistentVolumeClaim{Spec: *spec}, v):
		return fmt.Sprintf("whose accessModes are %v, and the claim's %v", v.Spec.AccessModes, spec.AccessModes)
	}
	return ""
}
