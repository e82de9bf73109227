package why

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// SchedulingFinding reports what could not be scheduled: by workload, with the scheduler's message,
// what rules out each group of nodes, and the value, file and line to edit. It has to fit on a
// first screen. expected has the claims that pods wait for; nil if that is not known.
func SchedulingFinding(expected *bundle.Expectation, r observe.WorkloadReport, view *observe.View) *result.Failure {
	type group struct {
		w     *bundle.Workload
		text  string
		pods  []observe.PodFacts
		names []string // of the pods
		more  []string // the explanation
		place result.Place
	}
	var groups []*group
	byKey := map[string]*group{}
	for _, p := range r.Pending {
		key := observe.WorkloadKey(p.Workload.Kind, p.Workload.Namespace, p.Workload.Name) + p.Message
		g := byKey[key]
		if g == nil {
			g = &group{w: p.Workload, text: p.Message}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.pods = append(g.pods, p.PodFacts)
	}
	for _, g := range groups {
		e := explainPods(g.pods, g.w, view)
		g.names, g.more, g.place = e.Pods, e.lines(), placeOf(e.sources)
		if no := e.noFurther(); no != "" {
			g.text += "; " + no
		}
		if g.place.Line == 0 && g.w != nil {
			line := ""
			if line, g.place = refusedField(expected, e.Groups, g.w); line != "" {
				g.more = append(g.more, line)
			}
		}
	}
	for _, w := range r.Wrong {
		g := &group{w: w.Workload, text: w.Text}
		if w.Template {
			e := explainTemplate(w.Workload, view)
			g.text += ": " + strings.Join(groupTexts(e.Groups), ", ")
			g.more, g.place = e.lines(), placeOf(e.sources)
		} else if w.Node {
			g.more, g.place = steeredBy(w.Workload)
		} else {
			g.more, g.place = decidedBy(&w)
		}
		if overdue(&w) {
			if e := explainTemplate(w.Workload, view); len(e.Groups) > 0 && e.Refused() { // its pods are deleted, and its template is left
				g.text += "; no node admits its pods: " + strings.Join(groupTexts(e.Groups), ", ")
				g.more = append(g.more, e.lines()...)
				if g.place.Line == 0 {
					g.place = placeOf(e.sources)
				}
			}
		}
		groups = append(groups, g)
	}
	f := &result.Failure{}
	for i, g := range groups {
		ref := observe.WorkloadRef(g.w.Kind, g.w.Namespace, g.w.Name)
		found := result.Finding{Cause: fmt.Sprintf("%s (%s): %s", ref, g.w.Component, g.text), Object: &ref, Component: g.w.Component, Place: g.place, Pods: g.names}
		found.Story = append(found.Story, found.Cause)
		if len(g.names) > 0 {
			found.Story = append(found.Story, "  pods: "+strings.Join(lists.AtMost(g.names, 4), ", "))
		}
		// One value often decides for many workloads: it is explained once.
		same := slices.IndexFunc(groups[:i], func(o *group) bool {
			return o.text == g.text && len(o.pods) > 0 && len(g.pods) > 0 && slices.Equal(o.more, g.more)
		})
		if same >= 0 {
			found.SameAs = f.Findings[same].Object
			found.Story = append(found.Story, "  for the same reasons as "+found.SameAs.String())
		} else {
			for _, line := range g.more {
				found.Story = append(found.Story, "  "+line)
			}
		}
		f.Findings = append(f.Findings, found)
	}
	return f
}

// refusedField is the field that decides where no value is known to: of pods that are to be apart, or together, in
// their template, and of a claim that is not bound, its StorageClass.
func refusedField(expected *bundle.Expectation, groups []NodeGroup, w *bundle.Workload) (string, result.Place) {
	for i := range groups {
		for _, r := range groups[i].Refusals {
			path := map[RefusalKind][]string{
				refusalSpread: {"spec", "topologySpreadConstraints"}, refusalPodAffinity: {"spec", "affinity", "podAffinity"}, refusalAntiAffinity: {"spec", "affinity", "podAntiAffinity"},
			}[r.Kind]
			at, ok := recipe.Origin{}, false
			switch {
			case path != nil:
				at, ok = w.Origin(path...)
			case r.Kind == refusalVolume && expected != nil:
				if path, at, ok = claimOrigin(expected, w, r.Key); ok {
					break
				}
				for _, v := range expected.Classes { // an operator makes the claim
					if v.Component == w.Component && v.Class == r.class {
						return "storageClassName: value path " + v.Path + ", set in " + v.Origin.String(), result.Place{File: v.Origin.File, Line: v.Origin.Line}
					}
				}
			}
			if ok {
				return path[len(path)-1] + ": set in " + at.String(), result.Place{File: at.File, Line: at.Line}
			}
		}
	}
	return "", result.Place{}
}

// claimOrigin is where a claim of a workload's pods names its StorageClass, or where it is: an object of its own, or a
// template of a StatefulSet, whose claims are TEMPLATE-STATEFULSET-NUMBER.
func claimOrigin(expected *bundle.Expectation, w *bundle.Workload, claim string) (path []string, at recipe.Origin, ok bool) {
	for _, c := range facts.ClaimsOf(expected) {
		ofSet := c.From.Kind == w.Kind && c.From.Name == w.Name && strings.HasPrefix(claim, c.Name+"-"+w.Name+"-")
		if c.Path == "" || c.Namespace != w.Namespace || c.First != claim && !ofSet {
			continue
		}
		if path = fieldPath(c.Path); c.Spec.StorageClassName != nil {
			path = append(path, "storageClassName")
		}
		at, ok = expected.Object(c.From).Origin(path...)
		return path, at, ok
	}
	return nil, at, false
}

// overdue reports whether a Job was ended by its deadline, which a pod without a node reaches too.
func overdue(w *observe.WrongWorkload) bool {
	return w.Workload.Kind == "Job" && strings.Contains(w.Text, batchv1.JobReasonDeadlineExceeded)
}

// groupTexts returns the shortest description of groups, for a cause of one line.
func groupTexts(groups []NodeGroup) []string {
	var texts []string
	for i := range groups {
		g := &groups[i]
		if len(g.Refusals) == 0 {
			continue
		}
		var kinds []string
		for _, r := range g.Refusals {
			what := string(r.Kind)
			if r.Key != "" {
				what += " " + r.Key
			}
			if r.Kind == refusalMax {
				what += " of " + r.Wanted
			}
			kinds = append(kinds, what)
		}
		verb := " refuse by "
		if g.further() {
			verb = " refuses by "
		}
		texts = append(texts, g.Name+verb+strings.Join(kinds, " and "))
	}
	return texts
}

// steeredBy returns the value paths behind a pod on a wrong node, and the first place to open.
func steeredBy(w *bundle.Workload) ([]string, result.Place) {
	if w.Built != nil {
		lines, found := (&provenance{w: w}).built("selector", "selector")
		return lines, placeOf(found)
	}
	var lines []string
	var found []source
	for _, vp := range w.SelectorPaths {
		lines = append(lines, "selector: "+pathText(vp))
		found = append(found, pathSource(vp))
	}
	if at, ok := w.Origin("spec", "nodeSelector"); len(lines) == 0 && ok {
		return []string{"selector: set in " + at.String()}, result.Place{File: at.File, Line: at.Line}
	}
	if len(lines) == 0 && w.Template != "" {
		lines = append(lines, "selector: no value path of the registry reaches "+w.In("spec", "nodeSelector"))
	}
	return lines, placeOf(found)
}

// lines returns the explanation after its head: a line per group of nodes and per source, and one
// for the edits.
func (e *Explanation) lines() []string {
	lines := slices.Clone(e.Notes)
	for i := range e.Groups {
		lines = append(lines, e.Groups[i].String())
	}
	lines = append(lines, e.Sources...)
	if len(e.Edits) > 0 {
		lines = append(lines, "edit: "+strings.Join(e.Edits, "; or "))
	}
	return lines
}

// Subject returns what the explanation is about, e.g. "pod a/b-1 and 2 more, of Deployment a/b
// (component)".
func (e *Explanation) Subject() string {
	var s string
	switch len(e.Pods) {
	case 0:
		s = "pods"
	case 1:
		s = "pod " + e.Pods[0]
	default:
		s = fmt.Sprintf("pod %s and %d more", e.Pods[0], len(e.Pods)-1)
	}
	if e.Workload != "" {
		s += " of " + e.Workload
	}
	if e.Component != "" {
		s += " (" + e.Component + ")"
	}
	return s
}
