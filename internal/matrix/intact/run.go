package intact

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// NewLosses returns the losses of a cell of which nothing was read yet. items are what its deployer
// reports, and upgraded means that another bundle was there before.
func NewLosses(items []lane.Item, upgraded bool) *Losses {
	l := &Losses{upgraded: upgraded}
	for _, it := range items {
		if it.State == lane.ItemAccepted {
			l.Differ = append(l.Differ, it.Different...)
		}
	}
	return l
}

// Run judges what is not live in one cell.
type Run struct {
	Env     *lane.Env
	Items   []lane.Item // of the deployer's last report
	Answers *Answers
	// Unsteady: a chart may render something else each time; Again renders them once more.
	Unsteady bool
	Again    func(context.Context) ([]bundle.Object, error)
	// Refreshed, if set, says what a rendering by the deployer's own will would change.
	Refreshed func(*bundle.Bundle, map[result.Ref][]string) []result.Finding
	// Rule takes out what the user ignores.
	Rule judge.Ruling
}

// Said is what is to be said besides a failure.
type Said struct {
	Notes, NotVerified []string
	Warnings           []result.Finding
}

// Do tells, of what was rendered and is not live, what the API server drops from what was changed
// since. Reasons: DEPLOY_FAILED, INTERNAL.
func (r *Run) Do(ctx context.Context, losses *Losses) (said Said, err error) {
	e := &r.Env.Bundle.Expectation
	if err := r.Rule.On(leaving(ctx, r.Env.Clients.Kube, e)); err != nil {
		return said, err
	}
	if n := r.Answers.Unasked; n > 0 {
		said.NotVerified = append(said.NotVerified, fmt.Sprintf("the API server did not say in time what it warns of, and what it drops, of %d objects", n))
	}
	for _, it := range r.Items {
		for _, ref := range it.Different {
			if it.State == lane.ItemAccepted {
				said.Notes = append(said.Notes, fmt.Sprintf("%s: the deployer finds %s different: %s", it.ID, ref, losses.Difference(ref, r.Answers.defaults(e.Objects, ref))))
			}
		}
	}
	var generated map[result.Ref][]string
	if (r.Refreshed != nil || losses.Len() > 0) && r.Unsteady {
		again, err := r.Again(ctx)
		if err != nil {
			return said, reason.Wrap(reason.Internal, err)
		}
		generated = Generated(e.Objects, again)
	}
	if r.Refreshed != nil {
		said.Warnings = r.Refreshed(r.Env.Bundle, generated)
	}
	dropped, warnings := losses.Report(Judge{
		Objects: e.Objects, Answers: r.Answers, Installs: r.Env.Bundle.Installs, Components: r.Env.Input.Components, Generated: generated, Mutates: r.mutates(),
	})
	said.Warnings = append(said.Warnings, warnings...)
	if len(dropped) == 0 {
		return said, nil
	}
	for i := range dropped {
		why.TraceField(ctx, r.Env.Input, r.Env.Bundle.Deployer, &dropped[i])
		if dropped[i].Place.File == "" {
			dropped[i].Place, _ = facts.PlaceOf(r.Env.Input.Components, dropped[i].Component, "", "")
		}
	}
	return said, r.Rule.On(&reason.Error{Reason: reason.DeployFailed, Err: &result.Failure{Findings: dropped}})
}

// mutates reports whether policies of the recipe, or webhooks that are called, may change what is
// applied.
func (r *Run) mutates() bool {
	return r.RunsPrograms() || slices.ContainsFunc(r.Env.Bundle.Expectation.Objects, mutatingBinding)
}

func mutatingBinding(o bundle.Object) bool {
	return o.Object.GetKind() == "MutatingAdmissionPolicyBinding"
}

// RunsPrograms reports whether programs of the recipe run, whose webhooks are called.
func (r *Run) RunsPrograms() bool {
	return slices.ContainsFunc(r.Env.Bundle.Expectation.Workloads, func(w bundle.Workload) bool {
		return slices.ContainsFunc(w.PodSpec.Containers, func(pod corev1.Container) bool { return r.Env.Cluster.Runs(&pod) })
	})
}
