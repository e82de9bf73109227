// Package why explains a pod that cannot be scheduled: every check that every node fails, the value
// in the recipe behind each, and a single edit that fixes it. It reads a view of a cluster. It must
// not change the cluster, decide a verdict, or depend on the scheduler's messages.
package why

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Explanation says why a pod has no node, or why it fits where it is: what rules out each group of
// nodes, which value and line set that, and the edit that fixes it.
type Explanation struct {
	// Pods are namespace/name: the examined pod first, then others in the same position. It is
	// empty for a template without a pod, such as a DaemonSet's that no node admits.
	Pods []string `json:"pods,omitempty"`
	// Workload is "KIND namespace/name" of the pod's topmost owner, Component the recipe's; both
	// are empty if unknown.
	Workload  string `json:"workload,omitempty"`
	Component string `json:"component,omitempty"`
	Phase     string `json:"phase,omitempty"`
	// On are the nodes where the pods are, in the pods' order; none if they have no node.
	On []string `json:"on,omitempty"`
	// Scheduler is the scheduler's own message, word for word, if there is one.
	Scheduler string `json:"scheduler,omitempty"`
	// Notes are about the pod as a whole: a scheduling gate, a scheduler that does not run here, a
	// reason that no group explains.
	Notes  []string    `json:"notes,omitempty"`
	Groups []NodeGroup `json:"groups"`
	// Sources are the value paths, files and lines behind the refusals of the nearest group, one
	// line each.
	Sources []string `json:"sources,omitempty"`
	// Edits are alternatives: each alone would make at least one node admit the pod. Empty if no
	// single edit does.
	Edits []string `json:"edits,omitempty"`

	sources []source // the places in Sources, in their order
}

// NodeGroup is similar nodes that rule out a pod for the same reasons.
type NodeGroup struct {
	// Name is for people, e.g. "4 accelerated nodes (p5.48xlarge)".
	Name  string   `json:"name"`
	Nodes []string `json:"nodes"`
	// Refusals is empty for nodes that admit the pod.
	Refusals []Refusal `json:"refusals"`

	open bool   // the scheduler says that no node fits, and nothing here rules out these
	make string // what the nodes have in common besides their refusals
	kind bundle.NodeKind
}

func (g *NodeGroup) String() string {
	switch {
	case len(g.Refusals) > 0:
	case g.open:
		return g.Name + ": nothing that is checked here rules them out"
	default:
		return g.Name + ": fits"
	}
	var texts []string
	for _, r := range g.Refusals {
		texts = append(texts, r.Text)
	}
	return g.Name + ": " + strings.Join(texts, "; ")
}

// explainPods says why pods of one workload have no node, or why they fit where they are. The pods
// have the same message from the scheduler, or are on one node. w is the expectation of their
// workload with the origin of its values; nil if that is not known. explainPods reads nothing from
// the cluster and does not guess: if no check explains the scheduler's message, it says so.
func explainPods(pods []observe.PodFacts, w *bundle.Workload, view *observe.View) Explanation {
	pod := pods[0].Pod
	e := Explanation{Phase: string(pod.Status.Phase), Scheduler: pods[0].Scheduler}
	e.about(w)
	view = view.WithFurther()
	index := indexView(view)
	l := index.newCheck(pod)
	pinned := map[string]*check{}
	for i := range pods {
		p := pods[i].Pod
		e.Pods = append(e.Pods, observe.PodName(p))
		if p.Spec.NodeName != "" {
			e.On = append(e.On, p.Spec.NodeName)
		}
		if name := pinnedTo(&p.Spec); name != "" { // other nodes are no candidates
			l = index.newCheck(withoutPin(p))
			l.pin = name
			pinned[name] = l
		}
	}
	e.Groups = groupNodes(view, func(n *corev1.Node) *check {
		if len(pinned) > 0 {
			return pinned[n.Name]
		}
		return l
	})
	if len(pinned) > 0 && len(e.Groups) == 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("it is for node %s alone, which does not exist", strings.Join(result.SortedKeys(pinned), ", ")))
	}
	for i := range e.Groups {
		e.Groups[i].open = len(e.On) == 0 && e.Scheduler != ""
	}
	e.note(&pods[0], w, view)
	if len(e.On) == 0 {
		e.advise(l, w)
		e.grows(pod, &view.Growth)
	}
	return e
}

// explainTemplate is explainPods for a pod template whose controller creates no pod. It ignores
// other pods, what they use and where they are.
func explainTemplate(w *bundle.Workload, view *observe.View) Explanation {
	var e Explanation
	e.about(w)
	pod := templatePod(w)
	daemon := w.Kind == "DaemonSet"
	if daemon {
		pod.Spec.Tolerations = observe.AsDaemon(pod.Spec.Tolerations)
	} else {
		pod = withoutOthers(pod)
		ofClass(&pod.Spec, view)
		pod.Spec = *observe.Admitted(&pod.Spec, view.Nodes)
	}
	l := indexView(&observe.View{Nodes: view.Nodes}).newCheck(pod)
	l.templateOnly = daemon
	e.Groups = groupNodes(l.view, func(*corev1.Node) *check { return l })
	e.advise(l, w)
	return e
}

// withoutOthers removes a pod's rules about other pods.
func withoutOthers(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.TopologySpreadConstraints = nil
	if pod.Spec.Affinity != nil {
		pod.Spec.Affinity.PodAffinity, pod.Spec.Affinity.PodAntiAffinity = nil, nil
	}
	return pod
}

func templatePod(w *bundle.Workload) *corev1.Pod {
	p := &corev1.Pod{Spec: w.PodSpec}
	p.Namespace = w.Namespace
	return p
}

func (e *Explanation) about(w *bundle.Workload) {
	if w != nil {
		e.Workload, e.Component = observe.WorkloadKey(w.Kind, w.Namespace, w.Name), w.Component
	}
}

// note adds what concerns the pod as a whole.
func (e *Explanation) note(facts *observe.PodFacts, w *bundle.Workload, view *observe.View) {
	add := func(format string, args ...any) { e.Notes = append(e.Notes, fmt.Sprintf(format, args...)) }
	if len(e.On) > 0 {
		if !slices.ContainsFunc(view.Nodes, func(n corev1.Node) bool { return n.Name == e.On[0] }) {
			add("it names node %s, which does not exist", e.On[0])
		}
		return
	}
	where := &provenance{w: w}
	for _, g := range facts.Pod.Spec.SchedulingGates {
		add("scheduling gate %s keeps it from the scheduler until it is removed", g.Name)
		e.Edits = append(e.Edits, fmt.Sprintf("remove `%s` from schedulingGates %s, or add the component that removes it", g.Name, where.template("schedulingGates")))
	}
	if name := facts.OtherScheduler; name != "" && e.Scheduler == "" {
		add("it asks for the scheduler %s, which has said nothing of it", name)
	}
	if name := facts.OtherScheduler; name != "" && e.Scheduler == "" && !facts.OwnScheduler {
		e.Edits = append(e.Edits, fmt.Sprintf("remove `schedulerName: %s` %s, or add the component that runs it", name, where.template("schedulerName")))
	}
	for _, name := range view.MissingClaims(facts.Pod) {
		e.Edits = append(e.Edits, fmt.Sprintf("add ResourceClaim %s to namespace %s, or name one that the recipe has, or a resourceClaimTemplateName, %s", name, facts.Pod.Namespace, where.template("resourceClaims")))
	}
	if len(facts.Pod.Spec.ResourceClaims) > 0 && !view.Devices.Read {
		add("it has resource claims, which are not checked")
	}
	if !e.Refused() && view.Devices.Read {
		e.Notes = append(e.Notes, asked(facts.Pod, &view.Devices)...)
	}
	switch {
	case e.Refused() || len(e.Notes) > 0:
	case e.Scheduler != "":
		add("none of these checks explains why the scheduler cannot place it: read the scheduler's message")
	default:
		add("none of these checks explains it, and the scheduler has not reported on this pod yet")
	}
}

// pinnedTo returns the node that a pod is for. The DaemonSet controller selects it by a field.
func pinnedTo(spec *corev1.PodSpec) string {
	required := requiredAffinity(spec)
	if required == nil {
		return ""
	}
	node := ""
	for _, t := range required.NodeSelectorTerms {
		name := ""
		for _, f := range t.MatchFields {
			if f.Key == "metadata.name" && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				name = f.Values[0]
			}
		}
		if name == "" || node != "" && name != node {
			return ""
		}
		node = name
	}
	return node
}

// withoutPin removes the choice of a node from a pod's affinity.
func withoutPin(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	required := requiredAffinity(&pod.Spec)
	whole := false // a term that has nothing else asks nothing more of the node, whatever the others do
	for i := range required.NodeSelectorTerms {
		t := &required.NodeSelectorTerms[i]
		t.MatchFields = nil
		whole = whole || len(t.MatchExpressions) == 0
	}
	if whole {
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
	return pod
}

// groupNodes groups similar nodes that rule out the pod for the same reasons. checkFor returns the
// check for a node; nil leaves the node out.
func groupNodes(view *observe.View, checkFor func(*corev1.Node) *check) []NodeGroup {
	type members struct {
		group    NodeGroup
		refusals [][]Refusal
	}
	var order []string
	bySignature := map[string]*members{}
	ofMake := map[string]int{}
	for i := range view.Nodes {
		n := &view.Nodes[i]
		l := checkFor(n)
		if l == nil {
			continue
		}
		refusals := l.refusals(n)
		made := makeOf(n, &view.Growth)
		ofMake[made]++
		key := made
		for _, r := range refusals {
			key += "\x00" + r.signature()
		}
		m := bySignature[key]
		if m == nil {
			m = &members{group: NodeGroup{make: made, kind: bundle.NodeKind(n.Labels[bundle.NodeTypeLabel])}}
			bySignature[key] = m
			order = append(order, key)
		}
		m.group.Nodes = append(m.group.Nodes, n.Name)
		m.refusals = append(m.refusals, refusals)
	}
	var all []NodeGroup
	for _, key := range order {
		m := bySignature[key]
		m.group.Refusals = mergeRefusals(m.refusals)
		m.group.Name = groupName(&m.group, ofMake[m.group.make])
		all = append(all, m.group)
	}
	// Nodes that admit it come first, then those with the fewest refusals: a reader looks for the
	// nearest miss.
	sort.SliceStable(all, func(i, j int) bool { return all[i].distance() < all[j].distance() })
	return all
}

// distance returns how far the nodes are from admitting the pod. A resource that they lack
// altogether counts more than one of which they have too little.
func (g *NodeGroup) distance() int {
	d := len(g.Refusals)
	for i := range g.Refusals {
		if r := &g.Refusals[i]; r.Kind == refusalResource && r.allocatable.IsZero() {
			d++
		}
	}
	return d
}

// chosen reports whether the pod's own selector and affinity admit the nodes.
func (g *NodeGroup) chosen() bool {
	return !slices.ContainsFunc(g.Refusals, func(r Refusal) bool { return r.Kind == refusalNodeSelector || r.Kind == refusalNodeAffinity })
}

// makeOf returns a key for similar nodes.
func makeOf(n *corev1.Node, growth *observe.Growth) string {
	if g := growth.Group(n.Name); g != nil {
		return furtherNode + "\x00" + fmt.Sprintf("%s (%s)", n.Name, n.Labels[corev1.LabelInstanceTypeStable])
	}
	kind := n.Labels[bundle.NodeTypeLabel]
	if kind == "" {
		kind = "other"
	}
	var parts []string
	for _, label := range []string{corev1.LabelInstanceTypeStable, observe.GPUProductLabel} {
		if v := n.Labels[label]; v != "" {
			parts = append(parts, v)
		}
	}
	if len(parts) == 0 {
		return kind
	}
	return kind + "\x00" + strings.Join(parts, ", ")
}

// groupName returns e.g. "4 accelerated nodes (p5.48xlarge, NVIDIA-H100-80GB-HBM3)". A part of a
// pool lists its nodes.
func groupName(g *NodeGroup, ofMake int) string {
	kind, details, _ := strings.Cut(g.make, "\x00")
	if g.further() {
		return "a further node of group " + details
	}
	noun := " nodes"
	if len(g.Nodes) == 1 {
		noun = " node"
	}
	name := fmt.Sprint(len(g.Nodes)) + " " + kind + noun
	if len(g.Nodes) < ofMake {
		name = fmt.Sprintf("%d of %d %s nodes", len(g.Nodes), ofMake, kind)
		names := strings.Join(lists.AtMost(g.Nodes, 3), ", ")
		if details != "" {
			names = "; " + names
		}
		details += names
	}
	if details != "" {
		name += " (" + details + ")"
	}
	return name
}

// Refused reports whether every group of nodes rules out the pod.
func (e *Explanation) Refused() bool {
	return !slices.ContainsFunc(e.Groups, func(g NodeGroup) bool { return len(g.Refusals) == 0 })
}
