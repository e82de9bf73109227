package everyday

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/refs/claims"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// disks are the drivers whose volumes one node alone can mount with a file system. Others, such as
// longhorn, can share theirs.
var disks = []string{"ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "disk.csi.azure.com", "kubernetes.io/azure-disk", "blockvolume.csi.oraclecloud.com", "linodebs.csi.linode.com"}

// disk fails a claim for many nodes of a driver that makes disks: it provisions none. The class that the
// cluster has by itself may be another one where the recipe is used, so that it is a warning there.
func (f *finder) disk(c *claims.Claim) {
	spec := c.Spec
	if spec.VolumeMode != nil && *spec.VolumeMode == corev1.PersistentVolumeBlock || !slices.Contains(spec.AccessModes, corev1.ReadWriteMany) {
		return
	}
	class := ""
	if spec.StorageClassName != nil {
		class = *spec.StorageClassName
	} else if live := f.have.ClaimSpecs[infra.NamespacedName(c.Namespace, c.First)]; live.StorageClassName != nil {
		class = *live.StorageClassName // the API server has filled it in
	}
	if driver := f.have.Provisioners[class]; driver == simulate.Provisioner {
		p := c.Problem
		p.Name = class
		whose := "which the cluster has by itself"
		if class == simulate.DefaultClassName {
			whose = "the default class of this cell, which the harness made"
		}
		p.Text = fmt.Sprintf("claim %s is ReadWriteMany, of StorageClass %s, %s", c.Name, class, whose)
		p.Then = "those of managed Kubernetes and of Kind make disks for one node: there it and its pods wait for ever"
		f.found = append(f.found, p)
	} else if slices.Contains(disks, driver) {
		p := c.Problem
		p.Name, p.Cause, p.Reason = class, "shared disk "+c.From.String()+c.Name, reason.SchedulingFailed
		p.Text = fmt.Sprintf("claim %s is ReadWriteMany, and StorageClass %s makes disks (%s)", c.Name, class, driver)
		p.Then = "the driver refuses it, so that the claim and its pods wait for ever"
		f.found = append(f.found, p)
	}
}

// modes fails a container that takes a volume in another form than its claim has: a kubelet mounts a
// file system (volumeMounts), and hands over a block device (volumeDevices).
func (f *finder) modes(w *bundle.Workload, made []claims.Claim) {
	for i := range w.PodSpec.Volumes {
		v := &w.PodSpec.Volumes[i]
		if own := claims.OfVolume(w, v); own != nil {
			f.mode(w, v.Name, own)
			continue
		}
		for j := range made {
			if c := &made[j]; v.PersistentVolumeClaim != nil && c.Namespace == w.Namespace && c.First == v.PersistentVolumeClaim.ClaimName {
				f.mode(w, v.Name, c)
				break
			}
		}
	}
	for j := range made {
		if c := &made[j]; w.Kind == "StatefulSet" && c.From == observe.WorkloadRef(w.Kind, w.Namespace, w.Name) {
			f.mode(w, c.Name, c)
		}
	}
}

func (f *finder) mode(w *bundle.Workload, volume string, c *claims.Claim) {
	is, used := corev1.PersistentVolumeFilesystem, "volumeDevices"
	if c.Spec.VolumeMode != nil && *c.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		is, used = corev1.PersistentVolumeBlock, "volumeMounts"
	}
	for _, container := range slices.Concat(w.PodSpec.InitContainers, w.PodSpec.Containers) {
		wrong := slices.ContainsFunc(container.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == volume })
		if is == corev1.PersistentVolumeBlock {
			wrong = slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
		}
		if !wrong {
			continue
		}
		p := c.Problem
		p.From, p.Component, p.Template = observe.WorkloadRef(w.Kind, w.Namespace, w.Name), w.Component, w.Template
		p.Name, p.Cause, p.Reason = volume, "mode of "+p.From.String()+volume, reason.WorkloadFailed
		p.Text = fmt.Sprintf("container %s has volume %s in %s, and the volumeMode of claim %s is %s", container.Name, volume, used, c.Name, is)
		p.Then = "a kubelet starts none of its containers: a file system belongs in volumeMounts, a block device in volumeDevices"
		f.found = append(f.found, p)
		return
	}
}

// claimed fails a claim that chooses its volume by labels and for which a provisioner has made one:
// the simulated one does, real ones refuse such claims.
func (f *finder) claimed(c *claims.Claim) {
	if c.Spec.Selector == nil || c.Spec.VolumeName != "" {
		return
	}
	first := strings.TrimSuffix(c.First, "0") // a StatefulSet's claims differ by their ordinals
	for _, v := range f.have.Volumes {
		owner := v.Spec.ClaimRef
		if owner == nil || owner.Namespace != c.Namespace || v.Annotations["pv.kubernetes.io/provisioned-by"] != simulate.Provisioner {
			continue
		}
		if owner.Name != c.First && (c.From.Kind != "StatefulSet" || !strings.HasPrefix(owner.Name, first)) {
			continue
		}
		p := c.Problem
		p.Name, p.Cause, p.Reason = c.Name, "selector of "+c.From.String()+c.Name, reason.SchedulingFailed
		p.Text = fmt.Sprintf("claim %s is for a volume with %s (spec.selector), and no PersistentVolume of the recipe fits it", c.Name, metav1.FormatLabelSelector(c.Spec.Selector))
		p.Then = "provisioners make no volumes for claims with a selector, so that the claim and its pods wait for ever"
		f.found = append(f.found, p)
		return
	}
}
