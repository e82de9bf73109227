package matrix

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// cellRecord is cell.json: the result, and the two sides that the gate compared. It has names,
// counts and states, but never the content of an object, so that it cannot contain a Secret's
// value.
type cellRecord struct {
	result.Result
	Expectation *expectationRecord   `json:"expectation,omitempty"` // nil if there is no bundle
	Observed    *gate.ObservedRecord `json:"observed,omitempty"`    // nil if the gate never looked
}

// expectationRecord is a bundle.Expectation without the content of objects.
type expectationRecord struct {
	Releases []releaseRecord `json:"releases"`
	// Delivered are the objects by which the deployer's controllers deliver: Applications,
	// HelmReleases, sources.
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
	// Pods is -1 for a DaemonSet, which has one on every node that its template admits.
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
			ID: observe.WorkloadKey(w.Kind, w.Namespace, w.Name), Component: w.Component, Release: w.Release, Pods: w.Replicas, Nodes: string(w.Node),
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
