package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// gapFaults are what one lane knew and another did not, or what only the next delivery meets.
func gapFaults() []fault {
	argocd := []string{bundle.ArgoCDOCI}
	early := func(event, from, to string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.part("b").add("early.yaml", strings.NewReplacer("{name: {{ .Release.Name }}-job}", "{name: early, annotations: {helm.sh/hook: "+event+"}}", "LABEL", "x", from, to).Replace(jobTemplate))
		}
	}
	const tolerations = "      tolerations: {{ toYaml .Values.tolerations | nindent 8 }}\n"
	ordinary := func(r *tinyRecipe) {
		early("pre-upgrade", "      restartPolicy: Never\n", "      restartPolicy: Never\n      serviceAccountName: own\n")(r)
		r.part("b").add("account.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: own}\n")
	}
	return []fault{
		{
			id: "F119", what: "a hook of upgrades that can never run, which Argo CD runs at the first sync too", verdict: "exit 1 in Argo CD's lanes, with the scheduler's message or what comes too late, within 20 s; passes where nothing runs it",
			seeds: []seed{
				{name: "no node", nightly: argocd, recipe: early("pre-upgrade", tolerations, ""), want: red(reason.SchedulingFailed, "Job b/early (b): 0/6 nodes are available").and("b/templates/early.yaml:").in(beforeBudget)},
				{name: "at the end", nightly: argocd, recipe: early("post-upgrade", tolerations, ""), want: red(reason.SchedulingFailed, "Job b/early (b): 0/6 nodes are available").in(beforeBudget)},
				{name: "account", nightly: argocd, recipe: ordinary, want: red(reason.WorkloadFailed, "Job b/early (b): runs as ServiceAccount b/own, which the same release creates only later").in(beforeBudget)},
				{name: "elsewhere", nightly: []string{bundle.Helm, bundle.FluxOCI}, recipe: ordinary},
				{name: "that can run", nightly: families, recipe: early("post-upgrade", "", "")},
			},
			tests: []string{"internal/bundle/rendering TestRelease_ArgoCD", "internal/bundle TestPrepare_UpgradeHooks", "internal/matrix/checks TestCases"},
		},
		{
			id: "F120", what: "a policy of the recipe that denies what the next delivery changes, and that was not in force during the first", verdict: "exit 51 in every lane: the object, the policy and its words",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: frozen}\ndata: {a: b}\n")
				r.part("a").add("policy.yaml", strings.NewReplacer("%s], apiVersions", `""], apiVersions`, "[CREATE]", "[UPDATE]", "resources: [%s]", "resources: [configmaps]", "'team' in object.metadata.labels", "object.metadata.name != 'frozen'", "pods need a team", "frozen").Replace(deniesWithoutTeam))
			}, want: red(reason.DeployFailed, "ConfigMap b/frozen (b): the API server would reject its next update: ValidatingAdmissionPolicy 'teams' with binding 'teams' denied request: frozen")}},
			tests: []string{"internal/matrix/intact TestRefusedNext"},
		},
		{
			id: "F121", what: "a webhook that fails closed, at an address of the API server's own machine", verdict: "exit 51 in every lane, with the address; a warning if it fails open",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("webhook.yaml", loopbackWebhook)
			}, want: red(reason.DeployFailed, "ValidatingWebhookConfiguration here (b): webhook here.example.com calls https://127.0.0.1:9443/, the API server's own machine")}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F122", what: "a report on a pod of a chart that names the template without its line", verdict: "the line of the field, or of what is above it, in the chart's template; F05 has it in cells",
			tests: []string{"internal/matrix/why TestSources_Template", "internal/matrix/facts TestPlace_Chart"},
		},
		{
			id: "F166", what: "a chart's version with build metadata, of which a registry's tag cannot have the +", verdict: "passes in every lane, and the version is read back",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) { r.version = "1.0.0+build.5" }}},
			tests: []string{"internal/bundle/publish TestPushChart_InMemory"},
		},
		{
			id: "F167", what: "a definition that a chart has twice in crds/, e.g. by a dependency under two names", verdict: "no warning if both are the same; otherwise who keeps which",
			tests: []string{"internal/bundle TestDefinitionsTwice"},
		},
		{
			id: "F168", what: "a pipe or terminal that nobody reads, so that a run waits for ever in a write", verdict: "the run goes on, writes its results, and ends a minute after its last line",
			tests: []string{"internal/command/cli TestOutput_NobodyReads"},
		},
	}
}

const loopbackWebhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: here}
webhooks:
- name: here.example.com
  clientConfig: {url: "https://127.0.0.1:9443/"}
  admissionReviewVersions: [v1]
  sideEffects: None
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
`
