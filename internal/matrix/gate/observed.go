package gate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// ObservedRecord is what the gate's newest poll saw, which is not the end of the cell.
type ObservedRecord struct {
	// At is when the workloads were read; zero if only the deployer's own objects were.
	At time.Time `json:"at,omitzero"`
	// Unreadable is why later polls saw nothing; empty if none failed.
	Unreadable string             `json:"unreadable,omitempty"`
	Items      []ObservedItem     `json:"items,omitempty"`
	Missing    []string           `json:"missing,omitempty"` // objects reported as delivered that did not exist
	Workloads  []ObservedWorkload `json:"workloads,omitempty"`
	Nodes      []observe.NodePool `json:"nodes,omitempty"`
}

// ObservedItem is one object that the deployer reports on, as the last poll saw it.
type ObservedItem struct {
	ID     string     `json:"id"`
	State  string     `json:"state"`
	Text   string     `json:"text,omitempty"`
	Object result.Ref `json:"object"`
}

// ObservedWorkload is one expected workload: as expected if it has no problems.
type ObservedWorkload struct {
	ID       string        `json:"id"`
	Absent   bool          `json:"absent,omitempty"` // it does not exist yet, and should
	Problems []string      `json:"problems,omitempty"`
	Pods     []ObservedPod `json:"pods,omitempty"`
}

// ObservedPod is one pod of an expected workload, as the last poll saw it.
type ObservedPod struct {
	Name  string `json:"name"`
	Node  string `json:"node,omitempty"`
	Phase string `json:"phase"`
	Ready bool   `json:"ready"`
	// Refused is the scheduler's message, if it found no node for the pod.
	Refused string `json:"refused,omitempty"`
}

// Observed returns the last poll of a gate, in the form of cell.json; nil without one.
func (g *Gate) Observed() *ObservedRecord {
	if len(g.State.Items) == 0 && g.View == nil && g.ReadErr == nil {
		return nil
	}
	rec := &ObservedRecord{Missing: observe.MissingTexts(g.lastMissing)}
	if g.ReadErr != nil {
		rec.Unreadable = g.ReadErr.Error()
	}
	for _, it := range g.State.Items {
		rec.Items = append(rec.Items, ObservedItem{ID: it.ID, State: it.State.String(), Text: it.Text, Object: it.Ref})
	}
	if g.View == nil {
		return rec
	}
	rec.At = g.View.Taken.UTC()
	rec.Nodes = observe.NodePools(g.View)
	workloads := g.expectation().Workloads
	for i := range workloads {
		rec.Workloads = append(rec.Workloads, observeWorkload(&workloads[i], g.View))
	}
	return rec
}

// observeWorkload applies the gate's own rules to one workload.
func observeWorkload(w *bundle.Workload, s *observe.View) ObservedWorkload {
	rec := ObservedWorkload{ID: observe.WorkloadKey(w.Kind, w.Namespace, w.Name)}
	report := observe.CheckWorkloads([]bundle.Workload{*w}, s)
	for _, bad := range report.Wrong {
		rec.Problems = append(rec.Problems, bad.Text)
	}
	for _, late := range report.Waiting {
		rec.Problems = append(rec.Problems, late.Text)
	}
	var pods []*corev1.Pod
	exists := true
	if w.Kind == "Pod" {
		p := s.BarePod(w.Namespace, w.Name)
		if exists = p != nil; exists {
			pods = append(pods, p)
		}
	} else {
		var live observe.LiveWorkload
		live, exists = s.Live[rec.ID]
		pods = s.PodsOf[live.UID]
	}
	// A hook's Pod or Job may have run and been deleted: then it has no problems.
	rec.Absent = !exists && len(rec.Problems) > 0
	for _, p := range pods {
		pod := ObservedPod{Name: infra.NamespacedName(p.Namespace, p.Name), Node: p.Spec.NodeName, Phase: string(p.Status.Phase), Ready: observe.PodReady(p)}
		if facts := observe.FactsOf(p); facts.Unschedulable {
			pod.Refused = facts.Scheduler
		}
		rec.Pods = append(rec.Pods, pod)
	}
	return rec
}
