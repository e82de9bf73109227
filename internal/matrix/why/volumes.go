package why

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"

	"github.com/nvidia/aicr-action/internal/observe/claims"
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
		c := storage.Claim(l.pod.Namespace, name)
		switch {
		case c == nil:
			add(name, "does not exist")
		case c.DeletionTimestamp != nil:
			add(name, "is being deleted")
		case c.Status.Phase == corev1.ClaimLost:
			add(name, "has lost its volume %s", c.Spec.VolumeName)
		case c.Spec.VolumeName == "" && storage.LacksClass(c):
			add(name, "is not bound: its storage class %q does not exist", volume.GetPersistentVolumeClaimClass(c))
		case c.Spec.VolumeName == "" && storage.BindsLate(c):
		case c.Spec.VolumeName == "":
			add(name, "is not bound (storage class %q)", volume.GetPersistentVolumeClaimClass(c))
		default:
			pv := storage.Volume(c.Spec.VolumeName)
			if pv == nil {
				add(name, "is bound to volume %s, which does not exist", c.Spec.VolumeName)
			} else if err := volume.CheckNodeAffinity(pv, n.Labels); err != nil {
				add(name, "has volume %s, which is for nodes with %s", pv.Name, selectorText(pv.Spec.NodeAffinity.Required))
			}
		}
	}
	return all
}

// claims checks the pod's resource claims against the devices that DRA drivers publish of a node.
func (l *check) claims(n *corev1.Node) []Refusal {
	if len(l.pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	if l.memo.claims == nil {
		l.memo.claims = claims.New(&l.view.Devices, l.pod)
	}
	var all []Refusal
	for _, r := range l.memo.claims.Refusals(n) {
		all = append(all, Refusal{Kind: RefusalClaim, Key: r.Claim, Wanted: r.Text, Text: r.Text})
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
