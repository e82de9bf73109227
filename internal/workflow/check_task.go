package workflow

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The operations on an object in Configure, and the ways in which checkConfigmap compares.
const (
	opCreate = "create"
	opDelete = "delete"
	opEqual  = "equal"
	opSubset = "subset"
)

// check returns what is wrong with a task by itself. line returns the line of a field of its
// params.
func (t *Task) check(line func(field string) int) Problems {
	var all Problems
	say := func(field, format string, args ...any) {
		all = append(all, t.problem(line(field), format, args...))
	}
	required := func(field string, is bool) {
		if !is {
			say(field, "params: %s is required", field)
		}
	}
	switch p := t.params.(type) {
	case *configureParams:
		required("timeout", p.Timeout > 0)
		for _, problem := range checkVirtualNodes(p.Nodes) {
			all = append(all, t.problem(problem.Line, "%s", problem.Text))
		}
		p.check(say)
	case *registerParams:
		required("template", p.Template != "")
	case *submitParams:
		required("refTaskId", p.RefTaskID != "")
		if p.Count != nil && *p.Count < 1 {
			say("count", "params: count %d: want 1 or more", *p.Count)
		}
	case *stateParams:
		required("refTaskId", p.RefTaskID != "")
		required("state", len(p.State) > 0)
		if p.Index < 0 {
			say("index", "params: index %d: want 0 or more", p.Index)
		}
	case *checkPodParams:
		required("refTaskId", p.RefTaskID != "")
		required("status", p.Status != "" || len(p.NodeLabels) > 0)
		phases := []string{"", string(corev1.PodPending), string(corev1.PodRunning), string(corev1.PodSucceeded), string(corev1.PodFailed), string(corev1.PodUnknown)}
		if !slices.Contains(phases, p.Status) {
			say("status", "params: status %q is no phase of a pod; there are: %s", p.Status, strings.Join(phases[1:], ", "))
		}
	case *checkConfigmapParams:
		required("name", p.Name != "")
		required("namespace", p.Namespace != "")
		if p.Op != opEqual && p.Op != opSubset {
			say("op", "params: op %q: want %s or %s", p.Op, opEqual, opSubset)
		}
	case *deleteParams:
		required("refTaskId", p.RefTaskID != "")
	case *updateNodesParams:
		required("selectors", len(p.Selectors) > 0)
		required("state", len(p.State) > 0)
		for field := range p.State {
			if !slices.Contains([]string{"metadata", "spec", "status"}, field) {
				say("state", "params: state: a node has metadata, spec and status, and no %s", field)
			}
		}
	case *sleepParams:
		required("timeout", p.Timeout > 0)
	}
	return all
}

func (p *configureParams) check(say func(field, format string, args ...any)) {
	op := func(field, name, op string) {
		if name == "" {
			say(field, "params: %s: name is required", field)
		}
		if op != opCreate && op != opDelete {
			say(field, "params: %s: %s: op %q: want %s or %s", field, name, op, opCreate, opDelete)
		}
	}
	for _, n := range p.Namespaces {
		op("namespaces", n.Name, n.Op)
	}
	for _, c := range p.ConfigMaps {
		op("configmaps", c.Name, c.Op)
		if c.Namespace == "" {
			say("configmaps", "params: configmaps: %s: namespace is required", c.Name)
		}
	}
	for _, c := range p.PriorityClasses {
		op("priorityClasses", c.Name, c.Op)
		if c.Op == opCreate && c.Value == nil {
			say("priorityClasses", "params: priorityClasses: %s: value is required to create it", c.Name)
		}
	}
	for _, d := range p.DeploymentRestarts {
		if d.Namespace == "" || (d.Name == "") == (len(d.Labels) == 0) {
			say("deploymentRestarts", "params: deploymentRestarts: want a namespace, and either a name or labels")
		}
	}
}
