package refs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// nodeName checks a workload that chooses a node by its name. No scheduler looks at its pods, so
// that nothing has compared them with the node; and the names of a provider's nodes come with them.
func (c *checker) nodeName(w *bundle.Workload) {
	name := w.PodSpec.NodeName
	if name == "" {
		return
	}
	c.fail(reason.SchedulingFailed, refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template,
		name: name, cause: "nodeName " + name, then: "a provider's nodes get their names when they are made, and no scheduler looks at a pod with spec.nodeName: use a nodeSelector",
		text: fmt.Sprintf("is for the node %s by name (spec.nodeName), which only a simulated cluster can have", name)})
}

// sharedDisks checks claims that pods on several nodes use, and that one node alone may attach
// (ReadWriteOnce). The scheduler does not look at it, and no simulated kubelet attaches a volume. It
// fails for disks; of a driver that is not known it warns, since files can be mounted anywhere.
func (c *checker) sharedDisks() {
	users, nodes := map[string][]*bundle.Workload{}, map[string]map[string]bool{}
	for i := range c.expectation.Workloads {
		w := &c.expectation.Workloads[i]
		for _, v := range w.PodSpec.Volumes {
			if v.PersistentVolumeClaim == nil {
				continue
			}
			claim := infra.NamespacedName(w.Namespace, v.PersistentVolumeClaim.ClaimName)
			if nodes[claim] == nil {
				nodes[claim] = map[string]bool{}
			}
			users[claim] = append(users[claim], w)
			for _, p := range c.podsOf(w) {
				if p.Spec.NodeName != "" && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
					nodes[claim][p.Spec.NodeName] = true
				}
			}
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(users)) {
		spec, known := c.have.ClaimSpecs[claim]
		once := len(spec.AccessModes) > 0 && !slices.ContainsFunc(spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return m != corev1.ReadWriteOnce })
		driver := c.have.Provisioners[deref(spec.StorageClassName)]
		if !known || !once || len(nodes[claim]) < 2 || mountsAnywhere(driver) {
			continue
		}
		w := users[claim][0]
		r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template,
			name: strings.TrimPrefix(claim, w.Namespace+"/"), cause: "shared claim " + claim, then: "a disk is attached to one node: the pods on the others wait for ever (Multi-Attach error)"}
		r.text = fmt.Sprintf("shares PersistentVolumeClaim %s, which is ReadWriteOnce, among pods on %d nodes", claim, len(nodes[claim]))
		if isDisk(driver) {
			c.fail(reason.WorkloadFailed, r)
			continue
		}
		r.then = "if " + driver + " attaches its volumes, the pods on the others wait for ever (Multi-Attach error)"
		c.warn(r)
	}
}

// podsOf lists the pods of a workload.
func (c *checker) podsOf(w *bundle.Workload) []*corev1.Pod {
	if w.Kind == "Pod" {
		if p := c.have.View.BarePod(w.Namespace, w.Name); p != nil {
			return []*corev1.Pod{p}
		}
		return nil
	}
	return c.have.View.PodsOf[c.have.View.Live[observe.WorkloadKey(w.Kind, w.Namespace, w.Name)].UID]
}

// isDisk reports whether the volumes of a provisioner are disks. The simulated one stands for the
// providers' own classes, which make disks.
func isDisk(provisioner string) bool {
	return slices.ContainsFunc([]string{simulate.Provisioner, "ebs", "pd.csi.storage.gke.io", "gce-pd", "disk", "blockvolume", "linodebs", "rbd", "longhorn", "cinder"}, func(part string) bool { return strings.Contains(provisioner, part) })
}

// mountsAnywhere reports whether the volumes of a provisioner are files, which several nodes can
// mount whatever the claim says.
func mountsAnywhere(provisioner string) bool {
	return slices.ContainsFunc([]string{"nfs", "efs", "file", "cephfs", "lustre", "smb"}, func(part string) bool { return strings.Contains(provisioner, part) })
}
