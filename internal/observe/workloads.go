package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	names "github.com/nvidia/aicr-action/internal/util/lists"
)

// WorkloadReport is what one poll shows of the expected workloads.
type WorkloadReport struct {
	Pods    int // pods in their final state
	Waiting []WaitingWorkload
	// Pending are pods that the scheduler cannot place, or that no scheduler handles. They count as
	// failed once that lasts (package gate).
	Pending []PendingPod
	// Wrong are those that waiting cannot fix: a pod on the wrong kind of node, a template that no
	// node admits, a failed Job.
	Wrong []WrongWorkload
	// Refused are those with too few pods because the API server rejects them. They are in Waiting,
	// too.
	Refused []RefusedWorkload
	Notes   []string

	nodeless map[string][]string // DaemonSets by the groups of which only a further node would admit their pods
}

// WaitingWorkload is a workload that may still become ready.
type WaitingWorkload struct {
	Workload *bundle.Workload
	Text     string // "1 of 2 pods as expected"
	// Started means that it exists and its controller has seen it. What keeps it from being ready
	// is in its pods.
	Started bool
	// Want is how many pods it must have, Made how many exist, Late those of them that are not
	// ready. All are zero if its pods were not examined.
	Want, Made int
	Late       []*corev1.Pod
	// Undecided means that a controller or the scheduler has still to speak: it exists, and has no
	// pod and no refusal yet, or a pod that the scheduler has not looked at.
	Undecided bool
	// Absent means that it does not exist, although its deployer is to make it; Unmade, although its
	// operator is.
	Absent, Unmade bool
}

func (w WaitingWorkload) String() string {
	return WorkloadKey(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name) + ": " + w.Text
}

// WaitingTexts returns a line for each workload that is not ready.
func (r *WorkloadReport) WaitingTexts() []string {
	var lines []string
	for _, w := range r.Waiting {
		lines = append(lines, w.String())
	}
	return lines
}

// PendingPod is a pod that gets no node without a change, with why.
type PendingPod struct {
	Workload *bundle.Workload
	Message  string // e.g. the scheduler's: 0/6 nodes are available: …
	PodFacts
}

// WrongWorkload is a workload that waiting cannot fix.
type WrongWorkload struct {
	Workload *bundle.Workload
	Text     string
	// Template means that no node admits the workload's template, so that there is no pod to
	// explain.
	Template bool
	// Node means that the nodes of its pods are the wrong ones.
	Node bool
	// Fields are what decides otherwise: of the workload if they start with "spec.", of its pods if
	// not; "resources/limits.cpu" is one of the resources. More are lines about other objects that take part.
	Fields, More []string
}

// Scheduling reports whether the nodes of the pods are the matter: none admits them, or they are on
// the wrong ones.
func (w *WrongWorkload) Scheduling() bool {
	return w.Template || w.Node || slices.Contains(w.Fields, fieldNodeName)
}

// CheckWorkloads compares one poll of a cluster with the expectation.
func CheckWorkloads(expected []bundle.Workload, s *View) WorkloadReport {
	var r WorkloadReport
	kinds := nodeKinds(s.Nodes)
	for i := range expected {
		r.check(&expected[i], s, kinds)
	}
	for _, group := range slices.Sorted(maps.Keys(r.nodeless)) {
		of := r.nodeless[group]
		r.Notes = append(r.Notes, fmt.Sprintf("%s not verified, since only nodes of the group %s admit the pods and no pod made one: %s", names.Count(len(of), "DaemonSet"), group, strings.Join(names.AtMost(of, mostNodeless), ", ")))
	}
	return r
}

// mostNodeless is how many DaemonSets without a node are named.
const mostNodeless = 4

// without notes a DaemonSet whose pods only a further node of groups would admit.
func (r *WorkloadReport) without(groups, workload string) {
	if r.nodeless == nil {
		r.nodeless = map[string][]string{}
	}
	r.nodeless[groups] = append(r.nodeless[groups], strings.TrimPrefix(workload, "DaemonSet "))
}

func (r *WorkloadReport) check(w *bundle.Workload, s *View, kinds map[string]bundle.NodeKind) {
	id := WorkloadKey(w.Kind, w.Namespace, w.Name)
	var pods []*corev1.Pod
	if w.Kind == "Pod" {
		p := s.BarePod(w.Namespace, w.Name)
		if p == nil && w.Ephemeral {
			return // a hook that ran and was deleted
		}
		if p != nil {
			pods = []*corev1.Pod{p}
		}
	} else {
		live, ok := s.Live[id]
		switch {
		case !ok && w.Kind == "Job" && !w.Hook && !w.Unhooked && s.Jobs != nil:
			end := s.Jobs.of(w.Namespace, w.Name)
			if s.Earlier[end.uid] {
				end = jobEnd{}
			}
			r.deletedJob(w, end)
			return
		case !ok && w.Ephemeral:
			return // a hook that ran and was deleted; the deployer says whether it succeeded
		case !ok && w.Operator != "":
			r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: "not made yet from " + w.Operator, Unmade: true})
			return
		case !ok:
			r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: "does not exist yet", Absent: true})
			return
		case live.failed != "" && s.Spent[live.UID]:
			return
		case live.failed != "" && s.Earlier[live.UID]:
			r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: "the Job that failed before this delivery is still there", Started: true})
			return
		case live.failed != "":
			r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: "the Job failed: " + live.failed + lastEnd(s.PodsOf[live.UID])})
			return
		case live.observed < live.generation:
			r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: "its controller has not seen it yet", Undecided: true})
			return
		case live.complaint != "":
			r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: r.refuse(w, live.complaint), Started: true})
			return
		case w.Kind == "CronJob":
			return // it creates pods on its schedule
		case w.Kind == "Job" && !live.complete && live.idle != "":
			r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: live.idle, Fields: []string{live.idleBy}})
			return
		case w.Kind == "Job" && !live.complete:
			r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: "not complete yet", Started: true})
		case w.Kind == "Job" && live.Object.GetDeletionTimestamp() != nil && len(s.PodsOf[live.UID]) == 0:
			// It has run, and its pods go before it does: Argo CD prunes the ordinary Job that a hook of its
			// name has replaced, and its own finalizer keeps that until the next sync.
			r.Pods += w.Replicas
			return
		}
		pods = s.PodsOf[live.UID]
	}
	want := w.Replicas
	if w.Kind == "DaemonSet" {
		var ok bool
		if want, ok = r.daemonSet(w, s, kinds, pods); !ok {
			return
		}
	}
	if s.Live[id].paused && len(pods) < want {
		r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: "it is paused (spec.paused), and nothing here resumes it", Fields: []string{"spec.paused"}})
		return
	}
	if text := s.taken(w, s.Live[id]); text != "" && len(pods) < want {
		r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: text, Fields: []string{"metadata.name"}})
		return
	}
	refused := ""
	if text := s.refused[s.Live[id].UID]; text != "" && len(pods) < want {
		refused = r.refuse(w, text)
	}
	if s.Live[id].enough {
		pods = slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodSucceeded })
		want = len(pods)
	}
	r.checkPods(w, want, pods, kinds, refused, s.Live[id], s)
}

// deletedJob judges a Job that does not exist: one with spec.ttlSecondsAfterFinished is deleted once
// it is complete or has failed.
func (r *WorkloadReport) deletedJob(w *bundle.Workload, end jobEnd) {
	switch {
	case end.failed != "":
		r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: "the Job failed: " + end.failed})
	case end.complete:
		r.Pods += w.Replicas
	default:
		r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: "does not exist yet", Absent: true})
	}
}

// daemonSet returns how many pods a DaemonSet must have: one on every node that its template
// admits. A template that admits no node, or nodes of the wrong kind, is wrong whatever its pods
// show: the DaemonSet controller creates no pod that would show it.
func (r *WorkloadReport) daemonSet(w *bundle.Workload, s *View, kinds map[string]bundle.NodeKind, pods []*corev1.Pod) (int, bool) {
	nodes := EligibleNodes(&w.PodSpec, s.Nodes)
	if len(nodes) == 0 {
		if os, foreign := ForeignOS(&w.PodSpec, s.Nodes); foreign {
			r.Notes = append(r.Notes, fmt.Sprintf("%s wants %s nodes; the cluster has none", WorkloadKey(w.Kind, w.Namespace, w.Name), os))
			return 0, false
		}
		if labels := optionalLabels(w, s.Nodes); len(labels) > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s runs on no node: its chart's template is for nodes with %s, which a person sets to switch it on, and none has it (%s)", WorkloadKey(w.Kind, w.Namespace, w.Name), strings.Join(labels, " and "), w.Template))
			return 0, false
		}
		if of := EligibleNodes(&w.PodSpec, s.Growth.Further()); len(of) > 0 {
			r.without(strings.Join(of, ", "), WorkloadKey(w.Kind, w.Namespace, w.Name))
			return 0, true
		}
		r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: "no node admits its pods", Template: true})
		return 0, false
	}
	if w.Node != bundle.NodeAny {
		ofKind := 0
		for _, n := range nodes {
			if kinds[n] != w.Node {
				r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: fmt.Sprintf("it belongs on %s nodes, but its template also admits %s (%s)", w.Node, n, kinds[n]), Node: true})
				return 0, false
			}
		}
		for _, k := range kinds {
			if k == w.Node {
				ofKind++
			}
		}
		if len(nodes) < ofKind {
			r.Notes = append(r.Notes, fmt.Sprintf("%s runs on %d of %d %s nodes: its own template admits no more", WorkloadKey(w.Kind, w.Namespace, w.Name), len(nodes), ofKind, w.Node))
		}
	}
	admitting := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		admitting[n] = true
	}
	for _, p := range pods {
		if p.Spec.NodeName != "" && !admitting[p.Spec.NodeName] {
			r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: fmt.Sprintf("pod %s/%s is on node %s, which its template does not admit", p.Namespace, p.Name, p.Spec.NodeName), Node: true})
			return 0, false
		}
	}
	return len(nodes), true
}

func (r *WorkloadReport) checkPods(w *bundle.Workload, want int, pods []*corev1.Pod, kinds map[string]bundle.NodeKind, refused string, live LiveWorkload, s *View) {
	good := 0
	state := refused // the first thing to say; a large cluster has thousands of pods that are not ready yet
	undecided := len(pods) == 0 && refused == ""
	var late []*corev1.Pod
	for _, p := range pods {
		if p.Spec.NodeName == "" {
			facts := FactsOf(p)
			if facts.Kept == "" {
				facts.Kept = s.waitsForClaim(p)
			}
			if message, pending := facts.Pending(); pending {
				r.Pending = append(r.Pending, PendingPod{w, message, facts})
			} else {
				undecided = true
			}
			if state == "" {
				state = "pod " + PodName(p) + " is not scheduled"
			}
			late = append(late, p)
			continue
		}
		if _, exists := kinds[p.Spec.NodeName]; !exists && w.PodSpec.NodeName != "" {
			r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: "pod " + PodName(p) + " is for node " + p.Spec.NodeName + " (spec.nodeName), which does not exist", Fields: []string{fieldNodeName}})
			continue
		}
		if kind := kinds[p.Spec.NodeName]; w.Node != bundle.NodeAny && kind != w.Node {
			r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: fmt.Sprintf("pod %s is on node %s (%s); it belongs on %s nodes", PodName(p), p.Spec.NodeName, kind, w.Node), Node: true})
			continue
		}
		switch ok, is := podState(p, w); {
		case ok:
			good++
		case p.Status.Phase == corev1.PodFailed && w.Kind != "Job":
			r.Wrong = append(r.Wrong, WrongWorkload{Workload: w, Text: "pod " + PodName(p) + " " + is})
		default:
			if state == "" {
				state = "pod " + PodName(p) + " on node " + p.Spec.NodeName + " " + is
			}
			late = append(late, p)
		}
	}
	r.Pods += good
	if rolling := live.rolling; good == want && rolling != "" {
		if state != "" {
			rolling += " (" + state + ")"
		}
		r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: rolling, Started: true, Want: want, Made: len(pods), Late: late})
	}
	if good != want {
		text := fmt.Sprintf("%d of %d pods as expected", good, want)
		if state != "" {
			text += " (" + state + ")"
		}
		r.Waiting = append(r.Waiting, WaitingWorkload{Workload: w, Text: text, Started: true, Want: want, Made: len(pods), Late: late, Undecided: undecided})
	}
}

// podState reports whether a pod is in its final state: a Job's pod has succeeded; a Pod of its own
// may have, if it is a hook or is not started again once it has ended; every other one is Running
// and Ready.
func podState(p *corev1.Pod, w *bundle.Workload) (bool, string) {
	succeeded := p.Status.Phase == corev1.PodSucceeded
	if w.Kind == "Job" || w.Kind == "Pod" && succeeded && (w.Hook || p.Spec.RestartPolicy != corev1.RestartPolicyAlways) {
		return succeeded, "is " + string(p.Status.Phase) + waitsFor(p)
	}
	if p.Status.Phase != corev1.PodRunning {
		return false, "is " + string(p.Status.Phase) + waitsFor(p)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true, ""
		}
	}
	return false, "is Running but not Ready" + waitsFor(p)
}

// waitsFor says why a container of a pod does not run; empty if that is not known, as for every pod
// that is simulated.
func waitsFor(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return fmt.Sprintf(": %s, %s", w.Reason, w.Message)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.ContainersReady && strings.HasPrefix(c.Message, infra.ProbeFails) {
			return ": " + c.Message
		}
	}
	return ""
}

// lastEnd says how the last of a Job's pods ended that failed; empty if that is not known, as for every
// pod that is simulated.
func lastEnd(pods []*corev1.Pod) string {
	var last *corev1.ContainerStateTerminated
	of := ""
	for _, p := range pods {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if t := c.State.Terminated; t != nil && t.ExitCode != 0 && (last == nil || last.FinishedAt.Before(&t.FinishedAt)) {
				last, of = t, PodName(p)
			}
		}
	}
	if last == nil {
		return ""
	}
	text := fmt.Sprintf("; pod %s ended with exit code %d", of, last.ExitCode)
	if last.Message != "" {
		text += ": " + last.Message
	}
	return text
}
