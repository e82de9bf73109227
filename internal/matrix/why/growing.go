package why

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// furtherNode is the kind of a node that a group would have if one more was made.
const furtherNode = "further"

// further reports whether the group is such a node, and none of the cluster's.
func (g *NodeGroup) further() bool { return strings.HasPrefix(g.make, furtherNode+"\x00") }

// mostSaid is how much of what Karpenter says is quoted, in characters: it lists every label of every group.
const mostSaid = 600

// grows says what makes no node for a pod: Karpenter's own words, and the limit that alone is in the way.
func (e *Explanation) grows(pod *corev1.Pod, growth *observe.Growth) {
	if !growth.For(pod) {
		return
	}
	switch said := growth.Rejected(pod); {
	case said != "":
		e.Notes = append(e.Notes, "Karpenter makes no node for it: "+cutShort(said))
	case growth.Read && !growth.Ended:
		e.Notes = append(e.Notes, "Karpenter has not said that it makes no node for it, and none came")
	}
	if growth.Ended {
		e.Notes = append(e.Notes, "no node is made any more: Karpenter ended with the run that kept this cluster")
	}
	for i := range e.Groups {
		if g := &e.Groups[i]; len(g.Refusals) == 1 && g.Refusals[0].Kind == refusalMax {
			of := growth.Group(g.Nodes[0])
			e.Edits = slices.Insert(e.Edits, 0, fmt.Sprintf("raise the max of %d of group %s in %s", of.Max, of.Name, of.Origin))
		}
	}
}

// cutShort is what Karpenter says, cut short.
func cutShort(said string) string {
	if all := []rune(said); len(all) > mostSaid {
		return string(all[:mostSaid]) + " …"
	}
	return said
}

// noFurther says in short why no group makes a node, for a cause of one line; empty without groups.
func (e *Explanation) noFurther() string {
	var of []NodeGroup
	for i := range e.Groups {
		if e.Groups[i].further() {
			of = append(of, e.Groups[i])
		}
	}
	return strings.Join(groupTexts(of), ", ")
}

// exhausted is the refusal of a further node of a group that has as many as it may.
func (l *check) exhausted(n *corev1.Node) []Refusal {
	g := l.view.Growth.Group(n.Name)
	if g == nil || l.view.Growth.Made(g.Name) < g.Most {
		return nil
	}
	return []Refusal{{Kind: refusalMax, Wanted: fmt.Sprint(g.Max), Text: fmt.Sprintf("the group has its max of %s (%s)", lists.Count(g.Max, "node"), g.Origin)}}
}
