package why

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// edit is one change to a pod spec that a person could make in one place.
type edit struct {
	text  string
	where string
	apply func(*corev1.PodSpec)
}

// advise names the sources of the nearest groups' refusals, and the single edits that fix them. It
// tries each edit, and names it only if a node of the group then has no refusal left.
func (e *Explanation) advise(l *check, w *bundle.Workload) {
	p := &provenance{w: w}
	for _, g := range e.nearest(w) {
		for i := range g.Refusals {
			lines, places := p.sources(&g.Refusals[i])
			e.sources = append(e.sources, places...)
			for _, line := range lines {
				if !slices.Contains(e.Sources, line) {
					e.Sources = append(e.Sources, line)
				}
			}
		}
		for _, c := range p.candidates(g, &l.pod.Spec) {
			text := c.text
			if c.where != "" {
				text += " " + c.where
			}
			if !l.suffices(c, g, len(e.Pods)) {
				continue
			}
			if !slices.Contains(e.Edits, text) {
				e.Edits = append(e.Edits, text)
			}
			break // the first of a group keeps most of the author's intent
		}
	}
}

// nearest returns the groups to advise for: those of the workload's own kind of node if that is
// known, otherwise those that the pod itself selects if there are any; of these, the ones with the
// fewest refusals. It is empty if a node admits the pod already.
func (e *Explanation) nearest(w *bundle.Workload) []*NodeGroup {
	var of []*NodeGroup
	known := w != nil && w.Node != bundle.NodeAny
	for i := range e.Groups {
		g := &e.Groups[i]
		if known && g.kind == w.Node || !known && g.chosen() {
			of = append(of, g)
		}
	}
	if len(of) == 0 && !known {
		for i := range e.Groups {
			of = append(of, &e.Groups[i])
		}
	}
	var found []*NodeGroup
	for _, g := range of { // in the order of their distance
		if len(g.Refusals) == 0 {
			return nil
		}
		if g.distance() == of[0].distance() {
			found = append(found, g)
		}
	}
	return found
}

// suffices tries an edit on the nodes of a group. Of pods with a host port, a node takes one: there have to be nodes
// for all that wait.
func (l *check) suffices(c edit, g *NodeGroup, waiting int) bool {
	if len(podspec.NodePorts(&l.pod.Spec)) == 0 {
		waiting = 1
	}
	pod := l.pod.DeepCopy()
	c.apply(&pod.Spec)
	tried := l.index.newCheck(pod)
	tried.templateOnly = l.templateOnly
	inGroup := make(map[string]bool, len(g.Nodes))
	for _, name := range g.Nodes {
		inGroup[name] = true
	}
	for i := range l.view.Nodes {
		if n := &l.view.Nodes[i]; inGroup[n.Name] && len(tried.refusals(n)) == 0 {
			if waiting--; waiting <= 0 {
				return true
			}
		}
	}
	return false
}

// candidates returns the edits that might fix a group, the better ones first.
func (p *provenance) candidates(g *NodeGroup, spec *corev1.PodSpec) []edit {
	var all []edit
	var taints []corev1.Taint
	for i := range g.Refusals {
		r := &g.Refusals[i]
		switch r.Kind {
		case refusalNodeSelector:
			all = append(all, p.selectorEdits(r, g, spec)...)
		case refusalNodeAffinity:
			all = append(all, p.affinityEdits(r)...)
		case refusalTaint:
			taints = append(taints, r.taint)
		case refusalResource:
			all = append(all, p.resourceEdits(r)...)
		case refusalUnschedulable:
			all = append(all, edit{text: "kubectl uncordon " + g.Nodes[0], apply: func(s *corev1.PodSpec) {
				s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists})
			}})
		case refusalNodeName:
			if slices.ContainsFunc(p.values(bundle.FieldNodeName, ""), func(v bundle.SteeringSource) bool { return v.KeyStays }) {
				continue
			}
			all = append(all, edit{text: "remove `nodeName: " + r.Wanted + "`", where: p.whereField(bundle.FieldNodeName, "", "node name"), apply: func(s *corev1.PodSpec) { s.NodeName = "" }})
		}
	}
	if len(taints) > 0 {
		all = append(all, p.tolerationEdit(taints))
	}
	return all
}

func (p *provenance) selectorEdits(r *Refusal, g *NodeGroup, spec *corev1.PodSpec) []edit {
	key, want := r.Key, r.Wanted
	where := p.whereSelector(key)
	was := fmt.Sprintf("`%s: %s`", key, want)
	change := func(newKey, value string) edit {
		return edit{text: fmt.Sprintf("change %s to `%s: %s`", was, newKey, value), where: where, apply: func(s *corev1.PodSpec) {
			delete(s.NodeSelector, key)
			s.NodeSelector[newKey] = value
		}}
	}
	remove := edit{text: "remove " + was, where: where, apply: func(s *corev1.PodSpec) { delete(s.NodeSelector, key) }}
	if class := p.byClass(key); class != "" {
		remove.where = "from scheduling.nodeSelector of RuntimeClass " + class
		return []edit{remove}
	}
	for _, v := range p.values(bundle.FieldNodeSelector, key) {
		if !v.KeyStays && !v.ValueStays {
			continue
		}
		var all []edit
		if !v.ValueStays && len(r.Had) == 1 && key != corev1.LabelHostname {
			all = append(all, change(key, r.Had[0]))
		}
		if at, ok := p.w.Origin("spec", "nodeSelector", key); v.KeyStays && ok { // the recipe's own manifest has the key
			remove.where = "in " + at.String()
		} else if v.KeyStays {
			return all
		}
		return append(all, remove)
	}
	steered := bundle.NodeKindOf(spec.NodeSelector) != bundle.NodeAny || p.w != nil && p.w.Plain
	switch {
	case len(r.Had) == 1 && key != corev1.LabelHostname:
		return []edit{change(key, r.Had[0]), remove}
	case !steered && g.kind != bundle.NodeAny && requiredAffinity(spec) == nil:
		// Without it the pod could go anywhere, which is hardly what a selector is for.
		return []edit{change(bundle.NodeTypeLabel, string(g.kind)), remove}
	}
	return []edit{remove}
}

func (p *provenance) affinityEdits(r *Refusal) []edit {
	where := p.whereField(bundle.FieldAffinity, "", "affinity")
	drop := edit{text: "remove the required node affinity `" + r.Wanted + "`", where: where, apply: func(s *corev1.PodSpec) {
		required := requiredAffinity(s)
		for i := range required.NodeSelectorTerms {
			t := &required.NodeSelectorTerms[i]
			t.MatchExpressions = slices.DeleteFunc(t.MatchExpressions, func(x corev1.NodeSelectorRequirement) bool { return requirementText(x) == r.Wanted })
		}
		required.NodeSelectorTerms = slices.DeleteFunc(required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
			return len(t.MatchExpressions)+len(t.MatchFields) == 0
		})
		if len(required.NodeSelectorTerms) == 0 {
			s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
	}}
	for _, v := range p.values(bundle.FieldAffinity, "") {
		if v.Lost != "" { // whatever the chart requires, the null takes it away
			return []edit{{text: v.Lost, apply: func(s *corev1.PodSpec) { s.Affinity = nil }}}
		}
	}
	stays := slices.ContainsFunc(p.values(bundle.FieldAffinity, ""), func(v bundle.SteeringSource) bool { return v.KeyStays })
	if stays && (len(r.Had) != 1 || r.Key == "" || slices.ContainsFunc(p.values(bundle.FieldAffinity, ""), func(v bundle.SteeringSource) bool { return v.ValueStays })) {
		return nil
	}
	if r.Key == "" {
		drop.text = "remove the required node affinity"
		drop.apply = func(s *corev1.PodSpec) { s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil }
		return []edit{drop}
	}
	if len(r.Had) != 1 || !strings.HasPrefix(r.Wanted, r.Key+" "+string(corev1.NodeSelectorOpIn)+" ") {
		if stays {
			return nil
		}
		return []edit{drop}
	}
	to := corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOpIn, Values: r.Had}
	change := edit{text: fmt.Sprintf("change the node affinity `%s` to `%s`", r.Wanted, requirementText(to)), where: where, apply: func(s *corev1.PodSpec) {
		for _, t := range requiredAffinity(s).NodeSelectorTerms {
			for i := range t.MatchExpressions {
				if requirementText(t.MatchExpressions[i]) == r.Wanted {
					t.MatchExpressions[i] = to
				}
			}
		}
	}}
	if stays {
		return []edit{change}
	}
	return []edit{change, drop}
}

// tolerable is the edit for a pod that does not tolerate the taint of simulated nodes. No cluster of
// a user's has that taint, so that no recipe should name it. AICR sets tolerations where the registry
// says; elsewhere a pod can only tolerate all taints.
func (p *provenance) tolerable() string {
	const all = "tolerate every taint (`operator: Exists`)"
	switch {
	case p.w == nil || p.w.Component == "" || p.w.Built != nil || len(p.w.TolerationPaths) > 0:
		return all
	case len(p.w.ForgottenPaths) > 0:
		if p.w.ForgottenPaths[0].Lacking {
			return all
		}
		return "let AICR set its tolerations"
	case p.w.Template == "":
		return all
	}
	return "let AICR set its tolerations by a value that the tolerationPaths of component " + p.w.Component + " name,"
}

func (p *provenance) tolerationEdit(taints []corev1.Taint) edit {
	var texts []string
	var add []corev1.Toleration
	for _, t := range taints {
		texts = append(texts, t.ToString())
		add = append(add, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpEqual, Value: t.Value, Effect: t.Effect})
	}
	what := "add a toleration for "
	if len(taints) > 1 {
		what = "add tolerations for "
	}
	what += strings.Join(texts, " and ")
	if slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == simulate.KwokTaint }) {
		what = p.tolerable()
	}
	return edit{text: what, where: p.whereTolerations(), apply: func(s *corev1.PodSpec) { s.Tolerations = append(s.Tolerations, add...) }}
}

func (p *provenance) resourceEdits(r *Refusal) []edit {
	name := corev1.ResourceName(r.Key)
	where := p.whereResource(r.Key)
	if name == corev1.ResourcePods || r.free.Sign() <= 0 && !r.allocatable.IsZero() {
		return nil // the node is full: a smaller request would not help
	}
	text := fmt.Sprintf("ask for at most %s %s", r.Free, r.Key)
	if r.free.Cmp(r.allocatable) < 0 {
		text += fmt.Sprintf(" (%s of %s are free)", r.Free, r.Had[0])
	}
	if r.allocatable.IsZero() {
		text = fmt.Sprintf("do not ask for %s, which these nodes do not have,", r.Key)
	}
	if r.filled != "" {
		text, where = fmt.Sprintf("lower the default %s (defaultRequest) of %s to at most %s, or let %s ask for no more than that", r.Key, r.filled, r.Free, strings.Join(r.into, ", ")), ""
	}
	return []edit{{text: text, where: where, apply: func(s *corev1.PodSpec) {
		if s.Resources != nil {
			delete(s.Resources.Requests, name)
			delete(s.Resources.Limits, name)
		}
		first := true
		for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
			for i := range containers {
				c := &containers[i].Resources
				_, asked := c.Requests[name]
				_, limited := c.Limits[name]
				delete(c.Requests, name)
				delete(c.Limits, name)
				if (asked || limited) && first && !r.allocatable.IsZero() {
					if c.Requests == nil {
						c.Requests = corev1.ResourceList{}
					}
					c.Requests[name], first = r.free, false
				}
			}
		}
	}}}
}
