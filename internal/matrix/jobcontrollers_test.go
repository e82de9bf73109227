package matrix

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/probe"
)

// bothControllers are JobSet and Trainer, in the order in which they start.
func bothControllers() []infra.JobController {
	return []infra.JobController{
		{Name: "jobset", Title: "JobSet", Version: "v0", Groups: []string{"jobset.x-k8s.io"}},
		{Name: "trainer", Title: "Kubeflow Trainer", Version: "v2", Groups: []string{"trainer.kubeflow.org"}, Needs: []string{"jobset"}},
	}
}

// The controllers run in cells whose probes have a job for them, and in no others; a version is
// part of what a verdict depends on.
func TestPlanControllers(t *testing.T) {
	r := unitRunner(t)
	r.Probes = true
	planned := func(recipe string) string {
		t.Helper()
		plans, err := r.Plan(recipe, bundle.Deployers()[:1])
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, j := range plans[0].controllers {
			names = append(names, j.String())
		}
		if plans[0].RunsControllers() != (len(names) > 0) {
			t.Errorf("%s: it does not say that it runs %v", recipe, names)
		}
		return strings.Join(names, ", ")
	}
	const kubeflow = "h100-eks-ubuntu-training-kubeflow"
	if got := planned(kubeflow); got != "" {
		t.Errorf("not asked for: got %s", got)
	}
	r.JobControllers = bothControllers()
	if got := planned(kubeflow); got != "JobSet v0, Kubeflow Trainer v2" {
		t.Errorf("a TrainJob: got %q", got)
	}
	if got := planned("eks-training"); got != "" {
		t.Errorf("a recipe without one: got %q", got)
	}
	r.JobControllers = bothControllers()[:1]
	if got := planned(kubeflow); got != "" {
		t.Errorf("JobSet alone makes nothing of a TrainJob: got %q", got)
	}
	r.JobControllers, r.Probes = bothControllers(), false
	if got := planned(kubeflow); got != "" {
		t.Errorf("without probes: got %q", got)
	}
}

// jobHost is a cluster that starts controllers of jobs.
type jobHost struct {
	infra.Cluster
	asked     []string
	namespace string
	installed []string
	err       error
}

func (h *jobHost) StartJobControllers(_ context.Context, namespace string, names []string) (*infra.JobControllers, error) {
	h.namespace, h.asked = namespace, names
	return &infra.JobControllers{Clients: &infra.Clients{}, Installed: h.installed}, h.err
}

// The controllers start once the cell's turn has come, after the gate and before the probes; the
// result names them, and what they needed.
func TestStartJobControllers(t *testing.T) {
	r := testRunner()
	c := r.newCell(Plan{Deployer: deployers(t, bundle.Helm)[0], controllers: bothControllers(), probes: []*probe.Probe{{}}}, nil)
	steps := c.steps()
	at := slices.IndexFunc(steps, func(s step) bool { return s.phase == "job-controllers" })
	if at < 1 || steps[at].ahead || steps[at-1].phase != "read-back" || steps[at+1].phase != "probes" {
		t.Fatalf("got the steps %+v", steps)
	}
	host := &jobHost{installed: []string{"jobsets.jobset.x-k8s.io"}}
	c.env = &lane.Env{Cluster: host}
	if err := steps[at].do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if host.namespace != probe.Namespace || !slices.Equal(host.asked, []string{"jobset", "trainer"}) || c.jobs == nil {
		t.Errorf("got %+v", host)
	}
	notes := strings.Join(c.result.Notes, "\n")
	for _, want := range []string{"JobSet v0, Kubeflow Trainer v2 run as their own programs", "does not install the definitions jobsets.jobset.x-k8s.io; the programs' own were installed"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the result does not say %q: %s", want, notes)
		}
	}
	if got := c.madeBy(); !maps.Equal(got, map[string]string{"jobset.x-k8s.io": "JobSet v0 (the real one)", "trainer.kubeflow.org": "Kubeflow Trainer v2 and JobSet v0 (the real ones)"}) {
		t.Errorf("got %q", got)
	}
	// What runs as a pod of the recipe does not run a second time.
	c.own = bothControllers()
	host.asked = nil
	if err := steps[at].do(t.Context()); err != nil || len(host.asked) > 0 {
		t.Errorf("%v; started beside the recipe's own: %q", err, host.asked)
	}
	if got := c.madeBy(); got["trainer.kubeflow.org"] != "Kubeflow Trainer v2 and JobSet v0 (of the recipe's own pods)" {
		t.Errorf("got %q", got)
	}
	c.own = nil
	host.err = reason.New(reason.SchedulerFailed, "it ended")
	if err := steps[at].do(t.Context()); reason.Of(err) != reason.SchedulerFailed {
		t.Errorf("got %v", err)
	}
	if c = r.newCell(Plan{Deployer: deployers(t, bundle.Helm)[0], probes: []*probe.Probe{{}}}, nil); slices.ContainsFunc(c.steps(), func(s step) bool { return s.phase == "job-controllers" }) {
		t.Error("controllers start that nobody asked for")
	}
}
