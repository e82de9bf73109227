package refs

// volumenames.go checks the claims of a bundle that name a volume (spec.volumeName) which the bundle does not have.
// A new cluster has none; after an upgrade there may be some that the old bundle made. Kubernetes binds a volume to one
// claim. The package must not read clusters, or know what creates objects at run time. Volumes of the bundle are MX351's.

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
)

// volumeNameProblem is a claim that waits for its volume for ever.
type volumeNameProblem struct {
	From                result.Ref
	Component, Template string
	Volume              string
	// Missing means that neither the bundle nor the cluster has such a volume. Text says what is wrong, as the end of a
	// sentence.
	Missing bool
	Text    string
}

type finder struct {
	volumes map[string]*corev1.PersistentVolume
	kept    map[string]*corev1.PersistentVolume // those of the cluster
	taken   map[string]string                   // the volumes of the claims so far, with the first claim of each
	found   []volumeNameProblem
}

// findVolumeName returns the claims that wait for ever, in the order of the bundle. kept are the volumes of the
// cluster, of which those count that the bundle does not have; nil before there is one.
func findVolumeName(e *bundle.Expectation, kept map[string]*corev1.PersistentVolume) []volumeNameProblem {
	f := &finder{volumes: map[string]*corev1.PersistentVolume{}, kept: kept, taken: map[string]string{}}
	for i := range e.Objects {
		var v corev1.PersistentVolume
		if o := &e.Objects[i]; o.Object.GetKind() == "PersistentVolume" && o.Object.GroupVersionKind().Group == "" && problem.Read(o, &v) {
			f.volumes[v.Name] = &v
		}
	}
	all := facts.ClaimsOf(e)
	for i := range all {
		c := &all[i]
		f.check(volumeNameProblem{From: c.From, Component: c.Component, Template: c.Template}, c.Namespace, c.First, c.Spec, c.Times)
	}
	return f.found
}

// check checks one claim; without a name for one whose name is not known yet. times is how often
// there will be one like it.
func (f *finder) check(p volumeNameProblem, namespace, claim string, spec *corev1.PersistentVolumeClaimSpec, times int) {
	p.Volume = spec.VolumeName
	if p.Volume == "" {
		return
	}
	first := f.taken[p.Volume]
	if first == "" {
		f.taken[p.Volume] = p.From.String()
	}
	if f.volumes[p.Volume] != nil {
		return
	}
	v := f.kept[p.Volume]
	switch {
	case v == nil:
		p.Missing, p.Text = true, "which does not exist, and nothing in the recipe makes it"
	case first != "":
		p.Text = "and so does " + first + ": a volume is for one claim"
	case times > 1:
		p.Text = fmt.Sprintf("and so does each of its %d claims: a volume is for one claim", times)
	case v.Status.Phase == corev1.VolumeReleased:
		p.Text = "which is from before, and was for a claim that has been deleted (its status is Released): Kubernetes gives it to no other claim until its spec.claimRef is removed"
	default:
		p.Text = facts.Unfit(v, namespace, claim, spec, true)
	}
	if p.Text != "" {
		f.found = append(f.found, p)
	}
}
