package why

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
)

// worldIndex is a world by node and by topology domain, made once for all pods that are looked at,
// so that no question about one node goes through all the others. It is for one goroutine: what few
// need is made when it is first asked for.
type worldIndex struct {
	world  *World
	podsOn map[string][]*corev1.Pod        // those that run or will, by node
	nodeOf map[types.NamespacedName]string // the node of each of these
	// domains has the nodes of each value of a topology key; repellers the anti-affinity terms of
	// pods there. Both in the world's order.
	domains   map[string]map[string][]*corev1.Node
	repellers map[string]map[string][]repeller
}

// repeller is one anti-affinity term of a pod that has a node. order is its place among all.
type repeller struct {
	order int
	pod   *corev1.Pod
	term  *corev1.PodAffinityTerm
}

func indexWorld(world *World) *worldIndex {
	x := &worldIndex{world: world, podsOn: map[string][]*corev1.Pod{}, nodeOf: map[types.NamespacedName]string{}, domains: map[string]map[string][]*corev1.Node{}}
	for i := range world.Pods {
		p := &world.Pods[i]
		if p.Spec.NodeName == "" || infra.PodEnded(p) {
			continue
		}
		x.podsOn[p.Spec.NodeName] = append(x.podsOn[p.Spec.NodeName], p)
		x.nodeOf[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p.Spec.NodeName
	}
	return x
}

// look is a look at one pod. The pod must not be changed afterwards: what was found out about it is
// kept.
func (x *worldIndex) look(pod *corev1.Pod) *check { return &check{pod: pod, world: x.world, index: x} }

// domain is the nodes whose label key has the value.
func (x *worldIndex) domain(key, value string) []*corev1.Node {
	byValue, ok := x.domains[key]
	if !ok {
		byValue = map[string][]*corev1.Node{}
		for i := range x.world.Nodes {
			n := &x.world.Nodes[i]
			if have, ok := n.Labels[key]; ok {
				byValue[have] = append(byValue[have], n)
			}
		}
		x.domains[key] = byValue
	}
	return byValue[value]
}

// repelling is the anti-affinity terms of the world's pods by topology key and the value that their
// nodes have there.
func (x *worldIndex) repelling() map[string]map[string][]repeller {
	if x.repellers != nil {
		return x.repellers
	}
	x.repellers = map[string]map[string][]repeller{}
	order := 0
	for i := range x.world.Nodes {
		n := &x.world.Nodes[i]
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

// podsOn are the pods on a node without the one that is looked at.
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

// lookMemo is what was found out about the pod of a look and holds for every node, or for every
// node of a domain.
type lookMemo struct {
	spread   map[int]spreadCount // by topology spread constraint
	anybody  *bool               // whether any pod matches the pod's affinity
	inDomain map[domainQuestion]*corev1.Pod
	repelled map[domainQuestion]*repeller
}

// domainQuestion is one of the pod's terms, or a constant of this file, about a topology domain.
type domainQuestion struct {
	term       int
	key, value string
}

// allTerms is the question about all terms of the pod's affinity at once.
const allTerms = -1

// spreadCount is the pods in each domain of a topology spread constraint, and the number in the
// emptiest; -1 without a domain.
type spreadCount struct {
	count map[string]int
	least int
}

// remember gives the answer to a question, which ask finds the first time.
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
