package matrix

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// workloadReport is what one look says about the expected workloads.
type workloadReport struct {
	pods    int      // pods in their final state
	waiting []string // "Deployment x/y: 1 of 2 pods Running"
	// pending are pods that the scheduler refused; they count as failed once that lasts (gate.go).
	pending []pendingPod
	// wrong will not mend itself: a pod on the wrong kind of node, a template that no node admits, a failed Job.
	wrong []wrongWorkload
	notes []string
}

type pendingPod struct {
	workload *bundle.Workload
	pod      string
	message  string // the scheduler's, e.g. 0/6 nodes are available: …
}

type wrongWorkload struct {
	workload *bundle.Workload
	text     string
}

// checkWorkloads compares one snapshot with the expectation.
func checkWorkloads(expected []bundle.Workload, s *snapshot) workloadReport {
	var r workloadReport
	kinds := nodeKinds(s.nodes)
	for i := range expected {
		r.check(&expected[i], s, kinds)
	}
	return r
}

func (r *workloadReport) check(w *bundle.Workload, s *snapshot, kinds map[string]bundle.NodeKind) {
	id := workloadKey(w.Kind, w.Namespace, w.Name)
	var pods []*corev1.Pod
	if w.Kind == "Pod" {
		p := s.barePod(w.Namespace, w.Name)
		if p == nil && w.Ephemeral {
			return // a hook that ran and was deleted
		}
		if p != nil {
			pods = []*corev1.Pod{p}
		}
	} else {
		live, ok := s.workload[id]
		switch {
		case !ok && w.Ephemeral:
			return // a hook that ran and was deleted; the deployer says whether it succeeded
		case !ok && w.Operator != "":
			r.waiting = append(r.waiting, id+": not made yet from "+w.Operator)
			return
		case !ok:
			r.waiting = append(r.waiting, id+": does not exist yet")
			return
		case live.failed != "":
			r.wrong = append(r.wrong, wrongWorkload{w, "the Job failed: " + live.failed})
			return
		case live.observed < live.generation:
			r.waiting = append(r.waiting, id+": its controller has not seen it yet")
			return
		case live.complaint != "":
			r.waiting = append(r.waiting, id+": "+live.complaint)
			return
		case w.Kind == "CronJob":
			return // it makes pods when its time comes
		case w.Kind == "Job" && !live.complete:
			r.waiting = append(r.waiting, id+": not complete yet")
		}
		pods = s.podsOf[live.uid]
	}
	want := w.Replicas
	if w.Kind == "DaemonSet" {
		var ok bool
		if want, ok = r.daemonSet(w, s, kinds, pods); !ok {
			return
		}
	}
	r.checkPods(w, id, want, pods, kinds)
}

// daemonSet says how many pods there must be: one on every node that the template admits. A template that admits none, or nodes of
// the wrong kind, is wrong whatever the pods do: the DaemonSet controller makes no pod that would show it.
func (r *workloadReport) daemonSet(w *bundle.Workload, s *snapshot, kinds map[string]bundle.NodeKind, pods []*corev1.Pod) (int, bool) {
	nodes := eligibleNodes(&w.PodSpec, s.nodes)
	if len(nodes) == 0 {
		if os, foreign := foreignOS(&w.PodSpec, s.nodes); foreign {
			r.notes = append(r.notes, fmt.Sprintf("%s wants %s nodes; the cluster has none", workloadKey(w.Kind, w.Namespace, w.Name), os))
			return 0, false
		}
		r.wrong = append(r.wrong, wrongWorkload{w, "no node admits its pods: " + describeTemplate(&w.PodSpec, s.nodes)})
		return 0, false
	}
	if w.Node != bundle.NodeAny {
		ofKind := 0
		for _, n := range nodes {
			if kinds[n] != w.Node {
				r.wrong = append(r.wrong, wrongWorkload{w, fmt.Sprintf("it belongs on %s nodes, but its template also admits %s (%s)", w.Node, n, kinds[n])})
				return 0, false
			}
		}
		for _, k := range kinds {
			if k == w.Node {
				ofKind++
			}
		}
		if len(nodes) < ofKind {
			r.notes = append(r.notes, fmt.Sprintf("%s runs on %d of %d %s nodes: its own template admits no more", workloadKey(w.Kind, w.Namespace, w.Name), len(nodes), ofKind, w.Node))
		}
	}
	for _, p := range pods {
		if p.Spec.NodeName != "" && !slices.Contains(nodes, p.Spec.NodeName) {
			r.wrong = append(r.wrong, wrongWorkload{w, fmt.Sprintf("pod %s/%s is on node %s, which its template does not admit", p.Namespace, p.Name, p.Spec.NodeName)})
			return 0, false
		}
	}
	return len(nodes), true
}

func (r *workloadReport) checkPods(w *bundle.Workload, id string, want int, pods []*corev1.Pod, kinds map[string]bundle.NodeKind) {
	good := 0
	var states []string
	for _, p := range pods {
		name := p.Namespace + "/" + p.Name
		if p.Spec.NodeName == "" {
			if message, refused := refusedByScheduler(p); refused {
				r.pending = append(r.pending, pendingPod{w, name, message})
			}
			states = append(states, "pod "+name+" is not scheduled")
			continue
		}
		if kind := kinds[p.Spec.NodeName]; w.Node != bundle.NodeAny && kind != w.Node {
			r.wrong = append(r.wrong, wrongWorkload{w, fmt.Sprintf("pod %s is on node %s (%s); it belongs on %s nodes", name, p.Spec.NodeName, kind, w.Node)})
			continue
		}
		switch ok, state := podState(p, w); {
		case ok:
			good++
		case p.Status.Phase == corev1.PodFailed && w.Kind != "Job":
			r.wrong = append(r.wrong, wrongWorkload{w, "pod " + name + " " + state})
		default:
			states = append(states, "pod "+name+" "+state)
		}
	}
	r.pods += good
	if good != want {
		text := fmt.Sprintf("%s: %d of %d pods as they should be", id, good, want)
		if len(states) > 0 {
			text += " (" + states[0] + ")"
		}
		r.waiting = append(r.waiting, text)
	}
}

// podState: a Job's pod must have succeeded, a hook Pod may have, every other must be Running and Ready.
func podState(p *corev1.Pod, w *bundle.Workload) (bool, string) {
	succeeded := p.Status.Phase == corev1.PodSucceeded
	if w.Kind == "Job" || w.Kind == "Pod" && w.Hook && succeeded {
		return succeeded, "is " + string(p.Status.Phase)
	}
	if p.Status.Phase != corev1.PodRunning {
		return false, "is " + string(p.Status.Phase)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true, ""
		}
	}
	return false, "is Running but not Ready"
}

func refusedByScheduler(p *corev1.Pod) (string, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			// What follows "preemption:" repeats the same for a case that nothing here uses.
			message, _, _ := strings.Cut(c.Message, " preemption:")
			message, _, _ = strings.Cut(message, " no new claims to deallocate")
			return strings.TrimRight(message, " ,"), true
		}
	}
	return "", false
}

// schedulingFinding tells a person what could not be scheduled: grouped by workload, with the scheduler's sentence, what the
// template asks for, and the value path and file that decide it.
func schedulingFinding(r workloadReport, nodes []corev1.Node) *finding {
	type group struct {
		w    *bundle.Workload
		text string
		pods []string
	}
	var groups []*group
	byKey := map[string]*group{}
	for _, p := range r.pending {
		key := workloadKey(p.workload.Kind, p.workload.Namespace, p.workload.Name) + p.message
		g := byKey[key]
		if g == nil {
			g = &group{w: p.workload, text: p.message}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.pods = append(g.pods, p.pod)
	}
	for _, w := range r.wrong {
		groups = append(groups, &group{w: w.workload, text: w.text})
	}
	f := &finding{}
	for i, g := range groups {
		head := workloadKey(g.w.Kind, g.w.Namespace, g.w.Name) + " (" + g.w.Component + "): "
		if i == 0 {
			f.cause = head + g.text
			if len(groups) > 1 {
				f.cause += fmt.Sprintf(" (and %d more)", len(groups)-1)
			}
		}
		f.details = append(f.details, head+g.text)
		if len(g.pods) > 0 {
			f.details = append(f.details, "  pods: "+strings.Join(atMost(g.pods, 4), ", "))
			if why := describeTemplate(&g.w.PodSpec, nodes); why != "" {
				f.details = append(f.details, "  "+why)
			}
		}
		f.details = append(f.details, decidedBy(g.w, g.text)...)
	}
	return f
}

// decidedBy names the value paths and files that decide where a workload's pods go: the tolerations where taints are the trouble,
// the selector otherwise.
func decidedBy(w *bundle.Workload, trouble string) []string {
	what, paths := "selector", w.SelectorPaths
	if strings.Contains(trouble, "taint") && !strings.Contains(trouble, "affinity/selector") {
		what, paths = "tolerations", w.TolerationPaths
	}
	if strings.Contains(trouble, "Insufficient") && !strings.Contains(trouble, "affinity/selector") {
		return []string{"  it asks for more than those nodes have left: " + requests(&w.PodSpec)}
	}
	var lines []string
	for _, vp := range paths {
		if vp.Set {
			lines = append(lines, fmt.Sprintf("  %s: value path %s, set in %s", what, vp.Path, vp.Origin))
		} else {
			lines = append(lines, fmt.Sprintf("  %s: value path %s, set by the harness only (component declared in %s)", what, vp.Path, vp.Origin))
		}
	}
	if len(paths) == 0 && w.Template != "" {
		lines = append(lines, fmt.Sprintf("  %s: no value path of the registry reaches %s", what, w.Template))
	}
	return lines
}

// requests lists what the containers of a template ask for, summed.
func requests(spec *corev1.PodSpec) string {
	sum := map[string]resource.Quantity{}
	for i := range spec.Containers {
		for name, q := range spec.Containers[i].Resources.Requests {
			total := sum[string(name)]
			total.Add(q)
			sum[string(name)] = total
		}
		for name, q := range spec.Containers[i].Resources.Limits {
			if _, asked := spec.Containers[i].Resources.Requests[name]; !asked { // a limit alone is a request too
				total := sum[string(name)]
				total.Add(q)
				sum[string(name)] = total
			}
		}
	}
	var parts []string
	for _, name := range sortedKeys(sum) {
		q := sum[name]
		parts = append(parts, name+"="+q.String())
	}
	return strings.Join(parts, ", ")
}

func atMost(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(append([]string(nil), list[:n]...), fmt.Sprintf("and %d more", len(list)-n))
}
