package refs

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// volumes checks the volumes that a driver on the node has to mount, or that come from an object
// which is neither a Secret nor a ConfigMap. A kubelet starts no container of the pod before it has
// them.
func (c *checker) volumes(w *bundle.Workload) {
	r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template, then: "a kubelet waits for the volume for ever"}
	for i := range w.PodSpec.Volumes {
		v := &w.PodSpec.Volumes[i]
		if what, driver := kubeletMigrated(&v.VolumeSource); driver != "" {
			c.csiVolume(r, driver, "mounts a volume of type "+what+", which needs")
		}
		switch {
		case v.CSI != nil:
			c.csiVolume(r, v.CSI.Driver, "")
		case v.FlexVolume != nil:
			r.name, r.cause = v.FlexVolume.Driver, "flexVolume "+v.FlexVolume.Driver
			r.text = "mounts a flexVolume of driver " + v.FlexVolume.Driver + ", a program that nothing in the recipe installs on a node"
			c.fail(reason.WorkloadFailed, r)
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				c.trustBundle(r, s.ClusterTrustBundle)
			}
		}
	}
}

// csiVolume checks the driver of an inline volume, or of one that Kubernetes once mounted itself. A kubelet mounts an
// inline one only if the driver's CSIDriver has the mode Ephemeral
// (https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#csi-ephemeral-volumes).
func (c *checker) csiVolume(r refsReference, driver, migrated string) {
	r.name, r.cause = driver, "CSIDriver "+driver
	d, exists := c.have.CSIDrivers[driver]
	switch {
	case exists && migrated != "" || exists && slices.Contains(d.VolumeLifecycleModes, storagev1.VolumeLifecycleEphemeral):
		return
	case exists:
		r.text = "mounts an inline volume of CSI driver " + driver + ", whose CSIDriver does not allow them (spec.volumeLifecycleModes without Ephemeral)"
	default:
		if by := facts.ProviderOfDriver(driver); by != "" {
			c.unverified("CSI driver "+driver, "is a part of "+by, r.from, "does not start", "do not start")
			return
		}
		if m := c.maker("CSIDriver", "", driver, r.from); m != nil {
			c.unverified("CSI driver "+driver, "is installed at run time by "+m.By, r.from, "does not start", "do not start")
			return
		}
		r.text = cmp.Or(migrated, "mounts an inline volume of") + " CSI driver " + driver + ", which nothing in the recipe installs"
	}
	c.fail(reason.WorkloadFailed, r)
}

// trustBundle checks a projected ClusterTrustBundle.
func (c *checker) trustBundle(r refsReference, p *corev1.ClusterTrustBundleProjection) {
	if p == nil || p.Optional != nil && *p.Optional {
		return
	}
	what, found := "ClusterTrustBundle "+deref(p.Name), c.have.TrustBundles[deref(p.Name)] != nil
	if p.Name == nil {
		what = "a ClusterTrustBundle of signer " + deref(p.SignerName)
		for _, b := range c.have.TrustBundles {
			found = found || b.Spec.SignerName == deref(p.SignerName)
		}
	}
	if found {
		return
	}
	r.name, r.cause, r.text = deref(p.Name), what, fmt.Sprintf("mounts %s, which does not exist, and nothing in the recipe makes it", what)
	c.fail(reason.WorkloadFailed, r)
}

// source checks what a claim is filled from. A provisioner waits for it before it makes the volume.
func (c *checker) source(r refsReference, namespace string, spec *corev1.PersistentVolumeClaimSpec) {
	var group, kind, name string
	switch {
	case spec.DataSourceRef != nil:
		group, kind, name = deref(spec.DataSourceRef.APIGroup), spec.DataSourceRef.Kind, spec.DataSourceRef.Name
		if spec.DataSourceRef.Namespace != nil {
			namespace = *spec.DataSourceRef.Namespace
		}
	case spec.DataSource != nil:
		group, kind, name = deref(spec.DataSource.APIGroup), spec.DataSource.Kind, spec.DataSource.Name
	default:
		return
	}
	full := infra.NamespacedName(namespace, name)
	claim := group == "" && kind == "PersistentVolumeClaim"
	if claim && c.have.Claims[full] || !claim && observe.Makes(c.expectation, kind, namespace, name) {
		return
	}
	if m := c.maker(kind, namespace, name, r.from); m != nil {
		c.note("%s %s, which %s (%s) is filled from, is made at run time by %s", kind, full, r.from, r.component, m.By)
		return
	}
	r.name, r.cause, r.then = name, kind+" "+full, "no provisioner makes its volume"
	r.text = fmt.Sprintf("is filled from %s %s, which does not exist, and nothing in the recipe makes it", kind, full)
	c.fail(reason.SchedulingFailed, r)
}

// volumeNames checks the claims that name their volume. In a cluster, what an old bundle made and what is
// kept counts too.
func (c *checker) volumeNames() {
	var kept map[string]*corev1.PersistentVolume
	if c.have != nil {
		kept = c.have.Volumes
	}
	for _, p := range findVolumeName(c.expectation, kept) {
		r := refsReference{from: p.From, component: p.Component, template: p.Template, name: p.Volume, cause: "PersistentVolume " + p.Volume + " for " + p.From.String(),
			then: "the claim waits for ever, and so do the pods that use it", text: fmt.Sprintf("names PersistentVolume %s (spec.volumeName), %s", p.Volume, p.Text)}
		if m := c.maker("PersistentVolume", "", p.Volume, p.From); m != nil && p.Missing {
			c.note("PersistentVolume %s, which %s (%s) names, is made at run time by %s", p.Volume, p.From, p.Component, m.By)
			continue
		}
		c.fail(reason.SchedulingFailed, r)
	}
}
