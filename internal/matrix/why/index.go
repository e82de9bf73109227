package why

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
)

// viewIndex is a view by node and by topology domain, built once for all examined pods, so that a
// question about one node need not go through all others. It is for one goroutine. Rarely needed
// parts are built at first use.
type viewIndex struct {
	view   *observe.View
	podsOn map[string][]*corev1.Pod        // those that run or will, by node
	nodeOf map[types.NamespacedName]string // the node of each of these
	// domains has the nodes of each value of a topology key; repellers has the anti-affinity terms
	// of pods there. Both are in the view's order.
	domains   map[string]map[string][]*corev1.Node
	repellers map[string]map[string][]repeller
}

// repeller is one anti-affinity term of a pod that has a node. order is its place among all.
type repeller struct {
	order int
	pod   *corev1.Pod
	term  *corev1.PodAffinityTerm
}

func indexView(view *observe.View) *viewIndex {
	x := &viewIndex{view: view, podsOn: map[string][]*corev1.Pod{}, nodeOf: map[types.NamespacedName]string{}, domains: map[string]map[string][]*corev1.Node{}}
	for i := range view.Pods {
		p := &view.Pods[i]
		if p.Spec.NodeName == "" || infra.PodEnded(p) {
			continue
		}
		x.podsOn[p.Spec.NodeName] = append(x.podsOn[p.Spec.NodeName], p)
		x.nodeOf[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p.Spec.NodeName
	}
	return x
}

// newCheck starts checking one pod. The pod must not be changed afterwards: results about it are
// cached.
func (x *viewIndex) newCheck(pod *corev1.Pod) *check {
	return &check{pod: pod, view: x.view, index: x}
}

// domain returns the nodes whose label key has the value.
func (x *viewIndex) domain(key, value string) []*corev1.Node {
	byValue, ok := x.domains[key]
	if !ok {
		byValue = map[string][]*corev1.Node{}
		for i := range x.view.Nodes {
			n := &x.view.Nodes[i]
			if have, ok := n.Labels[key]; ok {
				byValue[have] = append(byValue[have], n)
			}
		}
		x.domains[key] = byValue
	}
	return byValue[value]
}

// repelling returns the anti-affinity terms of the view's pods, by topology key and its value on
// their nodes.
func (x *viewIndex) repelling() map[string]map[string][]repeller {
	if x.repellers != nil {
		return x.repellers
	}
	x.repellers = map[string]map[string][]repeller{}
	order := 0
	for i := range x.view.Nodes {
		n := &x.view.Nodes[i]
		for _, p := range x.podsOn[n.Name] {
			terms := antiAffinity(p)
			for j := range terms {
				key := terms[j].TopologyKey
				if x.repellers[key] == nil {
					x.repellers[key] = map[string][]repeller{}
				}
				value := n.Labels[key]
				x.repellers[key][value] = append(x.repellers[key][value], repeller{order, p, &terms[j]})
				order++
			}
		}
	}
	return x.repellers
}

// podsOn returns the pods on a node without the checked one.
func (l *check) podsOn(node string) []*corev1.Pod {
	pods := l.index.podsOn[node]
	if l.index.nodeOf[types.NamespacedName{Namespace: l.pod.Namespace, Name: l.pod.Name}] != node {
		return pods
	}
	var others []*corev1.Pod
	for _, p := range pods {
		if !samePod(p, l.pod) {
			others = append(others, p)
		}
	}
	return others
}

// checkMemo caches what holds for every node, or for every node of a domain.
type checkMemo struct {
	claims   *claimChecker       // nil before the first node
	spread   map[int]spreadCount // by topology spread constraint
	anyPod   *bool               // whether any pod matches the pod's affinity
	inDomain map[domainQuestion]*corev1.Pod
	repelled map[domainQuestion]*repeller
}

// domainQuestion asks about one of the pod's terms, or a constant of this file, in a topology
// domain.
type domainQuestion struct {
	term       int
	key, value string
}

// allTerms asks about all terms of the pod's affinity at once.
const allTerms = -1

// spreadCount is the pods in each domain of a topology spread constraint, and the number in the
// emptiest one; -1 without a domain.
type spreadCount struct {
	count map[string]int
	least int
}

// remember returns the cached answer to a question, which ask finds the first time.
func remember[K comparable, V any](answers *map[K]V, question K, ask func() V) V {
	if answer, ok := (*answers)[question]; ok {
		return answer
	}
	if *answers == nil {
		*answers = map[K]V{}
	}
	answer := ask()
	(*answers)[question] = answer
	return answer
}
