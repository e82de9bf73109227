package chaos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// named is how many names an error has; the others are counted.
const named = 6

// picker chooses for one step: the same random seed and the same candidates give the same choice.
// It does not depend on the choices of earlier steps.
type picker struct{ random *rand.Rand }

func newPicker(seed int64, step int) *picker {
	return &picker{rand.New(rand.NewPCG(uint64(seed), uint64(step)))}
}

// choose takes count of a sorted list, in its order; all if count is 0.
func choose[T any](p *picker, all []T, count int) []T {
	if count == 0 || count >= len(all) {
		return all
	}
	indices := p.random.Perm(len(all))[:count]
	slices.Sort(indices)
	var chosen []T
	for _, i := range indices {
		chosen = append(chosen, all[i])
	}
	return chosen
}

// nodes are the chosen simulated nodes, sorted by name. It is an error if no node matches, or fewer
// than the step requires, since the step would show nothing.
func (p *picker) nodes(ctx context.Context, r *Runner, c NodeChoice, usable func(*corev1.Node) bool) ([]*corev1.Node, error) {
	list, err := r.Clients.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return p.among(list.Items, c, usable)
}

func (p *picker) among(all []corev1.Node, c NodeChoice, usable func(*corev1.Node) bool) ([]*corev1.Node, error) {
	slices.SortFunc(all, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	var matching, free []*corev1.Node
	selector := labels.SelectorFromSet(c.Labels)
	for i := range all {
		n := &all[i]
		if n.Labels[infra.HostNodeLabel] != "" || !selector.Matches(labels.Set(n.Labels)) || len(c.Names) > 0 && !slices.Contains(c.Names, n.Name) {
			continue
		}
		matching = append(matching, n)
		if usable(n) {
			free = append(free, n)
		}
	}
	switch {
	case len(c.Names) > len(matching):
		return nil, fmt.Errorf("there is no node %s; the nodes are: %s", strings.Join(missing(c.Names, matching), ", "), nodeNames(all))
	case len(matching) == 0:
		return nil, fmt.Errorf("no node has the labels %s; the nodes are: %s", labelText(c.Labels), nodeNames(all))
	case len(free) == 0:
		return nil, fmt.Errorf("nothing is left to do: of %s that match, none is in a state that this step changes", lists.Count(len(matching), "node"))
	case c.Count > len(free):
		return nil, fmt.Errorf("want %s, and %d can be chosen: %s", lists.Count(c.Count, "node"), len(free), strings.Join(lists.AtMost(names(free), named), ", "))
	}
	return choose(p, free, c.Count), nil
}

func missing(want []string, have []*corev1.Node) []string {
	there := names(have)
	return slices.DeleteFunc(slices.Clone(want), func(n string) bool { return slices.Contains(there, n) })
}

func nodeNames(all []corev1.Node) string {
	var text []string
	for i := range all {
		text = append(text, all[i].Name)
	}
	if len(text) == 0 {
		return "none"
	}
	return strings.Join(lists.AtMost(text, named), ", ")
}

func labelText(set map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(set)) {
		all = append(all, k+"="+set[k])
	}
	return strings.Join(all, ",")
}

// pods are running pods on simulated nodes, sorted by what makes them and where they are: their own
// names are random.
func (p *picker) pods(ctx context.Context, r *Runner, c PodChoice, count int) ([]*corev1.Pod, error) {
	nodes, err := r.Clients.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	simulated := map[string]bool{}
	for i := range nodes.Items {
		simulated[nodes.Items[i].Name] = nodes.Items[i].Labels[infra.HostNodeLabel] == "" && nodes.Items[i].Labels[stoppedLabel] == ""
	}
	list, err := r.Clients.Kube.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(c.Labels).String()})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	var running []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && simulated[pod.Spec.NodeName] {
			running = append(running, pod)
		}
	}
	which := "match"
	if len(c.Labels) > 0 {
		which = "have the labels " + labelText(c.Labels)
	}
	if c.Namespace != "" {
		which = "are in namespace " + c.Namespace + " and " + which
	}
	if len(running) == 0 || count > len(running) {
		return nil, fmt.Errorf("of %s that %s, %d run on a node that has not stopped; want %d", lists.Count(len(list.Items), "pod"), which, len(running), max(1, count))
	}
	slices.SortFunc(running, func(a, b *corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(makerOf(a), makerOf(b)), strings.Compare(a.Spec.NodeName, b.Spec.NodeName), strings.Compare(a.Name, b.Name))
	})
	return choose(p, running, count), nil
}

func makerOf(p *corev1.Pod) string {
	if ref := metav1.GetControllerOf(p); ref != nil {
		return ref.Kind + "/" + ref.Name
	}
	return "Pod/" + p.Name
}
