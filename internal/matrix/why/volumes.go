package why

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
)

// VolumeWorld is the storage that the scheduler looks at.
type VolumeWorld struct {
	// Read is false if volumes were not read; then there are no refusals about volumes.
	Read    bool
	Claims  []corev1.PersistentVolumeClaim
	Volumes []corev1.PersistentVolume
	Classes []storagev1.StorageClass
}

func (v *VolumeWorld) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	for i := range v.Claims {
		if v.Claims[i].Namespace == namespace && v.Claims[i].Name == name {
			return &v.Claims[i]
		}
	}
	return nil
}

func (v *VolumeWorld) volume(name string) *corev1.PersistentVolume {
	for i := range v.Volumes {
		if v.Volumes[i].Name == name {
			return &v.Volumes[i]
		}
	}
	return nil
}

// waits reports whether the class binds a claim only once a pod that uses it is placed, so that an
// unbound claim rules out no node.
func (v *VolumeWorld) waits(c *corev1.PersistentVolumeClaim) bool {
	name := volume.GetPersistentVolumeClaimClass(c)
	for i := range v.Classes {
		if v.Classes[i].Name == name {
			mode := v.Classes[i].VolumeBindingMode
			return mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer
		}
	}
	return false
}

// lacksClass reports whether the claim's class does not exist, so that nothing provisions a volume
// for it.
func (v *VolumeWorld) lacksClass(c *corev1.PersistentVolumeClaim) bool {
	name := volume.GetPersistentVolumeClaimClass(c)
	return name != "" && !slices.ContainsFunc(v.Classes, func(k storagev1.StorageClass) bool { return k.Name == name })
}

// volumes checks the pod's claims: a missing or unbound one rules out every node, a bound one those
// that its volume cannot reach.
func (l *check) volumes(n *corev1.Node) []Refusal {
	world := &l.world.Volumes
	if !world.Read {
		return nil
	}
	var all []Refusal
	add := func(claim, format string, args ...any) {
		text := "claim " + claim + " " + fmt.Sprintf(format, args...)
		all = append(all, Refusal{Kind: RefusalVolume, Key: claim, Wanted: text, Text: text})
	}
	for i := range l.pod.Spec.Volumes {
		v := &l.pod.Spec.Volumes[i]
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = ephemeral.VolumeClaimName(l.pod, v)
		default:
			continue
		}
		c := world.claim(l.pod.Namespace, name)
		switch {
		case c == nil:
			add(name, "does not exist")
		case c.DeletionTimestamp != nil:
			add(name, "is being deleted")
		case c.Status.Phase == corev1.ClaimLost:
			add(name, "has lost its volume %s", c.Spec.VolumeName)
		case c.Spec.VolumeName == "" && world.lacksClass(c):
			add(name, "is not bound: its storage class %q does not exist", volume.GetPersistentVolumeClaimClass(c))
		case c.Spec.VolumeName == "" && world.waits(c):
		case c.Spec.VolumeName == "":
			add(name, "is not bound (storage class %q)", volume.GetPersistentVolumeClaimClass(c))
		default:
			pv := world.volume(c.Spec.VolumeName)
			if pv == nil {
				add(name, "is bound to volume %s, which does not exist", c.Spec.VolumeName)
			} else if err := volume.CheckNodeAffinity(pv, n.Labels); err != nil {
				add(name, "has volume %s, which is for nodes with %s", pv.Name, selectorText(pv.Spec.NodeAffinity.Required))
			}
		}
	}
	return all
}

// selectorText returns a node selector for people.
func selectorText(s *corev1.NodeSelector) string {
	var terms []string
	for _, t := range s.NodeSelectorTerms {
		var parts []string
		for _, r := range append(append([]corev1.NodeSelectorRequirement(nil), t.MatchExpressions...), t.MatchFields...) {
			parts = append(parts, requirementText(r))
		}
		terms = append(terms, strings.Join(parts, " and "))
	}
	return strings.Join(terms, ", or ")
}
