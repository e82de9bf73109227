package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// volumes checks the pod's claims: a missing or unbound one rules out every node, a bound one those
// that its volume cannot reach.
func (l *check) volumes(n *corev1.Node) []Refusal {
	storage := &l.view.Volumes
	if !storage.Read {
		return nil
	}
	var all []Refusal
	add := func(claim, format string, args ...any) {
		text := "claim " + claim + " " + fmt.Sprintf(format, args...)
		all = append(all, Refusal{Kind: refusalVolume, Key: claim, Wanted: text, Text: text})
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
		c := storage.Claim(l.pod.Namespace, name)
		switch {
		case c == nil:
			add(name, "does not exist")
		case c.DeletionTimestamp != nil:
			add(name, "is being deleted")
		case c.Status.Phase == corev1.ClaimLost:
			add(name, "has lost its volume %s", c.Spec.VolumeName)
		case c.Spec.VolumeName != "" && c.Status.Phase == corev1.ClaimPending && c.Annotations["pv.kubernetes.io/bind-completed"] == "":
			add(name, "is not bound yet to the volume that it names, %s", c.Spec.VolumeName)
		case c.Spec.VolumeName == "" && storage.LacksClass(c) && unfit(storage.Volumes, c) != "":
			add(name, "is not bound: %s", unfit(storage.Volumes, c))
		case c.Spec.VolumeName == "" && storage.LacksClass(c):
			add(name, "is not bound: its storage class %q does not exist%s; deliver it, or run with --with PATH if the cluster has it", volume.GetPersistentVolumeClaimClass(c), classesThere(storage.Classes))
			all[len(all)-1].class = volume.GetPersistentVolumeClaimClass(c)
		case c.Spec.VolumeName == "" && storage.BindsLate(c):
			if text := unprovided(storage, c, n); text != "" {
				add(name, "is not bound: %s", text)
			}
		case c.Spec.VolumeName == "" && c.Spec.StorageClassName == nil && volume.GetPersistentVolumeClaimClass(c) == "":
			add(name, "is not bound: it names no StorageClass, and the cluster has no default one%s", classesThere(storage.Classes))
		case c.Spec.VolumeName == "":
			add(name, "is not bound (storage class %q)", volume.GetPersistentVolumeClaimClass(c))
		default:
			pv := storage.Volume(c.Spec.VolumeName)
			if pv == nil {
				add(name, "is bound to volume %s, which does not exist", c.Spec.VolumeName)
			} else if err := volume.CheckNodeAffinity(pv, n.Labels); err != nil {
				add(name, "has volume %s, which is for nodes with %s", pv.Name, selectorText(pv.Spec.NodeAffinity.Required))
			} else if label := outOfZone(pv, n); label != "" {
				add(name, "has volume %s, which has the label %s=%s", pv.Name, label, pv.Labels[label])
			} else if by := l.holder(c); by != "" {
				add(name, "is ReadWriteOncePod, and pod %s has it", by)
			}
		}
	}
	return all
}

// classesThere says which classes a claim may name.
func classesThere(classes []storagev1.StorageClass) string {
	var names []string
	for i := range classes {
		names = append(names, classes[i].Name)
	}
	if len(names) == 0 {
		return ""
	}
	return ": name one, there is " + strings.Join(lists.AtMost(names, 5), ", ")
}

// outOfZone is the label by which a volume is for another zone or region than a node's; empty if there is none. A node
// without such labels is in all of them, and of a label's older name the newer one counts too.
func outOfZone(pv *corev1.PersistentVolume, n *corev1.Node) string {
	newer := map[string]string{corev1.LabelFailureDomainBetaZone: corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion}
	labels := []string{corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone, corev1.LabelTopologyRegion}
	if !slices.ContainsFunc(labels, func(l string) bool { _, ok := n.Labels[l]; return ok }) {
		return ""
	}
	for _, l := range labels {
		zones, ok := pv.Labels[l]
		if !ok {
			continue
		}
		have, ok := n.Labels[l]
		if !ok {
			have, ok = n.Labels[cmp.Or(newer[l], l)]
		}
		if !ok || !slices.Contains(strings.Split(zones, "__"), have) {
			return l
		}
	}
	return ""
}

// unprovided says why a claim that is bound once its pod is placed gets no volume on a node: neither one that exists, as the
// scheduler's own library finds it, nor a new one.
func unprovided(storage *observe.Volumes, c *corev1.PersistentVolumeClaim, n *corev1.Node) string {
	var volumes []*corev1.PersistentVolume
	for i := range storage.Volumes {
		volumes = append(volumes, &storage.Volumes[i])
	}
	if pv, err := volume.FindMatchingVolume(c, volumes, n, nil, true, true); err == nil && pv != nil {
		return ""
	}
	class := storage.Class(c)
	if class.Provisioner == volume.NotSupportedProvisioner {
		return cmp.Or(unfit(storage.Volumes, c), fmt.Sprintf("its storage class %q provisions nothing, and has no volume for this node", class.Name))
	}
	if terms := class.AllowedTopologies; len(terms) > 0 && !slices.ContainsFunc(terms, func(t corev1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(t.MatchLabelExpressions, func(m corev1.TopologySelectorLabelRequirement) bool {
			of, err := labels.NewRequirement(m.Key, selection.In, m.Values) // of values that no label has, none matches
			return err != nil || !of.Matches(labels.Set(n.Labels))
		})
	}) {
		return fmt.Sprintf("its storage class %q makes no volumes for this node (allowedTopologies)", class.Name)
	}
	return ""
}

// unfit says why a claim gets none of the volumes of its class, which then need not exist; empty if
// there is no such volume, or one that fits by what is looked at.
func unfit(volumes []corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) string {
	var all []string
	for i := range volumes {
		pv := &volumes[i]
		wanted, has := c.Spec.Resources.Requests[corev1.ResourceStorage], pv.Spec.Capacity[corev1.ResourceStorage]
		ref := pv.Spec.ClaimRef
		switch {
		case pv.Spec.StorageClassName != volume.GetPersistentVolumeClaimClass(c):
		case ref != nil && (ref.Namespace != c.Namespace || ref.Name != c.Name):
			all = append(all, fmt.Sprintf("volume %s is for claim %s/%s", pv.Name, ref.Namespace, ref.Name))
		case has.Cmp(wanted) < 0:
			all = append(all, fmt.Sprintf("it asks for %s, and volume %s has %s", wanted.String(), pv.Name, has.String()))
		case slices.ContainsFunc(c.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(pv.Spec.AccessModes, m) }):
			all = append(all, fmt.Sprintf("it wants %v, and volume %s has %v", c.Spec.AccessModes, pv.Name, pv.Spec.AccessModes))
		default:
			return ""
		}
	}
	return strings.Join(lists.AtMost(all, 3), "; ")
}

// holder is the pod on a node that has a claim which only one pod may have; empty if none has it.
func (l *check) holder(c *corev1.PersistentVolumeClaim) string {
	if !slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOncePod) {
		return ""
	}
	for i := range l.view.Pods {
		p := &l.view.Pods[i]
		if p.Namespace == c.Namespace && p.Spec.NodeName != "" && p.Name != l.pod.Name && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed &&
			slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
				return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == c.Name
			}) {
			return observe.PodName(p)
		}
	}
	return ""
}

// claims checks the pod's resource claims against the devices that DRA drivers publish of a node.
func (l *check) claims(n *corev1.Node) []Refusal {
	if len(l.pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	if l.memo.claims == nil {
		l.memo.claims = newClaimChecker(&l.view.Devices, l.pod)
	}
	var all []Refusal
	for _, r := range l.memo.claims.Refusals(n) {
		all = append(all, Refusal{Kind: refusalClaim, Key: r.Claim, Wanted: r.Text, Text: r.Text})
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
