package main

import (
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/verify/validate"
	"github.com/nvidia/aicr-action/kwok"
)

// quiet is a progress that prints nothing.
type quiet struct{}

func (quiet) Begin(string) infra.Task { return quiet{} }
func (quiet) Update(string)           {}
func (quiet) End(string, error)       {}

// keptCell runs a recipe through the helm lane on the real stack, with the validation phases, and
// keeps its cluster.
func keptCell(t *testing.T, store *recipe.Store, name string) result.Result {
	t.Helper()
	testskip.Short(t, "no real stack")
	infratest.Slots(t, 1)
	paths := infratest.Cache(t)
	built, err := stack.NewStack(paths, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatal(err)
	}
	stages := infratest.Stages(t)
	operators, err := simulate.LoadOperatorStages(kwok.Files, "stages/operators")
	if err != nil {
		t.Fatal(err)
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
	platform := &embedded.Platform{
		Paths: paths, Stack: built, Ports: host.NewPorts(paths.Ports()), Stages: stages, Operators: operators,
		Registry: embedded.RegistryPort{Port: embedded.DefaultRegistryPort}, Progress: quiet{},
	}
	if err := platform.Needs(t.Context()); err != nil {
		t.Fatalf("build the stack: %v", err)
	}
	runner := &matrix.Runner{
		Platform: platform, Progress: quiet{},
		Inputs: matrix.Inputs{
			Store: store, RecipesName: "recipes", Charts: shippedtest.Charts(t), Profiles: infratest.Profiles(t), Nodes: simulate.DefaultNodeGroups(1, 1), Health: policy,
		},
		Limits:       matrix.Limits{Budgets: budgets},
		Output:       matrix.Output{RunID: fmt.Sprintf("%08x", rand.Uint32()), Dir: t.TempDir(), ClusterPrefix: "test", Keep: true},
		Verification: matrix.Verification{Validate: validate.Phases()},
		Rerun:        func(c result.Cell) string { return "again " + c.String() },
	}
	plans, err := runner.Plan(name, bundle.Deployers()[:1])
	if err != nil {
		t.Fatal(err)
	}
	got := runner.Run(t.Context(), plans[0])
	if got.Kubeconfig == "" {
		t.Fatalf("there is no cluster: %s %s\n%s", got.Reason, got.Cause, strings.Join(got.Details, "\n"))
	}
	t.Cleanup(func() {
		all, err := embedded.Clusters(paths)
		for _, state := range all {
			err = errors.Join(err, state.Remove())
		}
		if err != nil {
			t.Errorf("remove the kept cluster: %v", err)
		}
	})
	return got
}

//go:embed testdata/objects/small_base.yaml
var smallBase string

// smallRecipes is a directory with one component, whose recipe for kind requires a missing version
// of it.
func smallRecipes(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recipes")
	if err := os.CopyFS(dir, os.DirFS(march)); err != nil {
		t.Fatal(err)
	}
	overlays := filepath.Join(dir, "overlays")
	if err := os.RemoveAll(overlays); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(overlays, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"base.yaml": smallBase, "kind.yaml": "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: kind}\nspec: {criteria: {service: kind}}\n",
	} {
		if err := os.WriteFile(filepath.Join(overlays, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPipeline: a cell whose recipe requires a missing version fails at the line that requires it.
// On its kept cluster, snapshot, recipe, validate and bundle work through ConfigMaps, and only with
// the permission to read them.
func TestPipeline(t *testing.T) {
	t.Parallel()
	dir := smallRecipes(t)
	store, err := recipe.Open(os.DirFS(dir), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	cell := keptCell(t, store, "kind")
	if cell.Reason != reason.ValidationFailed || len(cell.Findings) != 1 || cell.Findings[0].Component != "gpu-operator" || cell.Findings[0].Place != (result.Place{File: "recipes/overlays/base.yaml", Line: 20}) ||
		!strings.Contains(cell.Cause, "validation deployment/gpu-operator-version: Deployment gpu-operator/gpu-operator has version v25.10.1, want >= v99") {
		t.Errorf("got %s: %s\n%s", cell.Reason, cell.Cause, strings.Join(cell.Details, "\n"))
	}
	if passed, failed, skipped := result.CountChecks(cell.Validation); passed != 3 || failed != 1 || skipped != 1 {
		t.Errorf("got %+v", cell.Validation)
	}

	call := func(kubeconfig string, args ...string) answer {
		var stdout, stderr strings.Builder
		code := run(t.Context(), append(args, "--kubeconfig", kubeconfig), func(string) string { return "" }, &stdout, &stderr)
		return answer{code, stdout.String(), stderr.String()}
	}
	k := cell.Kubeconfig
	const taken, made = "cm://default/aicr-snapshot", "cm://default/aicr-recipe"
	call(k, "snapshot", "--only", "K8s,NodeTopology", "-o", taken).want(t, 0)
	call(k, "recipe", "-s", taken, "--service", "kind", "--recipes-dir", dir, "-o", made).want(t, 0)
	first, second := call(k, "recipe", "-s", taken, "--service", "kind", "--recipes-dir", dir), call(k, "recipe", "-s", taken, "--service", "kind", "--recipes-dir", dir)
	if first.stdout == "" || first.stdout != second.stdout {
		t.Errorf("two recipes of one snapshot differ:\n%s\n%s", first.stdout, second.stdout)
	}
	call(k, "validate", "-r", made, "-s", taken).want(t, 0, "status pass: 1 passed")
	all := call(k, "validate", "-r", made, "-s", taken, "--phase", "all", "-o", "cm://default/aicr-validation")
	all.want(t, 8, "status fail: 3 passed, 1 failed, 1 skipped", "✗ deployment/gpu-operator-version (gpu-operator): ", " has version v25.10.1, want >= v99 ("+made+":")
	bundled := filepath.Join(t.TempDir(), "bundle")
	call(k, "bundle", "-r", made, "--recipes-dir", dir, "-o", bundled).want(t, 0)
	if _, err := os.Stat(filepath.Join(bundled, "deploy.sh")); err != nil {
		t.Error(err)
	}

	// A user without a Role.
	text := read(t, k)
	stranger := write(t, "stranger.yaml", strings.Replace(text, "  user:\n", "  user:\n    as: somebody\n", 1))
	call(stranger, "recipe", "-s", taken).want(t, 4, "read the snapshot from "+taken+": not allowed", "kubectl auth can-i get configmaps -n default")
	call(stranger, "snapshot", "--only", "K8s", "-o", "cm://default/other").want(t, 4, "warning: K8s is measured in part only", "not allowed")
	file := write(t, "recipe.yaml", first.stdout)
	refused := call(stranger, "validate", "-r", file, "-s", snapshotFile, "--phase", "deployment", "-o", filepath.Join(t.TempDir(), "v.yaml"))
	refused.want(t, 8, "the check operator-health needs a permission that its Role lacks: deployments.apps is forbidden")
}
