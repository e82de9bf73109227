package matrix

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// sequenceFaults are those that neither a first installation nor an upgrade shows.
func sequenceFaults() []fault {
	byHelm := []string{bundle.Helm, bundle.FluxOCI}
	same := func(*tinyRecipe) {}
	with := func(file, template string) func(*tinyRecipe) {
		return func(r *tinyRecipe) { r.part("b").add(file, template) }
	}
	failed := func(r *Runner) { r.Sequences = []string{result.SequenceFailed} }
	removed := func(r *Runner) { r.Sequences = []string{result.SequenceRemoved} }
	firstHook := func(r *tinyRecipe) { r.part("a").add("job.yaml", leftJob) } // Flux tries nothing that depends on what has failed
	const afterFailure, afterRemoval = "the delivery after a failed one from old: ", "the installation after the removal of old: "
	return []fault{
		{
			id: "F416", what: "a delivery after one that has failed", verdict: "with `--sequence failed`: passed if the new version heals it; exit 73 with the hook Job that the failure has left, and with the hook of an installation that no upgrade runs",
			seeds: []seed{
				{name: "heals", nightly: families, runner: failed, old: older(same), recipe: same, want: outcomeWanted{check: healed}},
				{name: "hook of an installation that is no more needed", nightly: []string{bundle.Helm}, runner: failed, old: older(with("job.yaml", checkJob)), recipe: with("job.yaml", checkJob), want: outcomeWanted{check: healed}},
				{name: "hook of the first release left behind", nightly: []string{bundle.FluxOCI}, runner: failed, old: older(firstHook), recipe: firstHook, want: red(reason.UpgradeFailed, afterFailure).and("migrate", "before it failed: ")},
				{name: "hook left behind", nightly: []string{bundle.Helm}, runner: failed, old: older(with("job.yaml", leftJob)), recipe: with("job.yaml", leftJob), want: red(reason.UpgradeFailed, afterFailure).and("already exists", "before it failed: ")},
				{name: "hook of an installation", nightly: []string{bundle.Helm}, runner: failed, old: older(with("hook.yaml", installOnly)), recipe: with("hook.yaml", installOnly), want: red(reason.UpgradeFailed, afterFailure).and("ConfigMap b/settings", "runs at installation only")},
			},
			tests: []string{"internal/matrix/daytwo TestNewFailing", "internal/matrix/daytwo TestCarry_Sequence", "cmd/matrix TestFromInput"},
		},
		{
			id: "F417", what: "a removal, and then a newer version", verdict: "with `--sequence removed`: passed if what stays does not matter; exit 73 or 74 with the object that stays, and what the removal has left",
			seeds: []seed{
				{name: "nothing in the way", nightly: families, runner: removed, old: older(same), recipe: same, want: outcomeWanted{check: reinstalled}},
				{name: "hook that stays", nightly: []string{bundle.Helm}, runner: removed, old: older(with("secret.yaml", stayingHook)), recipe: with("secret.yaml", stayingHook), want: red(reason.UpgradeFailed, afterRemoval).and("already exists", "stays of what was removed: ")},
				{name: "Secret that is kept", nightly: byHelm, runner: removed, old: older(with("secret.yaml", strings.ReplaceAll(keptSecret, "VALUE", "one"))), recipe: with("secret.yaml", strings.ReplaceAll(keptSecret, "VALUE", "two")), want: red(reason.UpgradeFailed, afterRemoval).and("field is immutable when `immutable` is set", "stays of what was removed: ")},
				{name: "definition that stays", nightly: []string{bundle.Helm}, runner: removed, old: older(func(r *tinyRecipe) {
					r.part("b").crds = map[string]string{"crd.yaml": strings.ReplaceAll(gadgetCRD, "FIELD", "one")}
				}), recipe: func(r *tinyRecipe) {
					r.part("b").crds = map[string]string{"crd.yaml": strings.ReplaceAll(gadgetCRD, "FIELD", "two")}
				}, want: red(reason.UpgradeDiverged, "CustomResourceDefinition gadgets.example.com")},
			},
			tests: []string{"internal/matrix/compare TestUpgraded"},
		},
	}
}

// healed: the end is that of a first installation, and the result says how the delivery before was made to fail.
func healed(t *testing.T, r result.Result) {
	t.Helper()
	endsAlike(t, r)
	if !slices.ContainsFunc(r.Overrides, func(line string) bool { return strings.HasPrefix(line, "made to fail: release a: ") }) {
		t.Errorf("got the overrides %q, want one that says how release a was made to fail", r.Overrides)
	}
}

// reinstalled: the end is that of a first installation, and the result says what the removal has left.
func reinstalled(t *testing.T, r result.Result) {
	t.Helper()
	endsAlike(t, r)
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "the removal of old leaves behind: ") }) {
		t.Errorf("got the notes %q, want one that says what the removal has left", r.Notes)
	}
}

// leftJob is removed only if it succeeds, and Helm creates it again by its name.
//
//go:embed testdata/objects/left_job.yaml
var leftJob string

// checkJob looks after an installation whether it works, as cert-manager's does.
var checkJob = strings.Replace(leftJob, `"pre-install,pre-upgrade", helm.sh/hook-delete-policy: hook-succeeded`, `post-install, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"`, 1)

// installOnly is a ConfigMap that a pod needs, and that a hook makes after an installation only.
const installOnly = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {helm.sh/hook: post-install}}
data: {a: b}
`

// stayingHook is a Secret that helm uninstall leaves, and that no installation deletes before it makes it.
const stayingHook = `apiVersion: v1
kind: Secret
metadata: {name: token, annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-failed}}
stringData: {token: a}
`

// keptSecret is left by a removal, and nobody can change what is in it.
const keptSecret = `apiVersion: v1
kind: Secret
metadata: {name: token, annotations: {helm.sh/resource-policy: keep}}
immutable: true
stringData: {token: VALUE}
`
