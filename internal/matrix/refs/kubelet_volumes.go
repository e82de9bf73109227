package refs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// removed returns the volume's type if Kubernetes has no plugin for it any more, in any version that cells
// run. The API server keeps such fields for old objects.
func removed(v *corev1.VolumeSource) string {
	switch {
	case v.GitRepo != nil:
		return "gitRepo" // switched off since 1.33, for good since 1.36
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

// kubeletMigrated returns the type of a volume that Kubernetes once mounted itself, and the CSI driver that does
// it in its place; empty for any other.
func kubeletMigrated(v *corev1.VolumeSource) (what, driver string) {
	switch {
	case v.AWSElasticBlockStore != nil:
		return "awsElasticBlockStore", "ebs.csi.aws.com"
	case v.GCEPersistentDisk != nil:
		return "gcePersistentDisk", "pd.csi.storage.gke.io"
	case v.AzureDisk != nil:
		return "azureDisk", "disk.csi.azure.com"
	case v.AzureFile != nil:
		return "azureFile", "file.csi.azure.com"
	case v.Cinder != nil:
		return "cinder", "cinder.csi.openstack.org"
	case v.VsphereVolume != nil:
		return "vsphereVolume", "csi.vsphere.vmware.com"
	case v.PortworxVolume != nil:
		return "portworxVolume", "pxd.portworx.com"
	}
	return "", ""
}

// volumes finds those that a kubelet never mounts, so that it starts no container of the pod.
func volumes(spec *corev1.PodSpec) []KubeletRefusal {
	const mounted = "a kubelet starts none of its containers (FailedMount)"
	var all []KubeletRefusal
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if what := removed(&v.VolumeSource); what != "" {
			all = append(all, KubeletRefusal{Name: what, Text: fmt.Sprintf("has volume %s of type %s, which Kubernetes no longer mounts", v.Name, what), Then: mounted})
		}
		if d := v.EmptyDir; d != nil && strings.HasPrefix(string(d.Medium), string(corev1.StorageMediumHugePages)) {
			if text := hugePages(spec, string(d.Medium)); text != "" {
				all = append(all, KubeletRefusal{Name: string(d.Medium), Text: fmt.Sprintf("has volume %s of medium %s, and %s", v.Name, d.Medium, text), Then: mounted})
			}
		}
		if v.Image != nil && v.Image.Reference != "" {
			if _, err := reference.ParseNormalizedNamed(v.Image.Reference); err != nil {
				all = append(all, KubeletRefusal{Name: v.Image.Reference, Text: fmt.Sprintf("has volume %s of image %q, which is no name of an image (%v)", v.Name, v.Image.Reference, err), Then: "a kubelet starts none of its containers (InvalidImageName)"})
			}
		}
	}
	return all
}

// hugePages says what the requests of a pod lack for a volume of huge pages: a kubelet reads the pages'
// size from them, so that the medium without a size needs requests of one size.
func hugePages(spec *corev1.PodSpec, medium string) string {
	var sizes []string
	lists := []corev1.ResourceList{}
	if spec.Resources != nil {
		lists = append(lists, spec.Resources.Requests, spec.Resources.Limits)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		lists = append(lists, c.Resources.Requests, c.Resources.Limits) // a limit is the request, too
	}
	for _, list := range lists {
		for name := range list {
			if size, is := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); is && !slices.ContainsFunc(sizes, func(s string) bool { return same(s, size) }) {
				sizes = append(sizes, size)
			}
		}
	}
	_, wanted, sized := strings.Cut(medium, "-")
	switch {
	case sized && !slices.ContainsFunc(sizes, func(s string) bool { return same(s, wanted) }):
		return "no container requests hugepages-" + wanted
	case len(sizes) == 0:
		return "no container requests huge pages"
	case !sized && len(sizes) > 1:
		return "its containers request huge pages of several sizes (" + strings.Join(slices.Sorted(slices.Values(sizes)), ", ") + ")"
	}
	return ""
}

// same compares two sizes: 1024Mi is 1Gi.
func same(a, b string) bool {
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return a == b
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}
