package why

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/nvidia/aicr-action/internal/observe"
)

// The rules here follow the scheduler's plugins PodTopologySpread and InterPodAffinity, which
// cannot be imported: k8s.io/kubernetes needs replace directives.
// https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/ and
// https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity

// spread checks that no domain would have more than maxSkew pods more than the emptiest one.
func (l *check) spread(n *corev1.Node) []Refusal {
	var all []Refusal
	for i := range l.pod.Spec.TopologySpreadConstraints {
		c := &l.pod.Spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		selector := l.spreadSelector(c)
		here, ok := n.Labels[c.TopologyKey]
		if !ok {
			all = append(all, Refusal{Kind: refusalSpread, Key: c.TopologyKey, Text: "topology spread: no label " + c.TopologyKey})
			continue
		}
		counted := remember(&l.memo.spread, i, func() spreadCount { return l.countSpread(c, selector) })
		count, least, few := counted.count, counted.least, ""
		if c.MinDomains != nil && len(count) < int(*c.MinDomains) {
			least, few = 0, fmt.Sprintf("; of at least %d domains (minDomains) there are %d, so the emptiest counts as 0", *c.MinDomains, len(count))
		}
		least = max(least, 0)
		self := 0
		if selector.Matches(labels.Set(l.pod.Labels)) {
			self = 1
		}
		if skew := count[here] + self - least; skew > int(c.MaxSkew) {
			text := fmt.Sprintf("topology spread by %s: %s would have %d pods where the emptiest has %d; maxSkew is %d%s", c.TopologyKey, here, count[here]+self, least, c.MaxSkew, few)
			all = append(all, Refusal{Kind: refusalSpread, Key: c.TopologyKey, Wanted: text, Text: text})
		}
	}
	return all
}

// countSpread counts the pods by domain, which is the same for every node.
func (l *check) countSpread(c *corev1.TopologySpreadConstraint, selector labels.Selector) spreadCount {
	count := map[string]int{}
	for i := range l.view.Nodes {
		n := &l.view.Nodes[i]
		domain, ok := n.Labels[c.TopologyKey]
		if !ok || !l.countsForSpread(c, n) {
			continue
		}
		count[domain] += 0
		for _, p := range l.podsOn(n.Name) {
			if p.Namespace == l.pod.Namespace && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
				count[domain]++
			}
		}
	}
	least := -1
	for _, k := range count {
		if least < 0 || k < least {
			least = k
		}
	}
	return spreadCount{count, least}
}

func (l *check) spreadSelector(c *corev1.TopologySpreadConstraint) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil {
		return labels.Nothing()
	}
	for _, key := range c.MatchLabelKeys {
		if value, ok := l.pod.Labels[key]; ok {
			more, _ := labels.SelectorFromSet(labels.Set{key: value}).Requirements()
			selector = selector.Add(more...)
		}
	}
	return selector
}

// countsForSpread reports whether a node's domain counts. By default, nodes that the pod's selector
// and affinity exclude do not count, and tainted ones do.
func (l *check) countsForSpread(c *corev1.TopologySpreadConstraint, n *corev1.Node) bool {
	for i := range l.pod.Spec.TopologySpreadConstraints {
		other := &l.pod.Spec.TopologySpreadConstraints[i]
		if _, ok := n.Labels[other.TopologyKey]; !ok && other.WhenUnsatisfiable == corev1.DoNotSchedule {
			return false
		}
	}
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		if l.pin != "" && n.Name != l.pin {
			return false
		}
		if ok, err := nodeaffinity.GetRequiredNodeAffinity(l.pod).Match(n); err != nil || !ok {
			return false
		}
	}
	return c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyIgnore || len(observe.Untolerated(l.pod.Spec.Tolerations, n)) == 0
}

// podAffinity checks the pod's own affinity and anti-affinity, and the anti-affinity of existing
// pods against it.
func (l *check) podAffinity(n *corev1.Node) []Refusal {
	var all []Refusal
	if a := l.pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		terms := a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		// The first pod of a group with affinity to itself has no pod to join. The scheduler admits
		// it if it matches its own terms.
		matchesAll := func(p *corev1.Pod) bool {
			return !slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return !l.termMatches(&t, l.pod.Namespace, p) })
		}
		anyPod := l.anyPod(matchesAll)
		for i := range terms {
			t := &terms[i]
			where, labelled := n.Labels[t.TopologyKey]
			switch {
			case !labelled:
				all = append(all, Refusal{Kind: refusalPodAffinity, Key: t.TopologyKey, Text: "pod affinity: no label " + t.TopologyKey})
			case !anyPod && matchesAll(l.pod):
			case l.inDomain(domainQuestion{allTerms, t.TopologyKey, where}, matchesAll) == nil:
				text := fmt.Sprintf("pod affinity: no pod with %s in the same %s", metav1.FormatLabelSelector(t.LabelSelector), t.TopologyKey)
				all = append(all, Refusal{Kind: refusalPodAffinity, Key: t.TopologyKey, Wanted: text, Text: text})
			}
		}
	}
	for i, t := range antiAffinity(l.pod) {
		if where, ok := n.Labels[t.TopologyKey]; ok {
			if p := l.inDomain(domainQuestion{i, t.TopologyKey, where}, func(p *corev1.Pod) bool { return l.termMatches(&t, l.pod.Namespace, p) }); p != nil {
				wanted := "no pod with " + metav1.FormatLabelSelector(t.LabelSelector) + " in the same " + t.TopologyKey
				text := fmt.Sprintf("pod anti-affinity: wants %s; %s is there", wanted, observe.PodName(p))
				all = append(all, Refusal{Kind: refusalAntiAffinity, Key: t.TopologyKey, Wanted: wanted, Text: text})
			}
		}
	}
	for _, r := range l.keptOut(n) { // replicas with anti-affinity rule each other out; once is enough
		if !slices.ContainsFunc(all, func(own Refusal) bool { return own.Kind == refusalAntiAffinity && own.Key == r.Key }) {
			all = append(all, r)
		}
	}
	return all
}

func antiAffinity(p *corev1.Pod) []corev1.PodAffinityTerm {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// keptOut checks the anti-affinity of existing pods, which also holds against a new one.
func (l *check) keptOut(n *corev1.Node) []Refusal {
	var first *repeller
	for key, byValue := range l.index.repelling() {
		where, ok := n.Labels[key]
		if !ok {
			continue
		}
		r := remember(&l.memo.repelled, domainQuestion{allTerms, key, where}, func() *repeller { return l.firstAgainst(byValue[where]) })
		if r != nil && (first == nil || r.order < first.order) {
			first = r
		}
	}
	if first == nil {
		return nil
	}
	key := first.term.TopologyKey
	text := fmt.Sprintf("the anti-affinity of %s keeps it out of the same %s", observe.PodName(first.pod), key)
	return []Refusal{{Kind: refusalAffinityOfPods, Key: key, Wanted: key, Text: text}}
}

// firstAgainst returns the first of the terms that applies to the pod, or nil.
func (l *check) firstAgainst(all []repeller) *repeller {
	for i := range all {
		if r := &all[i]; !samePod(r.pod, l.pod) && l.termMatches(r.term, r.pod.Namespace, l.pod) {
			return r
		}
	}
	return nil
}

// anyPod reports whether match holds for a pod on any node.
func (l *check) anyPod(match func(*corev1.Pod) bool) bool {
	if l.memo.anyPod == nil {
		is := false
		for node := range l.index.podsOn {
			is = is || slices.ContainsFunc(l.podsOn(node), match)
		}
		l.memo.anyPod = &is
	}
	return *l.memo.anyPod
}

// inDomain returns a pod of the domain for which match holds, or nil. match must belong to the
// question's term.
func (l *check) inDomain(q domainQuestion, match func(*corev1.Pod) bool) *corev1.Pod {
	return remember(&l.memo.inDomain, q, func() *corev1.Pod {
		for _, n := range l.index.domain(q.key, q.value) {
			for _, p := range l.podsOn(n.Name) {
				if match(p) {
					return p
				}
			}
		}
		return nil
	})
}

// termMatches reports whether a term of a pod in namespace own matches p. A term without namespaces
// is about own.
func (l *check) termMatches(t *corev1.PodAffinityTerm, own string, p *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil || !selector.Matches(labels.Set(p.Labels)) {
		return false
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return p.Namespace == own
	}
	if slices.Contains(t.Namespaces, p.Namespace) {
		return true
	}
	spaces, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector) // nil selects nothing
	if err != nil {
		return false
	}
	for i := range l.view.Namespaces {
		if ns := &l.view.Namespaces[i]; ns.Name == p.Namespace {
			return spaces.Matches(labels.Set(ns.Labels))
		}
	}
	return spaces.Empty()
}
