package why

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/observe"
)

// FitsWithout reports whether a node would admit a pod if other pods were gone.
func FitsWithout(pod *corev1.Pod, gone []*corev1.Pod, view *observe.View) bool {
	less := *view
	less.Pods = slices.DeleteFunc(slices.Clone(view.Pods), func(p corev1.Pod) bool {
		return slices.ContainsFunc(gone, func(g *corev1.Pod) bool { return g.UID == p.UID && g.Name == p.Name && g.Namespace == p.Namespace })
	})
	l := indexView(&less).newCheck(pod)
	return slices.ContainsFunc(groupNodes(&less, func(*corev1.Node) *check { return l }), func(g NodeGroup) bool { return len(g.Refusals) == 0 })
}
