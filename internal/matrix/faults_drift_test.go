package matrix

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// driftFaults are those that the first installation does not show.
func driftFaults() []fault {
	helm, controllers := []string{bundle.Helm}, []string{bundle.ArgoCDOCI, bundle.FluxOCI}
	twice := func(r *Runner) { r.Drift = true }
	removed := func(r *Runner) { r.Remove = true }
	return []fault{
		{
			id: "F94", what: "a chart that renders something else each time, so that a second delivery of the same bundle changes the cluster", verdict: "exit 77 with `--drift`: the object, the path, the template's line, and what rolls",
			seeds: []seed{
				{name: "password", lanes: helm, nightly: controllers, runner: twice, recipe: func(r *tinyRecipe) {
					r.part("b").add("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData:\n  password: {{ randAlphaNum 16 }}\n")
					r.part("b").edit("metadata: {labels: {app: {{ .Release.Name }}}}", `metadata: {annotations: {checksum/secret: {{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}}, labels: {app: {{ .Release.Name }}}}`)
				}, want: red(reason.NeverSettles, "delivered again without a change, Secret b/token differs: data.password", "Deployment b/b rolls").
					and("likely cause: b/templates/secret.yaml:5 uses randAlphaNum")},
				{name: "certificate beside a hook", nightly: []string{bundle.ArgoCDOCI}, runner: twice, recipe: func(r *tinyRecipe) {
					r.part("b").add("hook.yaml", certificateInHook)
				}, want: red(reason.NeverSettles, "ValidatingWebhookConfiguration b-hook differs: webhooks[b.example.com].clientConfig.caBundle").
					and("Secret b/b-ca  did not change: it is a hook", "likely cause: b/templates/hook.yaml:2 uses genCA")},
				{name: "revision", nightly: []string{bundle.Helm, bundle.FluxOCI}, runner: twice, recipe: func(r *tinyRecipe) {
					r.part("b").add("job.yaml", strings.NewReplacer("-job}", "-{{ .Release.Revision }}}", "LABEL", "x").Replace(jobTemplate))
				}, want: red(reason.NeverSettles, "Job b/b-1 differs: was deleted").and("Job b/b-2  is new", "b/templates/job.yaml:3 uses .Release.Revision")},
				{name: "none", nightly: slices.Concat(families, otherLanes), runner: twice, want: outcomeWanted{check: settles}},
			},
			tests: []string{"internal/matrix/daytwo TestDrift", "internal/matrix/daytwo TestRolled", "internal/matrix/daytwo TestUses"},
		},
		{
			id: "F127", what: "a value that a chart generates anew at each rendering, in a hook and in an ordinary object", verdict: "exit 77 in Argo CD's lanes with self-heal, alone and before anything is deployed: a hard refresh replaces only the ordinary one; elsewhere a warning",
			seeds: []seed{
				{name: "authority", nightly: []string{bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI, bundle.ArgoCDGit}, recipe: func(r *tinyRecipe) {
					r.part("b").add("hook.yaml", certificateInHook)
				}, want: red(reason.NeverSettles, "ValidatingWebhookConfiguration b-hook webhooks[0].clientConfig.caBundle and Secret b/b-ca, which is a hook, have one generated value").
					and("likely cause: b/templates/hook.yaml:2 uses genCA")},
				{name: "checksum", nightly: []string{bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI, bundle.ArgoCDGit}, recipe: passwordInHook,
					want: red(reason.NeverSettles, `Deployment b/b spec.template.metadata.annotations["checksum/secret"] and Secret b/token, which is a hook`)},
				{name: "elsewhere", nightly: []string{bundle.Helm, bundle.FluxOCI, bundle.ArgoCDAppSet}, recipe: func(r *tinyRecipe) {
					r.part("b").add("hook.yaml", certificateInHook)
				}, want: outcomeWanted{check: warning("green only in lanes without Argo CD's self-heal: ValidatingWebhookConfiguration b-hook ")}},
			},
			tests: []string{"internal/matrix/daytwo TestTorn", "internal/matrix/daytwo TestTorn_Many", "internal/matrix/daytwo TestRefresh_Check"},
		},
		{
			id: "F99", what: "what stays in the cluster once the recipe is removed, and blocks it", verdict: "exit 76 with `--remove`: the object, and its finalizer or its webhook; what only stays is listed",
			seeds: []seed{
				{name: "finalizer", nightly: families, runner: removed, recipe: func(r *tinyRecipe) {
					r.part("b").add("stuck.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stuck, finalizers: [example.com/cleanup]}\n")
				}, want: red(reason.LeftBehind, "after the removal, ConfigMap b/stuck is being deleted for ever: it has the finalizer example.com/cleanup, and no controller that removes it")},
				{name: "webhook", nightly: []string{bundle.Helm, bundle.FluxOCI}, runner: removed, recipe: func(r *tinyRecipe) {
					r.part("b").add("hook.yaml", keptWebhook)
				}, want: red(reason.LeftBehind, "ValidatingWebhookConfiguration b-hook stays, and its webhook b.example.com fails closed: its Service b/b is gone", "every request for configmaps")},
				{name: "none", nightly: slices.Concat(families, otherLanes), runner: removed, want: outcomeWanted{check: listsNamespaces}},
			},
			tests: []string{"internal/matrix/daytwo TestLeftover", "internal/matrix/daytwo TestLeaving"},
		},
		{
			id: "F101", what: "what only an operator sees: a Role without a verb that it needs, a flag that its version does not have, an object that its webhook refuses", verdict: "exit 1 or 51 with `--operators`, in the operator's own words",
			tests: []string{"internal/matrix TestNightlyOperators", "internal/infra/podrun TestLastWords", "internal/infra/podrun TestRoute"},
		},
		{
			id: "F113", what: "a Certificate that cert-manager's webhook refuses", verdict: "exit 51 with `--operators`, in the webhook's words",
			tests: []string{"internal/matrix TestNightlyCertManager"},
		},
		{
			id: "F114", what: "objects for a webhook that fails closed and whose program still starts, or never does", verdict: "with `--operators`: passes, and a note has the number of tries; exit 51 after a minute if the webhook is never ready, 1 if its program crashes",
			tests: []string{"internal/matrix TestNightlyCertManager", "internal/matrix/lane TestStartingWebhook", "internal/matrix/lane/helm TestAttempts", "internal/matrix/lane/helminstall TestForgetFailed", "internal/matrix/gate TestCrashing"},
		},
		{
			id: "F115", what: "a Prometheus that its operator refuses", verdict: "exit 1 with `--operators`: what the operator's log says of this object, not its last line",
			tests: []string{"internal/matrix TestNightlyOperators", "internal/infra/podrun TestComplaints"},
		},
		{
			id: "F116", what: "an operator that ends again and again: by its own configuration, or killed", verdict: "exit 1 with `--operators`, long before the deadline, with the last error of its log; passes if it was killed once",
			tests: []string{"internal/matrix TestNightlyCertManager", "internal/matrix TestNightlyOperatorKilled", "internal/matrix/gate TestCrashing"},
		},
		{
			id: "F117", what: "a CRD older than the operator", verdict: "exit 51 with `--operators`: the object is not `Available`, and what the operator's log says of it",
			tests: []string{"internal/matrix TestNightlyOperators"},
		},
		{
			id: "F118", what: "a TLS Secret that a manifest leaves empty, from which an operator serves its webhooks", verdict: "exit 1 with `--operators`: the file that its program misses",
			tests: []string{"internal/matrix TestNightlyOperators"},
		},
		{
			id: "F153", what: "two operators that write one object in turns, each undoing what the other did, so that it is as expected now and then", verdict: "exit 77 with `--operators`, in seconds: the object, both operators with their components, and the fields that go back and forth",
			tests: []string{"internal/infra/embedded TestContested", "internal/matrix/gate TestFought", "internal/matrix TestNightlyOperatorsFight"},
		},
		{
			id: "F154", what: "a webhook that fails closed and is for objects of its own release, before its program is ready", verdict: "exit 51 before anything is deployed, if only a hook of the release writes its caBundle: it can never be installed; else, with `--operators`, passes once the program is ready",
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/lane TestStartingWebhook", "internal/matrix TestNightlyOperators"},
		},
		{
			id: "F157", what: "an image of `--program` that cannot run: another architecture, a layer that does not fit its digest, a name that leads out, no entrypoint, root where runAsNonRoot forbids it, a program that is not there, one container of two", verdict: "exit 26 or 2 before any cell, or 1, each with its own message; never passed because a program did not start",
			tests: []string{"internal/infra/podrun TestGet_Refused", "internal/infra/podrun TestUnpack_Escapes", "internal/infra/podrun TestUnsupported_Image", "internal/util/sandbox TestRoot_Ends", "cmd/matrix TestNightlyProgramImage"},
		},
	}
}

// liveFaults are about what was rendered and is not live, and what the API server says of it.
func liveFaults() []fault {
	return []fault{
		{
			id: "F102", what: "a field that was rendered and is not live: the API server drops it without a word, or somebody has overwritten it; an object that it refuses", verdict: "exit 51 in every lane for what the API server drops or refuses, all of it at once and before anything is delivered; otherwise a warning; with the path, the template's line and the component",
			seeds: []seed{
				{name: "feature gate", lanes: []string{bundle.Helm}, nightly: slices.Concat([]string{bundle.ArgoCDOCI, bundle.FluxOCI, bundle.ArgoCDAppSet, bundle.Helmfile}, otherLanes), recipe: func(r *tinyRecipe) {
					r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", lifecycle: {stopSignal: SIGUSR1}`)
					r.part("b").add("refused.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: refused}\nspec:\n  selector: {app: web}\n  ports:\n  - port: 808080\n")
				}, want: undelivered(red(reason.DeployFailed, "MX9").and(`Deployment b/b (b): the API server dropped field "spec.template.spec.containers[0].lifecycle`, "b/templates/web.yaml:13",
					`Service b/refused (b): the API server refuses it: Service "refused" is invalid: [spec.ports[0].port: Invalid value: 808080`, "b/templates/refused.yaml:7"))},
				{name: "overwritten", nightly: []string{bundle.Helm, bundle.FluxOCI}, recipe: func(r *tinyRecipe) { r.part("b").add("config.yaml", overwritten) }, deployed: overwrite,
					want: outcomeWanted{check: warning(`ConfigMap b/conf (b): data.mode is not live as it was rendered: "slow" was rendered, and "fast" is live`)}},
			},
			tests: []string{"internal/matrix/intact TestLost", "internal/matrix/intact TestReport", "internal/matrix/intact TestLost_Hostile", "internal/matrix/intact TestLook"},
		},
		{
			id: "F103", what: "what the API server warns of and takes all the same: a TLS Secret without a certificate, a CustomResourceDefinition with an unknown format", verdict: "a warning with the template's line in every lane, once",
			seeds: []seed{{lanes: []string{bundle.FluxOCI}, nightly: slices.Concat([]string{bundle.Helm, bundle.ArgoCDOCI, bundle.ArgoCDAppSet, bundle.Helmfile}, otherLanes), recipe: func(r *tinyRecipe) {
				r.part("b").add("tls.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: tls}\ntype: kubernetes.io/tls\ndata: {tls.crt: \"\", tls.key: \"\"}\n")
				r.part("b").add("crd.yaml", oddFormat)
			}, want: outcomeWanted{check: func(t *testing.T, r result.Result) {
				t.Helper()
				for of, file := range map[string]string{"Secret b/tls": "tls.yaml", "CustomResourceDefinition odds.example.com": "crd.yaml"} {
					said := slices.DeleteFunc(slices.Clone(r.Warnings), func(w string) bool { return !strings.HasPrefix(w, "the API server warns of "+of+": ") })
					if len(said) != 1 || !strings.Contains(said[0], "b/templates/"+file+":") {
						t.Errorf("%s: got %q of %q, want one warning with the template's line", of, said, r.Warnings)
					}
				}
			}}}},
			tests: []string{"internal/infra TestWarnings"},
		},
	}
}

// undelivered: the cell ended before the deployer was asked for anything.
func undelivered(w outcomeWanted) outcomeWanted {
	w.check = func(t *testing.T, r result.Result) {
		t.Helper()
		if last := r.Phases[len(r.Phases)-1].Name; last != "deploy" || r.Pods > 0 {
			t.Errorf("the cell ended in %s, with %d pods: want it before the delivery", last, r.Pods)
		}
	}
	return w
}

// settles: the note of a cell whose second delivery changed nothing.
func settles(t *testing.T, r result.Result) {
	t.Helper()
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "delivered a second time: none of ") }) {
		t.Errorf("got the notes %q, want one that says that the bundle was delivered twice", r.Notes)
	}
}

// listsNamespaces: every deployer but kubectl leaves the namespaces that it created.
func listsNamespaces(t *testing.T, r result.Result) {
	t.Helper()
	if !slices.ContainsFunc(r.LeftBehind, func(l string) bool {
		return strings.HasPrefix(l, "namespaces that the deployer created, and leaves (3): ")
	}) || slices.ContainsFunc(r.LeftBehind, func(l string) bool { return strings.Contains(l, "Deployment") }) {
		t.Errorf("got left behind %q, want the three namespaces and no workload", r.LeftBehind)
	}
}

const oddFormat = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: odds.example.com}
spec:
  group: example.com
  names: {plural: odds, singular: odd, kind: Odd, listKind: OddList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {id: {type: string, format: nonsense}}}}}}}
`

const overwritten = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {mode: slow}\n"

// overwrite changes a value that was delivered, as a controller would, as often as it is put back.
func overwrite(ctx context.Context, env *lane.Env) error {
	go func() {
		for ctx.Err() == nil {
			_, _ = env.Clients.Kube.CoreV1().ConfigMaps("b").Patch(ctx, "conf", types.MergePatchType, []byte(`{"data":{"mode":"fast"}}`), metav1.PatchOptions{FieldManager: "tuner"})
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return nil
}

// keptWebhook stays when its release is removed, and its Service does not.
//
//go:embed testdata/objects/kept_webhook.yaml
var keptWebhook string

// passwordInHook has a Secret that is a hook, and a Deployment with the checksum of its template.
func passwordInHook(r *tinyRecipe) {
	r.part("b").add("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: token, annotations: {helm.sh/hook: pre-install}}\nstringData:\n  password: {{ randAlphaNum 16 }}\n")
	r.part("b").edit("metadata: {labels: {app: {{ .Release.Name }}}}", `metadata: {annotations: {checksum/secret: {{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}}, labels: {app: {{ .Release.Name }}}}`)
}

// certificateInHook has an authority in a hook, which Argo CD runs at full syncs only, and in an
// ordinary object, which self-heal syncs.
//
//go:embed testdata/objects/certificate_in_hook.yaml
var certificateInHook string
