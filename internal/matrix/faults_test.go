package matrix

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// fault is a row of the fault-injection suite: a way in which a harness of this kind has lied, or
// could.
type fault struct {
	id   string
	what string
	// verdict is what must come of it, in words, for docs/contributing/faults.md.
	verdict string
	// seeds put it into cells on the real stack. tests are the functions that cover it elsewhere,
	// "directory Test" each; a test of this table fails when one of them does not exist.
	seeds []seed
	tests []string
}

// red is the expected outcome of a fault: a failed cell.
func red(r reason.Reason, cause ...string) outcomeWanted {
	return outcomeWanted{reason: r, cause: cause}
}

func (w outcomeWanted) and(screen ...string) outcomeWanted { w.screen = screen; return w }

// beforeBudget is the most that a cell may take that is red before its budget of two minutes for the sync is over, on whatever machine.
const beforeBudget = 110 * time.Second

func (w outcomeWanted) in(d time.Duration) outcomeWanted { w.within = d; return w }

// faults is the fault-injection suite, one row per fault.
func faults() []fault {
	all := slices.Concat(
		deliveryFaults(),
		runFaults(),
		objectFaults(),
		wrongGreens(),
		attacks(),
		untrustedFaults(),
		proxies(),
		applicationSets(),
		probeFaults(),
		validationFaults(),
		workloadFaults(),
		driftFaults(),
		liveFaults(),
		stuckFaults(),
		conversionFaults(),
		chartFaults(),
		refusedFaults(),
		leftoverFaults(),
		upgradeFaults(),
		secondDayFaults(),
		deviceFaults(),
		knownFaults(),
		gapFaults(),
		everydayFaults(),
		lossFaults(),
		changeFaults(),
		kubeletFaults(),
		clusterFaults(),
		forgedFaults(),
		reservedFaults(),
		operatedFaults(),
		watchedFaults(),
		inputFaults(),
		ordinaryFaults(),
		chartFormFaults(),
		upgradeHookFaults(),
		upgradeStateFaults(),
		clearingFaults(),
		handedOverFaults(),
		textFaults(),
		reportedFaults(),
		gitOpsFaults(),
		bundleFaults(),
		verdictFaults(),
		sequenceFaults(),
	)
	return slices.SortedFunc(slices.Values(all), func(a, b fault) int {
		return cmp.Or(cmp.Compare(len(a.id), len(b.id)), strings.Compare(a.id, b.id)) // F99 before F100
	})
}

// runFaults are about a run, its machine, and what the harness puts in.
func runFaults() []fault {
	return []fault{
		{id: "F13", what: "three sync timeouts in a row, and the job goes on", verdict: "exit 50 for the run; the cells that never ran are listed", tests: []string{"internal/matrix TestStrikes", "internal/command/reports TestRunError"}},
		{id: "F14", what: "a pass between two timeouts", verdict: "resets its deployer's count", tests: []string{"internal/matrix TestStrikes"}},
		{id: "F15", what: "pods listed five times with five answers", verdict: "one list of pods per poll", tests: []string{"internal/matrix/gate TestPoll_OneListPerKind"}},
		{id: "F16", what: "debug artifacts collected after cleanup", verdict: "collected first, with a separate time limit; every cell of the fault-injection suite is checked for it", tests: []string{"internal/matrix TestFaultInjection", "internal/matrix TestLanes"}},
		{id: "F17", what: "the job's timeout kills a run before its debug artifacts", verdict: "an absolute deadline that reserves time for debug artifacts", tests: []string{"internal/matrix TestNewDeadline", "internal/matrix TestDeadlineInTheGate", "internal/matrix TestDeadline_EndsCell"}},
		{id: "F18", what: "SIGINT or SIGTERM in mid-cell", verdict: "finished results are kept, the cell is interrupted, exit 128+n, no process left", tests: []string{"cmd/matrix TestFaults", "cmd/matrix TestMidRun"}},
		{
			id: "F19", what: "what one recipe leaves (a finalizer, an APIService, a CRD of another owner) disturbs the next", verdict: "no cell sees another's cluster; with --reuse-cluster, nothing of it is left",
			tests: []string{"internal/infra/embedded TestUp_ClusterExists", "internal/infra/kind TestReset"},
		},
		{
			id: "F20", what: "an admission webhook whose pods are simulated", verdict: "decides nothing; the result names it",
			seeds: []seed{{lanes: []string{bundle.Helm}, nightly: append(families[1:3:3], otherLanes...), recipe: everythingSimulated, want: outcomeWanted{check: everySimulationIsSaid}}}, // F22, F23, F29 and F36 too
			tests: []string{"internal/infra/embedded TestSimulates"},
		},
		{id: "F21", what: "an API with fields that Argo CD's own schema does not know yet", verdict: "a class of its own: the stack's, not the recipe's", tests: []string{"internal/matrix/lane/argocd TestArgoCDSchema", "internal/matrix/gate TestFailedItems_StackErrors"}},
		{
			id: "F22", what: "a custom resource whose operator is simulated and never writes its status", verdict: "an explicit list of stand-ins; each use is in the result",
			tests: []string{"internal/matrix TestFaultInjection", "internal/matrix TestLanes"},
		},
		{
			id: "F23", what: "values that the harness injects", verdict: "each is in the result",
			tests: []string{"internal/matrix TestFaultInjection", "internal/bundle TestInject"},
		},
		{
			id: "F24", what: "no node profile for the recipe, and another cloud's nodes in its place", verdict: "exit 18 if asked for; skipped in a sweep, never passed", tests: []string{"internal/infra/simulate TestChooseProfiles", "cmd/matrix TestNoProfile"},
		},
		{id: "F25", what: "a cell's name that promises more than its bundle has", verdict: "the bundle is that of the overlay with the cell's name", tests: []string{"internal/matrix TestCellName_Overlay"}},
		{
			id: "F26", what: "the registry, a controller or the API server goes away in mid-run", verdict: "fails with the component named, or recovers and passes, or, where a program crashed, run again once; never past the deadline",
			seeds: append(killed(),
				seed{name: "registry restarts", nightly: []string{bundle.FluxOCI, bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI}, deployed: registryStopsFor(3 * time.Second)},
				seed{name: "registry is gone", lanes: []string{bundle.FluxOCI}, nightly: []string{bundle.ArgoCDOCI}, published: func(_ context.Context, env *lane.Env) error { env.Registry.Stop(); return nil }, want: red(reason.DeployFailed, "connection refused")},
				seed{name: "API server pauses", lanes: []string{bundle.ArgoCDOCI}, nightly: []string{bundle.Helm, bundle.FluxOCI}, deployed: pauses("kube-apiserver", 5*time.Second)},
			),
			tests: []string{"internal/matrix TestAPIServerCrash"},
		},
		{id: "F27", what: "no free port, no space, a process of an earlier run", verdict: "a separate code for each; nothing is left", tests: []string{"cmd/matrix TestFaults", "cmd/matrix TestDiskFull", "internal/infra/embedded TestRegistryPort"}},
		{id: "F28", what: "malformed overlays, unknown fields, cycles, missing files, paths outside, files of 100 MB", verdict: "exit 2 before any cluster, with file and line", tests: []string{"cmd/matrix TestBadRecipes", "internal/recipe TestOpenInvalid", "internal/recipe TestOpen_InvalidFiles"}},
		{
			id: "F29", what: "a claim that no provisioner binds", verdict: "claims bind on the simulated cluster",
			tests: []string{"internal/matrix TestFaultInjection", "internal/infra/embedded TestEmbeddedCluster"},
		},
	}
}

// objectFaults are about objects that fail or come late, and the API server that answers for them.
func objectFaults() []fault {
	return []fault{
		{
			id: "F30", what: "a wave starts before the one before it is synced", verdict: "order is not assumed: a custom resource before its CRD is tried again, and an early start is reported",
			seeds: []seed{{lanes: []string{bundle.ArgoCDOCI}, nightly: []string{bundle.ArgoCDHelmOCI}, recipe: func(r *tinyRecipe) {
				r.part("a").add("widget.yaml", widget)
				r.part("b").add("crd.yaml", widgetCRD)
			}, want: outcomeWanted{check: func(t *testing.T, r result.Result) {
				t.Helper()
				testkit.WantText(t, "what was out of order", strings.Join(r.OutOfOrder, "\n"), "Application b started ", " before Application a finished")
			}}}},
		},
		{id: "F31", what: "a shell or a pipe on the verdict path", verdict: "no shell; a reader that goes away does not change the code", tests: []string{"cmd/matrix TestNoShell", "cmd/matrix TestRun_ReaderCloses"}},
		{id: "F32", what: "cleanup that removes other people's clusters", verdict: "only what the run made, by its own record", tests: []string{"internal/infra/embedded TestRemove_OnlyItsOwn"}},
		{id: "F33", what: "${{ inputs.x }} inside run:", verdict: "inputs through env only", tests: []string{"cmd/matrix TestNoInputsInScripts"}},
		{
			id: "F34", what: "a null in values that one deployer drops and another sends", verdict: "each lane its own verdict, the object and the path named",
			seeds: []seed{
				{lanes: []string{bundle.Helm}, recipe: nullValue},
				{lanes: []string{bundle.FluxOCI}, nightly: []string{bundle.ArgoCDOCI, bundle.Helm4}, recipe: nullValue, want: red(reason.DeployFailed, " b: ", "emptyDir").and("Widget", "spec.emptyDir: value path widget.emptyDir, set in ", "components/b/values.yaml:3")},
			},
			tests: []string{"internal/matrix TestNullValue", "internal/matrix TestDroppedValue", "internal/matrix/compare TestCompareLanes"},
		},
		{
			id: "F35", what: "two components that own one object", verdict: "named as shared before anything is deployed; if their content differs, exit 53 in Argo CD's lanes, alone or beside others",
			// Helm refuses the second owner; Argo CD and Flux let the last one have it.
			seeds: []seed{{nightly: []string{bundle.Helm}, recipe: shared, want: outcomeWanted{reason: reason.DeployFailed, cause: []string{" b: ", `ConfigMap "shared"`}, check: warning("a and b both own ConfigMap default/shared")}},
				{lanes: []string{bundle.ArgoCDOCI}, recipe: shared, want: red(reason.LaneDivergence, "ConfigMap default/shared: a and b own it with different content, and Argo CD applies each in turn: it never settles")},
				{name: "Flux", nightly: []string{bundle.FluxOCI}, recipe: shared, want: outcomeWanted{check: warning("a and b both own ConfigMap default/shared")}}},
			tests: []string{"internal/matrix/compare TestTwoOwners", "internal/matrix/compare TestFought", "internal/bundle TestSharedDefinitions"},
		},
		{
			id: "F36", what: "an APIService whose server is simulated", verdict: "a stand-in answers, and the result lists it; other verdicts unaffected",
			tests: []string{"internal/matrix TestFaultInjection"},
		},
		{
			id: "F37", what: "an object that the API server rejects", verdict: "a hard error at once, the API server's error first, the same class in every lane",
			seeds: []seed{{lanes: []string{bundle.FluxOCI}, nightly: append([]string{bundle.Helm, bundle.ArgoCDOCI}, otherLanes...), recipe: func(r *tinyRecipe) { r.part("b").add("refused.yaml", refusedTemplate) }, want: red(reason.DeployFailed, "DaemonSet", "privileged")}},
			tests: []string{"internal/matrix/lane/argocd TestApplicationItem"},
		},
		{id: "F38", what: "the reader of the report goes away (head), and the signal ends the run or changes its code", verdict: "the run goes on; the code is the verdict's", tests: []string{"cmd/matrix TestRun_ReaderCloses"}},
		{
			id: "F39", what: "a component that a signal has stopped, so that Helm hangs in a request to the API server, or the recipe is blamed for what the repo-server does not do", verdict: "fails with the component named, 8 s after it stopped",
			seeds: []seed{{lanes: []string{bundle.Helm}, nightly: families[1:], deployed: hangs("kube-apiserver"), want: red(reason.ComponentDied, "kube-apiserver", "is stopped by a signal").in(beforeBudget)}, {name: "repo-server", nightly: []string{bundle.ArgoCDOCI}, deployed: hangs("argocd-repo-server"), want: red(reason.ComponentDied, "argocd-repo-server", "is stopped by a signal").in(time.Minute)}},
			tests: []string{"internal/infra/host TestStopped", "internal/matrix/lane/helminstall TestInstall_CellEnds"},
		},
		{id: "F40", what: "an API server that hangs until the deadline, taken for a sync that is late", verdict: "CLUSTER_FAILED", tests: []string{"internal/matrix/gate TestGateAPIServerHangs"}},
		{id: "F41", what: "one poll that fails just before the deadline turns a sync timeout into a fault of the machine", verdict: "exit 50", tests: []string{"internal/matrix/gate TestGateDeadline_AfterFailedPoll"}},
		{id: "F42", what: "a service account that another wave installs, taken for a rejection", verdict: "tried again", tests: []string{"internal/matrix/lane/argocd TestApplicationItem"}},
		{id: "F43", what: "what Flux fails at from the first try on, reported as not processed yet, and as a timeout", verdict: "fails at once with Flux's words; injected with F07, F09 and F10", tests: []string{"internal/matrix/lane/flux TestFluxItem"}},
		{id: "F44", what: "a component that dies of a full disk, blamed on the component", verdict: "NO_SPACE", tests: []string{"cmd/matrix TestDiskFull", "internal/infra/host TestDeathReason"}},
		{id: "F45", what: "Argo CD's schema is behind a CRD that has just come", verdict: "waited for, up to 60 s; then the stack's fault, not the recipe's", tests: []string{"internal/matrix/lane/argocd TestArgoCDSchema", "internal/matrix/gate TestGatePatience"}},
	}
}

func stage(yaml string) func(*Runner) {
	return func(r *Runner) {
		p := *embeddedOf(r)
		p.Stages = append(append([]byte(nil), p.Stages...), yaml...)
		r.Platform = &p
	}
}

// byHand: Argo CD waits for a person to sync the Application.
func byHand(file string) func(*bundle.Bundle) error {
	return replaceIn(file, "    automated:\n      prune: true\n      selfHeal: true\n", "")
}

// waitingB has an object that Flux waits for in vain.
func waitingB(r *tinyRecipe) {
	r.part("b").crds = map[string]string{"widgets.yaml": widgetCRD}
	r.part("b").add("widget.yaml", waitingWidget)
}

func endlessJob(r *tinyRecipe) {
	r.part("b").add("job.yaml", strings.ReplaceAll(jobTemplate, "LABEL", "never-completes"))
}

// nullValue has a null in its values that the chart hands on to an object whose schema does not
// know null.
func nullValue(r *tinyRecipe) {
	b := r.part("b")
	b.crds = map[string]string{"widgets.yaml": strings.Replace(widgetCRD, "x-kubernetes-preserve-unknown-fields: true",
		"properties: {spec: {type: object, properties: {size: {type: integer}, emptyDir: {type: object}}}}", 1)}
	b.add("widget.yaml", strings.Replace(widget, "spec: {size: 1}", "spec: {{ toYaml .Values.widget | nindent 2 }}", 1))
	b.values = "widget:\n  size: 1\n  emptyDir: null"
}

func chain(r *tinyRecipe) { r.part("c").after = []string{"b"} }

func shared(r *tinyRecipe) {
	r.part("a").add("shared.yaml", sharedObject)
	r.part("b").add("shared.yaml", sharedObject)
}

// multiSource gives b its values from the bundle, as a second source, which Argo CD knows for Git
// only.
func multiSource(b *bundle.Bundle) error {
	var place []string // of the bundle, as c's Application has it
	for _, f := range b.Files {
		for _, line := range strings.Split(string(f.Content), "\n") {
			if f.Path == "c/application.yaml" && (strings.HasPrefix(line, "    repoURL: ") || strings.HasPrefix(line, "    targetRevision: ")) {
				place = append(place, line)
			}
		}
	}
	if len(place) != 2 {
		return errors.New("c/application.yaml does not say where the bundle is: fix this test")
	}
	return errors.Join(
		replaceIn("b/application.yaml", "  source:\n", "  sources:\n  - ref: values\n"+strings.Join(place, "\n")+"\n  -\n")(b),
		replaceIn("b/application.yaml", "      releaseName: b", "      valueFiles: [$values/b/values.yaml]\n      releaseName: b")(b),
	)
}

var sourceName = regexp.MustCompile(`kind: GitRepository\n\s+name: \S+`)

var registryURL = regexp.MustCompile(`oci://([^/"]+)/`)

// placeholderSource puts the chart of a behind a Git repository that does not exist.
func placeholderSource(b *bundle.Bundle) error {
	return errors.Join(
		replaceIn("a/helmrelease.yaml", "kind: HelmRepository", "kind: GitRepository")(b),
		replaceIn("a/helmrelease.yaml", "chart: a", "chart: ./a/chart")(b),
		func() error {
			for i, f := range b.Files {
				if f.Path == "a/helmrelease.yaml" {
					b.Files[i].Content = sourceName.ReplaceAll(f.Content, []byte("kind: GitRepository\n        name: placeholder"))
				}
				if f.Path == "helmrepositories.yaml" {
					registry := registryURL.FindSubmatch(f.Content)[1] // another address would be rejected by policy
					b.Files[i].Content = append(f.Content, []byte("---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: placeholder, namespace: flux-system}\nspec: {interval: 1m, url: \"http://"+string(registry)+"/placeholder.git\", ref: {branch: main}}\n")...)
				}
			}
			return nil
		}(),
	)
}

func warning(text string) func(*testing.T, result.Result) {
	return func(t *testing.T, r result.Result) {
		t.Helper()
		testkit.WantText(t, "warnings", strings.Join(r.Warnings, "\n"), text)
	}
}

// everythingSimulated has what a simulated cluster has to answer for, none of which may decide a
// verdict: a webhook that fails closed, an APIService, a custom resource whose operator is
// simulated, and claims of a real provisioner's class.
func everythingSimulated(r *tinyRecipe) {
	r.part("a").add("webhook.yaml", webhookTemplate)
	r.part("a").add("apiservice.yaml", apiServiceTemplate)
	r.part("a").crds = map[string]string{"certificates.yaml": certificateCRD}
	r.part("b").add("certificate.yaml", certificate)
	r.part("b").add("db.yaml", claimTemplate)
}

func everySimulationIsSaid(t *testing.T, r result.Result) {
	t.Helper()
	testkit.WantText(t, "stand-ins", strings.Join(r.StandIns, "\n"),
		"ValidatingWebhookConfiguration everything (a): not called", "APIService adapter.faults.example.com/v1", "Certificate")
	all := strings.Join(r.Overrides, "\n")
	for _, component := range []string{"a", "b", "c"} {
		testkit.WantText(t, "overrides", all, component+": system nodeSelector ", component+": system tolerations ")
	}
	testkit.WantText(t, "overrides", all, "in place of https://charts.example.com")
	if r.Pods != 5 {
		t.Errorf("pods: got %d, want 5, two of them with a volume each", r.Pods)
	}
}

// killed has a seed for each process of a cell: killed, it is named. `make test` kills one of each
// family. The platform's own tests kill processes, too.
func killed() []seed {
	inMakeTest := []string{"etcd", infra.ArgoCDController, infra.FluxHelmController}
	var seeds []seed
	for _, row := range []struct {
		lane      string
		processes []string
	}{
		{bundle.Helm, []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller"}},
		{bundle.ArgoCDOCI, []string{infra.ArgoCDController, infra.ArgoCDRepoServer}},
		{bundle.FluxOCI, []string{infra.FluxSourceController, infra.FluxKustomizeController, infra.FluxHelmController, infra.FluxSourceWatcher}},
	} {
		for _, p := range row.processes {
			s := seed{name: p + " is killed", nightly: []string{row.lane}, deployed: kill(p), want: outcomeWanted{
				reason: reason.ComponentDied, cause: []string{p + " ended unexpectedly (signal: killed)"}, screen: []string{"its log"}, // its last lines, or that it is empty
				check: func(t *testing.T, r result.Result) {
					if r.Component != p {
						t.Errorf("component: got %q, want %q", r.Component, p)
					}
				},
			}}
			if slices.Contains(inMakeTest, p) {
				s.lanes, s.nightly = s.nightly, nil
			}
			seeds = append(seeds, s)
		}
	}
	return seeds
}

// registryStopsFor stops the registry, and starts it again while the lane is at work.
func registryStopsFor(d time.Duration) func(context.Context, *lane.Env) error {
	return func(ctx context.Context, env *lane.Env) error {
		env.Registry.Stop()
		time.AfterFunc(d, func() {
			if err := env.Registry.Start(context.WithoutCancel(ctx)); err != nil {
				env.Log.Error("start the registry again", "err", err)
			}
		})
		return nil
	}
}

// pauses stops a process and lets it go on later.
func pauses(process string, d time.Duration) func(context.Context, *lane.Env) error {
	return func(_ context.Context, env *lane.Env) error {
		time.AfterFunc(d, func() { _ = send(env, process, syscall.SIGCONT) })
		return send(env, process, syscall.SIGSTOP)
	}
}

// hangs stops a process for good.
func hangs(process string) func(context.Context, *lane.Env) error {
	return func(_ context.Context, env *lane.Env) error { return send(env, process, syscall.SIGSTOP) }
}
