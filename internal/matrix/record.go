package matrix

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// cellRecord is cell.json: the result, and the two sides that the gate compared. It has names, counts and states, never the content
// of an object, so that no Secret's value can be in it.
type cellRecord struct {
	Result
	Expectation *expectationRecord `json:"expectation,omitempty"` // nil if there is no bundle
	Observed    *observedRecord    `json:"observed,omitempty"`    // nil if the gate never looked
}

// expectationRecord is a bundle.Expectation without the content of objects.
type expectationRecord struct {
	Releases []releaseRecord `json:"releases"`
	// Delivered are the objects by which the deployer's controllers deliver: Applications, HelmReleases, sources.
	Delivered []deliveredRecord  `json:"delivered,omitempty"`
	Workloads []expectedWorkload `json:"workloads"`
	Objects   []expectedObject   `json:"objects"`
}

type deliveredRecord struct {
	result.Ref
	Root bool `json:"root,omitempty"` // it makes the others
}

type releaseRecord struct {
	Component    string   `json:"component"`
	Name         string   `json:"name"`
	Namespace    string   `json:"namespace"`
	Chart        string   `json:"chart"`
	ChartVersion string   `json:"chartVersion"`
	Local        bool     `json:"local,omitempty"`
	DependsOn    []string `json:"dependsOn,omitempty"`
}

type expectedWorkload struct {
	ID        string `json:"id"` // Kind namespace/name
	Component string `json:"component"`
	Release   string `json:"release"`
	// Pods is -1 for a DaemonSet: one on every node that its template admits.
	Pods            int          `json:"pods"`
	Nodes           string       `json:"nodes,omitempty"` // the kind of node; empty for any
	Template        string       `json:"template,omitempty"`
	Operator        string       `json:"operator,omitempty"`
	Hook            bool         `json:"hook,omitempty"`
	Ephemeral       bool         `json:"ephemeral,omitempty"`
	SelectorPaths   []pathRecord `json:"selectorPaths,omitempty"`
	TolerationPaths []pathRecord `json:"tolerationPaths,omitempty"`
}

type pathRecord struct {
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Set    bool   `json:"set"` // a file of the recipe sets it; otherwise only the harness does
}

type expectedObject struct {
	ID        string `json:"id"` // Kind namespace/name, as rendered
	Component string `json:"component"`
	Template  string `json:"template,omitempty"`
	Ephemeral bool   `json:"ephemeral,omitempty"`
}

func recordExpectation(e bundle.Expectation) *expectationRecord {
	rec := &expectationRecord{}
	for _, d := range e.Delivered {
		rec.Delivered = append(rec.Delivered, deliveredRecord{d.Ref, d.Root})
	}
	for _, r := range e.Releases {
		rec.Releases = append(rec.Releases, releaseRecord{
			Component: r.Component, Name: r.Name, Namespace: r.Namespace, Chart: r.Chart, ChartVersion: r.ChartVersion, Local: r.Local, DependsOn: r.DependsOn,
		})
	}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		rec.Workloads = append(rec.Workloads, expectedWorkload{
			ID: workloadKey(w.Kind, w.Namespace, w.Name), Component: w.Component, Release: w.Release, Pods: w.Replicas, Nodes: string(w.Node),
			Template: w.Template, Operator: w.Operator, Hook: w.Hook, Ephemeral: w.Ephemeral,
			SelectorPaths: recordPaths(w.SelectorPaths), TolerationPaths: recordPaths(w.TolerationPaths),
		})
	}
	for _, o := range e.Objects {
		rec.Objects = append(rec.Objects, expectedObject{
			ID:        o.Object.GetKind() + " " + infra.NamespacedName(o.Object.GetNamespace(), o.Object.GetName()),
			Component: o.Component, Template: o.Template, Ephemeral: o.Ephemeral,
		})
	}
	return rec
}

func recordPaths(paths []bundle.ValuePath) []pathRecord {
	var recs []pathRecord
	for _, p := range paths {
		recs = append(recs, pathRecord{Path: p.Path, Origin: p.Origin.String(), Set: p.Set})
	}
	return recs
}

// observedRecord is what the gate saw last: its newest look, not the end of the cell.
type observedRecord struct {
	// At is when the workloads were read; zero if only the deployer's own objects were.
	At time.Time `json:"at,omitzero"`
	// Unreadable is why looks after that one saw nothing; empty if none failed.
	Unreadable string             `json:"unreadable,omitempty"`
	Items      []observedItem     `json:"items,omitempty"`
	Missing    []string           `json:"missing,omitempty"` // objects that were reported as delivered and did not exist
	Workloads  []observedWorkload `json:"workloads,omitempty"`
	Nodes      []nodePool         `json:"nodes,omitempty"`
}

type observedItem struct {
	ID     string     `json:"id"`
	State  string     `json:"state"`
	Text   string     `json:"text,omitempty"`
	Object result.Ref `json:"object"`
}

// observedWorkload is one expected workload: as it should be if it has no problems.
type observedWorkload struct {
	ID       string        `json:"id"`
	Absent   bool          `json:"absent,omitempty"` // nothing has made it yet, and something should have
	Problems []string      `json:"problems,omitempty"`
	Pods     []observedPod `json:"pods,omitempty"`
}

type observedPod struct {
	Name  string `json:"name"`
	Node  string `json:"node,omitempty"`
	Phase string `json:"phase"`
	Ready bool   `json:"ready"`
	// Refused is the scheduler's sentence, if it could not place the pod.
	Refused string `json:"refused,omitempty"`
}

// observed is the newest look of a gate, in the form of cell.json; nil if there was none.
func (g *gate) observed() *observedRecord {
	if len(g.lastState.Items) == 0 && g.lastSnap == nil && g.readErr == nil {
		return nil
	}
	rec := &observedRecord{Missing: missingTexts(g.lastMissing)}
	if g.readErr != nil {
		rec.Unreadable = g.readErr.Error()
	}
	for _, it := range g.lastState.Items {
		rec.Items = append(rec.Items, observedItem{ID: it.ID, State: it.State.String(), Text: it.Text, Object: it.Ref})
	}
	if g.lastSnap == nil {
		return rec
	}
	rec.At = g.lastSnap.taken.UTC()
	rec.Nodes = nodePools(g.lastSnap)
	for i := range g.env.Bundle.Expectation.Workloads {
		rec.Workloads = append(rec.Workloads, observeWorkload(&g.env.Bundle.Expectation.Workloads[i], g.lastSnap))
	}
	return rec
}

// observeWorkload asks the gate's own rules about one workload.
func observeWorkload(w *bundle.Workload, s *snapshot) observedWorkload {
	rec := observedWorkload{ID: workloadKey(w.Kind, w.Namespace, w.Name)}
	report := checkWorkloads([]bundle.Workload{*w}, s)
	for _, bad := range report.wrong {
		rec.Problems = append(rec.Problems, bad.text)
	}
	for _, late := range report.waiting {
		rec.Problems = append(rec.Problems, late.text)
	}
	var pods []*corev1.Pod
	exists := true
	if w.Kind == "Pod" {
		p := s.barePod(w.Namespace, w.Name)
		if exists = p != nil; exists {
			pods = append(pods, p)
		}
	} else {
		var live liveWorkload
		live, exists = s.workload[rec.ID]
		pods = s.podsOf[live.uid]
	}
	// A hook's Pod or Job may have run and been deleted: then the gate has no complaint.
	rec.Absent = !exists && len(rec.Problems) > 0
	for _, p := range pods {
		pod := observedPod{Name: infra.NamespacedName(p.Namespace, p.Name), Node: p.Spec.NodeName, Phase: string(p.Status.Phase), Ready: podReady(p)}
		pod.Refused, _ = refusedByScheduler(p)
		rec.Pods = append(rec.Pods, pod)
	}
	return rec
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
