package matrix

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/kwok"
)

// testProgress is the test's log.
type testProgress struct{ t *testing.T }

func (p testProgress) Begin(what string) infra.Task { return testTask{p.t, what} }

type testTask struct {
	t    *testing.T
	what string
}

func (testTask) Update(string) {}

func (k testTask) End(detail string, err error) { k.t.Log(k.what, detail, err) }

// stackRunner runs cells on the real stack, which is the user's; their clusters are in a cache
// directory of the test's own.
func stackRunner(t *testing.T) *Runner {
	t.Helper()
	testskip.Short(t, "no real stack")
	r := unitRunner(t)
	if err := r.Platform.Needs(t.Context(), infra.ArgoCDControllers, infra.ApplicationSetControllers, infra.FluxControllers); err != nil {
		t.Fatalf("build the stack: %v", err)
	}
	return r
}

// unitRunner is enough for plans and bundles, which need no stack.
func unitRunner(t *testing.T) *Runner {
	t.Helper()
	paths := infratest.Cache(t)
	stack, err := stack.NewStack(paths, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatalf("read the stack's parts list: %v", err)
	}
	profiles, err := simulate.LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatalf("load the node profiles: %v", err)
	}
	stages, err := simulate.Stages(kwok.Files, "stages")
	if err != nil {
		t.Fatalf("load the stages: %v", err)
	}
	operators, err := simulate.LoadOperatorStages(kwok.Files, "stages/operators")
	if err != nil {
		t.Fatalf("load the operator stages: %v", err)
	}
	policyFile, err := kwok.Files.ReadFile("health.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := health.Parse("kwok/health.yaml", policyFile)
	if err != nil {
		t.Fatal(err)
	}
	budgets, err := lane.BudgetsFromEnv(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &Runner{
		Platform: &embedded.Platform{
			Paths: paths, Stack: stack, Ports: host.NewPorts(paths.Ports()), Stages: stages, Operators: operators,
			Registry: embedded.RegistryPort{Port: embedded.DefaultRegistryPort}, Progress: testProgress{t},
		},
		Progress: testProgress{t},
		Inputs: Inputs{
			Store: shippedtest.Recipes(t), RecipesName: "recipes", Charts: shippedtest.Charts(t), Profiles: profiles, Nodes: simulate.DefaultNodeGroups(2, 4), Health: policy,
		},
		Limits: Limits{Budgets: budgets},
		Output: Output{RunID: fmt.Sprintf("%08x", rand.Uint32()), Dir: dir, ClusterPrefix: "test", Artifacts: filepath.Join(dir, "artifacts")},
		Rerun:  func(c result.Cell) string { return "again " + c.String() },
	}
}

// embeddedOf is the platform of a runner on the real stack.
func embeddedOf(r *Runner) *embedded.Platform { return r.Platform.(*embedded.Platform) }

// TestLanes runs one recipe through a lane of each family, two at a time, each ending in the
// canonical state. TestNullValue runs every lane, with a smaller recipe; TestNightlyLanes has the
// others.
func TestLanes(t *testing.T) {
	t.Parallel()
	r := stackRunner(t)
	plans := plansOf(t, r, "eks-training", deployers(t, families...)...)
	infratest.Slots(t, 2)
	results, err := r.RunAll(t.Context(), plans, 2)
	if err != nil {
		t.Errorf("run all lanes: %v", err)
	}
	for i, res := range results {
		t.Run(plans[i].Cell.Deployer, func(t *testing.T) { checkGreen(t, r, plans[i], res) })
	}
	if left, _ := filepath.Glob(filepath.Join(embeddedOf(r).Paths.Clusters(), "test-"+r.RunID+"-*")); len(left) > 0 {
		t.Errorf("clusters are left: %q", left)
	}
	if left := commandLines(r.ClusterPrefix+"-"+r.RunID, r.Dir); len(left) > 0 {
		t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
	}
}

// commandLines lists the processes with one of the texts on their command line; none where there is
// no /proc.
func commandLines(texts ...string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, f := range files {
		raw, _ := os.ReadFile(f) // a process that is gone has none
		line := strings.ReplaceAll(string(raw), "\x00", " ")
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
			found = append(found, line)
		}
	}
	return found
}

func checkGreen(t *testing.T, r *Runner, p Plan, res result.Result) {
	t.Helper()
	if res.Status != result.Passed {
		t.Fatalf("got %s, %s: %s\n%s", res.Status, res.Reason, res.Cause, strings.Join(res.Details, "\n"))
	}
	for _, note := range res.Notes {
		if strings.Contains(note, " passed as ") {
			t.Errorf("another state than the canonical one: %s", note)
		}
	}
	checkCompared(t, res)
	in := p.input
	in.RepoURL = in.InRegistry("127.0.0.1:5500", "127.0.0.1:5500", p.Cell.Deployer).RepoURL
	b, err := p.Deployer.Bundle(t.Context(), in)
	if err != nil {
		t.Fatalf("make the bundle again: %v", err)
	}
	e := b.Expectation
	if res.Components != len(e.Releases) || res.Components < 11 {
		t.Errorf("components: got %d, want all %d releases, and 11 at least", res.Components, len(e.Releases))
	}
	if res.Pods <= 90 || res.Pods < fewestPods(e) {
		t.Errorf("pods: got %d, want more than 90, and %d at least", res.Pods, fewestPods(e))
	}
	n := len(e.Releases)
	counts := map[string]map[string]int{
		bundle.ArgoCDOCI: {"Application": 1 + n}, bundle.ArgoCDHelmOCI: {"Application": 1 + n}, bundle.ArgoCDAppSet: {"ApplicationSet": 1, "Application": n},
		bundle.FluxOCI: {"OCIRepository": 1, "Kustomization": 1, "HelmRelease": n, "ArtifactGenerator": localCharts(e)}, bundle.ArgoCDGit: {"Application": 1 + n},
		bundle.FluxGit: {"GitRepository": 1, "Kustomization": 1, "HelmRelease": n},
	}[p.Cell.Deployer]
	kinds := map[string]int{}
	for _, d := range e.Delivered {
		kinds[d.Kind]++
	}
	if !maps.Equal(kinds, counts) {
		t.Errorf("delivered kinds: got %v, want %v", kinds, counts)
	}
	if localCharts(e) == 0 {
		t.Error("no component is manifest-only: local charts are not exercised")
	}
	if p.Cell.Deployer == bundle.Helm && (!strings.Contains(strings.Join(res.Controllers, "\n"), "Helm 4 delivers") || len(res.Notes) > 0) {
		t.Errorf("Helm 4 by the recipe's form: got controllers %q, notes %q", res.Controllers, res.Notes)
	}
	if res.Charts != "simulated" || res.Cluster != "embedded" || res.Recipes != "recipes" || res.Rerun != "again "+p.Cell.String() {
		t.Errorf("what ran: got charts %q, cluster %q, recipes %q, rerun %q", res.Charts, res.Cluster, res.Recipes, res.Rerun)
	}
	if len(res.Overrides) == 0 || len(res.StandIns) == 0 {
		t.Errorf("overrides %d, stand-ins %d: want each that was used to be listed (F20, F22, F23)", len(res.Overrides), len(res.StandIns))
	}
	var phases []string
	for _, ph := range res.Phases {
		phases = append(phases, ph.Name)
	}
	if want := []string{"bundle", "cluster", "controllers", "push", "deploy", "sync", "verify", "read-back"}; !slices.Equal(phases, want) {
		t.Errorf("phases: got %q, want %q", phases, want)
	}
	if p.Cell.Deployer == bundle.ArgoCDAppSet && len(res.OutOfOrder) > 0 {
		t.Errorf("RollingSync waits for the wave before: got %q", res.OutOfOrder)
	}
	checkArtifacts(t, res)
}

// fewestPods are the pods that do not depend on how many nodes a DaemonSet fits, nor on whether a
// hook's Job is gone.
func fewestPods(e bundle.Expectation) int {
	n := 0
	for _, w := range e.Workloads {
		if w.Replicas > 0 && !w.Ephemeral {
			n += w.Replicas
		}
	}
	return n
}

func localCharts(e bundle.Expectation) int {
	n := 0
	for _, r := range e.Releases {
		if r.Local {
			n++
		}
	}
	return n
}

// checkArtifacts: logs of every process and the bundle, collected before anything was deleted
// (F16).
func checkArtifacts(t *testing.T, res result.Result) {
	t.Helper()
	want := []string{"cell.json", "summary.md", "bundle/README.md", "logs/harness.log", "logs/kube-apiserver.log", "logs/etcd.log", "logs/kube-scheduler.log", "logs/registry.log"}
	switch res.Deployer {
	case bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI, bundle.ArgoCDGit:
		want = append(want, "logs/"+infra.ArgoCDController+".log", "logs/"+infra.ArgoCDRepoServer+".log")
	case bundle.ArgoCDAppSet:
		want = append(want, "logs/"+infra.ArgoCDController+".log", "logs/"+infra.ArgoCDApplicationSets+".log")
	case bundle.FluxOCI, bundle.FluxGit:
		want = append(want, "logs/"+infra.FluxHelmController+".log", "logs/"+infra.FluxSourceController+".log")
	}
	for _, name := range want {
		if _, err := os.Stat(filepath.Join(res.Artifacts, filepath.FromSlash(name))); err != nil {
			t.Errorf("artifact %s: %v", name, err)
		}
	}
}

// checkCompared: every lane's objects were compared with the helm lane's, and what differs is
// known.
func checkCompared(t *testing.T, res result.Result) {
	t.Helper()
	if res.Deployer == bundle.Helm {
		return
	}
	if res.ComparedWith != bundle.Helm || res.ComparedObjects < 200 {
		t.Errorf("compared with %q, %d objects; want all of the helm lane's, 200 at least", res.ComparedWith, res.ComparedObjects)
	}
	for _, note := range res.Notes {
		t.Logf("note: %s", note)
	}
}
