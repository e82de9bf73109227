package gate

import (
	"context"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// differs is how the cluster's own rendering differs from the bundle's.
type differs struct {
	// found are workloads that only the cluster has, as the newest poll saw them. without are objects
	// that only the bundle has.
	found   []bundle.Workload
	without []bundle.Object
}

// check compares the workloads that must be there with a view.
func (g *Gate) check(v *observe.View) observe.WorkloadReport {
	v.Growth.Groups = g.Groups
	g.differs.found = findUnforeseen(g.Env.Bundle, g.Env.Before, v)
	return observe.CheckWorkloads(g.expectation().Workloads, v)
}

// expectation is the bundle's, as the cluster renders it.
func (g *Gate) expectation() *bundle.Expectation {
	e := &g.Env.Bundle.Expectation
	if len(g.differs.found) == 0 && len(g.differs.without) == 0 {
		return e
	}
	gone := map[result.Ref]bool{}
	for i := range g.differs.without {
		gone[g.differs.without[i].Ref()] = true
	}
	rendered := *e
	rendered.Workloads = slices.DeleteFunc(slices.Concat(e.Workloads, g.differs.found), func(w bundle.Workload) bool {
		return gone[observe.WorkloadRef(w.Kind, w.Namespace, w.Name)]
	})
	rendered.Objects = slices.DeleteFunc(slices.Clone(e.Objects), func(o bundle.Object) bool { return gone[o.Ref()] })
	return &rendered
}

// notRendered learns, once a deployer has delivered everything, which of the objects that do not
// exist the cluster's own rendering does not have. It reports whether there are more of them.
func (g *Gate) notRendered(ctx context.Context, missing func(bundle.Object) bool) (bool, error) {
	var all []bundle.Object
	for _, o := range g.expectation().Objects {
		if missing(o) {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return false, nil
	}
	without, err := notRendered(ctx, g.Env, all)
	g.differs.without = append(g.differs.without, without...)
	return len(without) > 0, err
}

// absentWorkloads is notRendered for the workloads of a report.
func (g *Gate) absentWorkloads(ctx context.Context, state lane.State, r *observe.WorkloadReport) (bool, error) {
	if slices.ContainsFunc(state.Items, lane.Item.Open) || ctx.Err() != nil {
		return false, nil
	}
	absent := map[result.Ref]bool{}
	for _, w := range r.Waiting {
		if w.Absent {
			absent[observe.WorkloadRef(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name)] = true
		}
	}
	if len(absent) == 0 {
		return false, nil
	}
	return g.notRendered(ctx, func(o bundle.Object) bool { return absent[o.Ref()] })
}

// notes says what was not foreseen.
func (d *differs) notes() []string {
	var lines []string
	for i := range d.found {
		lines = append(lines, unforeseenLine(&d.found[i])+"; it was judged like the others")
	}
	for i := range d.without {
		lines = append(lines, notRenderedLine(&d.without[i]))
	}
	return lines
}
