package storage

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// volumeWaits is what a kubelet does without a volume.
const volumeWaits = "a kubelet waits for the volume for ever"

var csiVolume = judge.Check{
	ID: "MX319", Name: "volume-of-no-driver", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.WorkloadFailed,
	Title: "The CSI driver of a pod's volume is installed, and mounts volumes of that form",
	Why: "A kubelet mounts an inline volume only if the driver's CSIDriver has the mode Ephemeral (https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#csi-ephemeral-volumes), " +
		"and leaves to CSI drivers the types of volumes that Kubernetes once mounted itself. Drivers of managed Kubernetes are a note.",
	Fix:  "Install the driver, or use a claim.",
	Says: "mounts an inline volume of CSI driver %s, which nothing in the recipe installs", Then: volumeWaits,
	Others: map[string]judge.Message{
		"mode":     {Says: "mounts an inline volume of CSI driver %s, whose CSIDriver does not allow them (spec.volumeLifecycleModes without Ephemeral)", Then: volumeWaits},
		"migrated": {Says: "mounts a volume of type %[2]s, which needs CSI driver %[1]s, which nothing in the recipe installs", Then: volumeWaits},
	},
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, v := range facts.MountedVolumes(&p.Template.Spec) {
				path := fmt.Sprintf("%s.volumes[%d]", p.Path(), i)
				if what, driver := migratedTo(&v.VolumeSource); driver != "" {
					if s.Lacks(driverRef(driver), p.Object.Ref()) {
						driverMissing(s, p, "migrated", path+"."+what, driver, what)
					}
				}
				if v.CSI == nil {
					continue
				}
				if s.Lacks(driverRef(v.CSI.Driver), p.Object.Ref()) {
					driverMissing(s, p, "", path+".csi.driver", v.CSI.Driver, "")
				} else if modes, known := modesOf(s, v.CSI.Driver); known && !slices.Contains(modes, storagev1.VolumeLifecycleEphemeral) {
					s.ReportAs("mode", p.Object, path+".csi.driver", v.CSI.Driver).OneCause(v.CSI.Driver)
				}
			}
		}
	},
}

func driverRef(name string) result.Ref {
	return result.Ref{Group: storagev1.GroupName, Kind: "CSIDriver", Name: name}
}

// modesOf are how a driver's volumes may be used, if its CSIDriver is known.
func modesOf(s *judge.Scope, driver string) (modes []storagev1.VolumeLifecycleMode, known bool) {
	if s.Live != nil {
		d, ok := s.Live.CSIDrivers[driver]
		return d.VolumeLifecycleModes, ok
	}
	if o := s.Find(judge.KindsOf(storagev1.GroupName, "CSIDriver")[0], "", driver); o != nil && !s.More() {
		if d := facts.As[storagev1.CSIDriver](s.Index, o); d != nil {
			return d.Spec.VolumeLifecycleModes, true
		}
	}
	return nil, false
}

// driverMissing reports a driver, unless something else installs it.
func driverMissing(s *judge.Scope, p facts.PodTemplate, message, path, driver, what string) {
	how := ""
	if by := facts.ProviderOfDriver(driver); by != "" {
		how = "is a part of " + by
	} else if m := s.MadeAtRunTime("CSIDriver", "", driver, p.Object.Ref()); m != nil {
		how = "is installed at run time by " + m.By
	}
	if how != "" {
		s.Unverified(p.Object, "CSI driver "+driver, how, "does not start", "do not start")
		return
	}
	s.ReportAs(message, p.Object, path, driver, what).SetBy(driver).OneCause(driver)
}

// migratedTo is the type of a volume that Kubernetes once mounted itself, and the CSI driver that does it in its place;
// empty for any other.
func migratedTo(v *corev1.VolumeSource) (what, driver string) {
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
