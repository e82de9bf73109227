package matrix

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/probe"
)

// probeFaults are recipes whose own pods all run, and on which no user could run a job.
func probeFaults() []fault {
	through := []string{bundle.Helm}
	probed := func(r *Runner) { r.Probes = true }
	return []fault{
		{
			id: "F73", what: "a queue without GPU quota: the recipe's pods run, its users' jobs never would", verdict: "fails in its probe, the queue named; a queue that may take GPUs passes, and the result says that it was judged, and the scheduler simulated",
			seeds: []seed{
				{lanes: through, runner: probed, recipe: kaiRecipe, want: outcomeWanted{reason: reason.ProbeFailed,
					cause: []string{"probe kai-queue: queue default-queue: it may have no GPU, and the job needs 32 (gpu quota 0, limit 0, overQuotaWeight 1)"}, screen: []string{"recipes/probes/kai-queue.yaml:", "Queue.scheduling.run.ai default-queue: component kai-scheduler, ", "kai-scheduler/templates/queues.yaml"}, check: probesLeft}},
			},
			tests: []string{"internal/verify/probe TestJudgeQueue", "internal/matrix TestHealthChecksOnTheStack"},
		},
		{
			id: "F74", what: "a taint that keeps GPU jobs away", verdict: "fails in its probe, a pod and the taint named with the scheduler's message",
			seeds: []seed{{nightly: through, runner: probed, deployed: taintAccelerated, want: red(reason.ProbeFailed, "probe full-nodes: 3 of 4 pods placed; pod aicr-probes/full-nodes-", "Unschedulable: 0/6 nodes are available", "untolerated taint").and("recipes/probes/full-nodes.yaml:11", "Scheduler: default-scheduler (the real one).")}},
			tests: []string{"internal/verify/probe TestSight"},
		},
		{
			id: "F75", what: "GPUs that the nodes should have, and do not", verdict: "fails in its probe, with the scheduler's message",
			seeds: []seed{{lanes: through, runner: probed, deployed: withoutGPUs, want: red(reason.ProbeFailed, "probe full-nodes: 0 of 4 pods placed; pod aicr-probes/full-nodes-", "Insufficient nvidia.com/gpu")}},
			tests: []string{"internal/matrix TestPlanProbes"},
		},
		{
			id: "F76", what: "a probe for a scheduler that nothing installs, or whose pods cannot be made", verdict: "fails, the scheduler named, or the error that rejected the pods",
			tests: []string{"internal/verify/probe TestRun_SchedulerMissing", "internal/verify/probe TestRun_PodsNotCreated"},
		},
		{
			id: "F77", what: "a probe's mistakes, a probe that checks nothing, probes for no recipe", verdict: "exit 2 before any cluster, with file and line",
			tests: []string{"internal/verify/probe TestParseRefuses", "internal/matrix TestPlanProbes"},
		},
		{
			id: "F226", what: "a job that the recipe's own Kueue never admits: a ClusterQueue without quota, one with a flavor that does not exist, a LocalQueue that does not exist", verdict: "with `--operators`, fails in its probe after 10 s in which nothing changes, in Kueue's words; without, not seen",
			tests: []string{"internal/verify/probe TestAdmission", "cmd/matrix TestNightlyKueueInCells"},
		},
		{
			id: "F227", what: "a job that a webhook of the recipe's own Kueue rejects", verdict: "with `--operators`, fails in its probe at once, in the webhook's words; without, not seen",
			tests: []string{"cmd/matrix TestNightlyKueueInCells", "internal/infra/programs TestChoose_Kueue"},
		},
	}
}

// kaiRecipe has a component that looks like KAI Scheduler, as far as a cell can tell, with a
// default queue that has no quota.
func kaiRecipe(r *tinyRecipe) {
	const queue = `apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: %s}
spec: {%s resources: {gpu: {quota: %d, limit: %d, overQuotaWeight: 1}}}
`
	r.only("a")
	a := r.part("a")
	a.name = "kai-scheduler"
	a.crds = map[string]string{"queues.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: queues.scheduling.run.ai}
spec:
  group: scheduling.run.ai
  scope: Cluster
  names: {kind: Queue, listKind: QueueList, plural: queues, singular: queue}
  versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`}
	a.add("queues.yaml", fmt.Sprintf(queue, "default-parent-queue", "", 0, -1)+"---\n"+fmt.Sprintf(queue, "default-queue", "parentQueue: default-parent-queue,", 0, 0))
}

// taintAccelerated is what a component does that keeps a node for itself.
func taintAccelerated(ctx context.Context, env *lane.Env) error {
	n, err := env.Clients.Kube.CoreV1().Nodes().Get(ctx, "accelerated-0", metav1.GetOptions{})
	if err != nil {
		return err
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "example.com/mine", Effect: corev1.TaintEffectNoSchedule})
	_, err = env.Clients.Kube.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
	return err
}

// withoutGPUs is a device plugin that found no GPU.
func withoutGPUs(ctx context.Context, env *lane.Env) error {
	for i := range 4 {
		patch := `{"status":{"capacity":{"nvidia.com/gpu":"0"},"allocatable":{"nvidia.com/gpu":"0"}}}`
		if _, err := env.Clients.Kube.CoreV1().Nodes().Patch(ctx, fmt.Sprintf("accelerated-%d", i), types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	return nil
}

func wantProbe(name, message string) func(*testing.T, result.Result) {
	return func(t *testing.T, r result.Result) {
		t.Helper()
		for _, c := range r.Validation {
			if c.Phase == probe.Phase && c.Name == name {
				if c.Status != result.StepPassed || !strings.HasPrefix(c.Message, message) {
					t.Errorf("probe %s: got %s, %q; want %q", name, c.Status, c.Message, message)
				}
				return
			}
		}
		t.Errorf("probe %s was not run: %+v", name, r.Validation)
	}
}

// probesLeft: a probe that failed is the last one that ran, and the next is listed as skipped.
func probesLeft(t *testing.T, r result.Result) {
	t.Helper()
	if passed, failed, skipped := result.CountChecks(r.Validation); passed != 2 || failed != 1 || skipped != 1 {
		t.Errorf("got %+v", r.Validation)
	}
	// The probe before it has filled every node, one GPU after the other, which the cell's
	// scheduling has.
	s := r.Scheduling
	if s == nil || s.PeakOccupancy != 100 || s.Placed < 4 || s.Max <= 0 || slices.Max(s.Moments.Taken) != 32 {
		t.Errorf("got the scheduling %+v", s)
	} else if i := slices.IndexFunc(s.Rows, func(n result.NodeRow) bool { return n.Name == "accelerated-3" }); i < 0 || !strings.Contains(s.Rows[i].Taken, "a") {
		t.Errorf("accelerated-3 was not full: got %+v", s.Rows)
	}
}

// What is wrong with probes is found with the plan, and only if probes are wanted.
func TestPlanProbes(t *testing.T) {
	r := unitRunner(t)
	plan := func() ([]*probe.Probe, error) {
		plans, err := r.Plan("h100-eks-ubuntu-training-kubeflow", bundle.Deployers()[:1])
		if err != nil {
			return nil, err
		}
		return plans[0].probes, nil
	}
	if got, err := plan(); err != nil || got != nil {
		t.Errorf("not wanted: got %d probes, %v", len(got), err)
	}
	r.Probes = true
	got, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got {
		names = append(names, p.Name)
	}
	if text := strings.Join(names, " "); text != "full-nodes gang kai-queue kubeflow-trainjob one-gpu" {
		t.Errorf("got the probes %s", text)
	}
	if v := probeValues([]simulate.NodeGroup{}); v.GPUs != 0 {
		t.Errorf("no nodes: got %+v", v)
	}
	groups, err := simulate.ChooseProfiles(r.Profiles, "eks", "h100", simulate.DefaultNodeGroups(2, 3))
	if err != nil {
		t.Fatal(err)
	}
	if v := probeValues(groups); v.Nodes != 3 || v.GPUs != 24 || v.GPUsPerNode != 8 {
		t.Errorf("three nodes: got %+v", v)
	}
	without := *groups[1].Profile
	without.Spec.GPU = nil
	nodes := r.Nodes
	r.Nodes = []simulate.NodeGroup{groups[0], {Profile: &without, Count: 2}}
	if _, err := plan(); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "its nodes have no GPUs by their profiles") {
		t.Errorf("nodes without GPUs: got %v", err)
	}
	r.Nodes = nodes
	r.Store = withFile(t, "probes/gang.yaml", "kind: Probe\nspecs: {}\n")
	if _, err := plan(); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "recipes/probes/gang.yaml:2: field specs not found") {
		t.Errorf("a mistake: got %v", err)
	}
}
