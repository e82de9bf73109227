package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var csiDrivers = judge.KindsOf(storagev1.GroupName, "CSIDriver")

const noPluginSays = "has no plugin: no pod of the recipe registers the driver with the nodes' kubelets (plugins_registry)"

var driverWithoutPlugin = judge.Check{
	ID: "MX318", Name: "csi-driver-without-plugin", Needs: judge.Rendered, Kinds: csiDrivers, Gives: reason.WorkloadFailed,
	Title: "A CSI driver that the recipe installs has a plugin on the nodes",
	Why: "A kubelet asks the driver's plugin on its node to mount each volume (https://kubernetes.io/docs/concepts/storage/volumes/#csi); a simulated one mounts nothing. " +
		"A warning where nothing has a volume of it. A driver of managed Kubernetes is left out.",
	Fix:  "Add the driver's DaemonSet, or leave the CSIDriver out.",
	Says: noPluginSays + ", and %s has a volume of it", Then: "a kubelet mounts none of its volumes",
	Others: map[string]judge.Message{
		"unused": {Says: noPluginSays, Then: "a kubelet mounts none of its volumes"},
		"may be": {Says: "needs a plugin on each node, and whether %s is or makes it is not known", Then: "without it a kubelet mounts none of its volumes"},
	},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(csiDrivers...) {
			driver := o.Object.GetName()
			who, sure := s.PluginOf(driver, o.Release)
			if sure || facts.ProviderOfDriver(driver) != "" {
				continue
			}
			user := mountsOf(s, driver)
			switch {
			case who != nil:
				s.ReportAs("may be", o, "metadata.name", who.Ref()).Note()
			case user != "":
				s.Report(o, "metadata.name", user).OneCause(driver)
			default:
				s.ReportAs("unused", o, "metadata.name").OneCause(driver).Warning()
			}
		}
	},
}

// mountsOf names what has a volume of a CSI driver; empty if nothing does.
func mountsOf(s *judge.Scope, driver string) string {
	for _, o := range s.Rendered(judge.KindsOf("", "PersistentVolume")...) {
		if of, _, _ := unstructured.NestedString(o.Object.Object, "spec", "csi", "driver"); of == driver {
			return o.Ref().String()
		}
	}
	classes := map[string]bool{}
	for _, o := range s.Rendered(storageClasses...) {
		classes[o.Object.GetName()] = facts.Text(o.Object, "provisioner") == driver
	}
	for _, c := range facts.ClaimsOf(s.Expectation) {
		if class := c.Spec.StorageClassName; class != nil && classes[*class] {
			return c.From.String()
		}
	}
	for _, p := range s.Pods() {
		for _, v := range facts.MountedVolumes(&p.Template.Spec) {
			if _, migrated := migratedTo(&v.VolumeSource); migrated == driver || v.CSI != nil && v.CSI.Driver == driver {
				return p.Object.Ref().String()
			}
		}
	}
	return ""
}
