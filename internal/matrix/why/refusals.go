package why

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// RefusalKind is a check of the scheduler that a node fails.
type RefusalKind string

// The checks that this package repeats, named as in the scheduler's plugins.
const (
	refusalUnschedulable  RefusalKind = "unschedulable"
	refusalNodeName       RefusalKind = "nodeName"
	refusalTaint          RefusalKind = "taint"
	refusalNodeSelector   RefusalKind = "nodeSelector"
	refusalNodeAffinity   RefusalKind = "nodeAffinity"
	refusalPort           RefusalKind = "hostPort"
	refusalResource       RefusalKind = "resource"
	refusalVolume         RefusalKind = "volume"
	refusalClaim          RefusalKind = "resourceClaim"
	refusalSpread         RefusalKind = "topologySpread"
	refusalPodAffinity    RefusalKind = "podAffinity"
	refusalAntiAffinity   RefusalKind = "podAntiAffinity"
	refusalAffinityOfPods RefusalKind = "podAntiAffinityOfOthers"
	// refusalMax is no check of the scheduler: a group of nodes has as many as it may.
	refusalMax RefusalKind = "max"
)

// Refusal is one reason why a node, or each of a group, does not admit a pod.
type Refusal struct {
	Kind RefusalKind `json:"kind"`
	// Key is the label key, the taint's key, the resource's name or the topology key.
	Key string `json:"key,omitempty"`
	// Wanted is what the pod requires; Had is what the nodes have instead, each value once. For a
	// resource, Had is what is allocatable.
	Wanted string   `json:"wanted,omitempty"`
	Had    []string `json:"had,omitempty"`
	// Free is the most that any node of the group has left of a resource, By the pods that hold
	// most of it there.
	Free string   `json:"free,omitempty"`
	By   []string `json:"by,omitempty"`
	Text string   `json:"text"`

	asked, free, allocatable resource.Quantity
	overhead                 string
	// filled is the LimitRange that has put the request into the containers of into; empty if the template has it.
	filled string
	into   []string
	taint  corev1.Taint
	class  string // that a claim names and the cluster lacks
}

// signature returns a key that is equal for refusals which one line can describe for several nodes.
func (r *Refusal) signature() string {
	return strings.Join([]string{string(r.Kind), r.Key, r.Wanted}, "\x01")
}

// mergeRefusals merges the refusals of several nodes, which have the same signatures in the same
// order.
func mergeRefusals(perNode [][]Refusal) []Refusal {
	merged := append([]Refusal{}, perNode[0]...)
	for i := range merged {
		r := &merged[i]
		for _, other := range perNode[1:] {
			o := &other[i]
			for _, had := range o.Had {
				if !slices.Contains(r.Had, had) {
					r.Had = append(slices.Clone(r.Had), had)
				}
			}
			if o.free.Cmp(r.free) > 0 {
				r.free, r.allocatable, r.By = o.free, o.allocatable, o.By
			}
		}
		r.describe()
	}
	return merged
}

// describe sets the text for people, and what is derived from quantities.
func (r *Refusal) describe() {
	had := func() string {
		if len(r.Had) == 0 {
			return "no such label"
		}
		return "has " + strings.Join(lists.AtMost(r.Had, 3), ", ")
	}
	switch r.Kind {
	case refusalNodeSelector:
		r.Text = fmt.Sprintf("nodeSelector %s=%s (%s)", r.Key, r.Wanted, had())
	case refusalNodeAffinity:
		r.Text = "node affinity " + r.Wanted
		if r.Key != "" {
			r.Text += " (" + had() + ")"
		}
	case refusalTaint:
		r.Text = "taint " + r.Wanted + " not tolerated"
	case refusalResource:
		r.Free, r.Had = r.free.String(), []string{r.allocatable.String()}
		switch {
		case r.Key == string(corev1.ResourcePods):
			r.Text = fmt.Sprintf("each of its %s places for pods is taken", r.Had[0])
		case r.allocatable.IsZero():
			r.Text = fmt.Sprintf("asks for %s %s, has none", r.Wanted, r.Key)
		case r.asked.Cmp(r.allocatable) > 0 && r.free.Cmp(r.allocatable) == 0:
			r.Text = fmt.Sprintf("asks for %s %s, has %s", r.Wanted, r.Key, r.Had[0])
		default:
			r.Text = fmt.Sprintf("asks for %s %s, has %s, of which %s free", r.Wanted, r.Key, r.Had[0], r.Free)
			if len(r.By) > 0 {
				r.Text += " (" + strings.Join(r.By, ", ") + ")"
			}
		}
		r.Text = strings.Replace(r.Text, " "+r.Key, " "+r.Key+r.overhead, 1)
	}
}

// check is one pod against one view.
type check struct {
	pod   *corev1.Pod
	view  *observe.View
	index *viewIndex
	memo  checkMemo
	// templateOnly means that selector, affinity and taints alone decide, as they do for a
	// DaemonSet.
	templateOnly bool
	// pin is the one node that the pod is for, if that is taken out of its affinity.
	pin string
}

// refusals returns all reasons of one node, in the order of the scheduler's filters; the scheduler
// itself stops at the first.
func (l *check) refusals(n *corev1.Node) []Refusal {
	all := slices.Concat(l.cordon(n), l.nodeName(n), l.taints(n), l.selector(n), l.nodeAffinity(n))
	if l.templateOnly {
		return all
	}
	return slices.Concat(all, l.ports(n), l.resources(n), l.volumes(n), l.claims(n), l.spread(n), l.podAffinity(n), l.exhausted(n))
}

func tolerates(spec *corev1.PodSpec, t *corev1.Taint) bool {
	return corev1helpers.TolerationsTolerateTaint(klog.Logger{}, spec.Tolerations, t, false)
}

func (l *check) cordon(n *corev1.Node) []Refusal {
	if !n.Spec.Unschedulable || tolerates(&l.pod.Spec, &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
		return nil
	}
	return []Refusal{{Kind: refusalUnschedulable, Text: "cordoned (spec.unschedulable)"}}
}

func (l *check) nodeName(n *corev1.Node) []Refusal {
	name := l.pod.Spec.NodeName
	if name == "" || name == n.Name || !l.templateOnly { // a pod that has a node fits elsewhere or not by the other checks
		return nil
	}
	return []Refusal{{Kind: refusalNodeName, Wanted: name, Text: "nodeName " + name + " is another node"}}
}

func (l *check) taints(n *corev1.Node) []Refusal {
	var all []Refusal
	for _, t := range observe.Untolerated(l.pod.Spec.Tolerations, n) {
		if t.Key == corev1.TaintNodeUnschedulable && t.Effect == corev1.TaintEffectNoSchedule && n.Spec.Unschedulable { // reported by cordon
			continue
		}
		all = append(all, Refusal{Kind: refusalTaint, Key: t.Key, Wanted: t.ToString(), taint: t})
	}
	return all
}

func (l *check) selector(n *corev1.Node) []Refusal {
	var all []Refusal
	for _, k := range result.SortedKeys(l.pod.Spec.NodeSelector) {
		want := l.pod.Spec.NodeSelector[k]
		have, ok := n.Labels[k]
		if ok && have == want {
			continue
		}
		r := Refusal{Kind: refusalNodeSelector, Key: k, Wanted: want}
		if ok {
			r.Had = []string{have}
		}
		all = append(all, r)
	}
	return all
}

func requiredAffinity(spec *corev1.PodSpec) *corev1.NodeSelector {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// nodeAffinity checks the required terms, which are alternatives; all requirements of a term must
// hold. With one term, each failed requirement is a refusal of its own. With several, one refusal
// lists what each term lacks.
func (l *check) nodeAffinity(n *corev1.Node) []Refusal {
	required := requiredAffinity(&l.pod.Spec)
	if required == nil {
		return nil
	}
	switch ok, err := nodeaffinity.NewLazyErrorNodeSelector(required).Match(n); {
	case ok:
		return nil
	case err != nil:
		return []Refusal{{Kind: refusalNodeAffinity, Wanted: fmt.Sprintf("is not valid: %v", err)}}
	}
	var perTerm [][]Refusal
	for _, term := range required.NodeSelectorTerms {
		perTerm = append(perTerm, failedRequirements(term, n))
	}
	if len(perTerm) == 1 && len(perTerm[0]) > 0 {
		return perTerm[0]
	}
	var texts []string
	for _, failed := range perTerm {
		var parts []string
		for _, r := range failed {
			parts = append(parts, r.Wanted)
		}
		texts = append(texts, strings.Join(parts, " and "))
	}
	if len(texts) == 0 {
		return []Refusal{{Kind: refusalNodeAffinity, Wanted: "has no term, so it matches no node"}}
	}
	return []Refusal{{Kind: refusalNodeAffinity, Wanted: strings.Join(texts, ", or ")}}
}

func failedRequirements(term corev1.NodeSelectorTerm, n *corev1.Node) []Refusal {
	var failed []Refusal
	check := func(r corev1.NodeSelectorRequirement, single corev1.NodeSelectorTerm, have string, ok bool) {
		sel := nodeaffinity.NewLazyErrorNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{single}})
		if match, err := sel.Match(n); err == nil && match {
			return
		}
		refusal := Refusal{Kind: refusalNodeAffinity, Key: r.Key, Wanted: requirementText(r)}
		if ok {
			refusal.Had = []string{have}
		}
		failed = append(failed, refusal)
	}
	for _, r := range term.MatchExpressions {
		have, ok := n.Labels[r.Key]
		check(r, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{r}}, have, ok)
	}
	for _, r := range term.MatchFields {
		check(r, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{r}}, n.Name, true)
	}
	return failed
}

func requirementText(r corev1.NodeSelectorRequirement) string {
	text := r.Key + " " + string(r.Operator)
	if len(r.Values) > 0 {
		text += " [" + strings.Join(r.Values, ", ") + "]"
	}
	return text
}

func (l *check) ports(n *corev1.Node) []Refusal {
	var all []Refusal
	for _, want := range podspec.NodePorts(&l.pod.Spec) {
		for _, p := range l.podsOn(n.Name) {
			for _, have := range podspec.NodePorts(&p.Spec) {
				sameIP := want.HostIP == have.HostIP || anyIP(want.HostIP) || anyIP(have.HostIP)
				if want.HostPort == have.HostPort && want.Protocol == have.Protocol && sameIP {
					port := fmt.Sprintf("%d/%s", want.HostPort, want.Protocol)
					all = append(all, Refusal{Kind: refusalPort, Wanted: port, Text: "host port " + port + " is taken by " + observe.PodName(p)})
				}
			}
		}
	}
	return all
}

func anyIP(ip string) bool { return ip == "" || ip == "0.0.0.0" }

func requestsOf(p *corev1.Pod) corev1.ResourceList {
	all := podresources.PodRequests(p, podresources.PodResourcesOptions{UseStatusResources: true})
	all[corev1.ResourcePods] = resource.MustParse("1")
	return all
}

// resources compares the pod's requests with what the node's pods leave of its allocatable
// resources.
func (l *check) resources(n *corev1.Node) []Refusal {
	var all []Refusal
	asked := requestsOf(withLimitsAsRequests(l.pod))
	for _, name := range result.SortedKeys(asked) {
		q := asked[name]
		if q.IsZero() {
			continue
		}
		allocatable := n.Status.Allocatable[name]
		free := allocatable.DeepCopy()
		type holder struct {
			pod string
			q   resource.Quantity
		}
		var holders []holder
		for _, p := range l.podsOn(n.Name) {
			if held := requestsOf(p)[name]; !held.IsZero() {
				free.Sub(held)
				holders = append(holders, holder{observe.PodName(p), held})
			}
		}
		if q.Cmp(free) <= 0 {
			continue
		}
		r := Refusal{Kind: refusalResource, Key: string(name), Wanted: q.String(), asked: q, free: free, allocatable: allocatable}
		if more, ok := l.pod.Spec.Overhead[name]; ok && l.pod.Spec.RuntimeClassName != nil {
			r.overhead = fmt.Sprintf(", of which %s are the overhead of RuntimeClass %s", more.String(), *l.pod.Spec.RuntimeClassName)
		}
		if r.into = observe.FilledIn(l.pod, name); len(r.into) > 0 {
			r.filled = l.defaults(name)
			r.overhead += fmt.Sprintf(", which %s fills in for %s", r.filled, strings.Join(r.into, ", "))
		}
		if name != corev1.ResourcePods {
			sort.SliceStable(holders, func(i, j int) bool { return holders[i].q.Cmp(holders[j].q) > 0 })
			for _, h := range holders[:min(2, len(holders))] {
				r.By = append(r.By, h.pod+" has "+h.q.String())
			}
		}
		all = append(all, r)
	}
	return all
}

// defaults names the LimitRange of the pod's namespace that has a default for a resource.
func (l *check) defaults(name corev1.ResourceName) string {
	for i := range l.view.LimitRanges {
		r := &l.view.LimitRanges[i]
		if r.Namespace == l.pod.Namespace && slices.ContainsFunc(r.Spec.Limits, func(i corev1.LimitRangeItem) bool {
			_, request := i.DefaultRequest[name]
			_, limit := i.Default[name]
			return i.Type == corev1.LimitTypeContainer && (request || limit)
		}) {
			return "LimitRange " + r.Namespace + "/" + r.Name
		}
	}
	return "a LimitRange of namespace " + l.pod.Namespace
}

// withLimitsAsRequests applies the API server's default to a template: a limit alone is a request
// too.
func withLimitsAsRequests(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			for name, q := range r.Limits {
				if _, ok := r.Requests[name]; !ok {
					if r.Requests == nil {
						r.Requests = corev1.ResourceList{}
					}
					r.Requests[name] = q
				}
			}
		}
	}
	return p
}

func samePod(a, b *corev1.Pod) bool { return a.Namespace == b.Namespace && a.Name == b.Name }
