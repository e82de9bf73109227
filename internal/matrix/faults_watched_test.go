package matrix

import (
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

// watchedFaults are resources of operators that these refuse, or do nothing of, by what the resources say alone.
func watchedFaults() []fault {
	const at = beforeBudget // from the start of the cell: before anything is deployed
	const selfSigned = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web}\nspec: {secretName: tls, dnsNames: [web.b.svc], "
	return []fault{
		{
			id: "F315", what: "a value that the definition of a simulated chart's kind does not allow: a text that is none of the operator's, a duration, a size or a quantity that is none, a port", verdict: "exit 51 in every lane, in the API server's words, as with the original's definition",
			seeds: []seed{
				{nightly: families, recipe: watched("prometheusrules", ruleOf("up == 0, for: 5 minutes")), want: red(reason.DeployFailed, "spec.groups[0].rules[0].for").and("b/templates/watched.yaml:")},
				{name: "allowed", nightly: families, recipe: watched("prometheusrules", ruleOf("up == 0, for: 5m"))},
			},
			tests: []string{"internal/bundle TestCustomResources"},
		},
		{
			id: "F316", what: "a rule whose expression is no PromQL, or that is both an alert and a record, or has a template that is none; a monitor that waits longer than it scrapes, or relabels by a pattern that is none; an AlertmanagerConfig with a route to a receiver that it does not have", verdict: "exit 51 before anything is deployed, in every lane, whether prometheus-operator is simulated or runs; a warning without it, and for a function that only another version of Prometheus may have",
			seeds: []seed{
				{nightly: families, recipe: watched("prometheusrules", ruleOf("sum(up")), want: red(reason.DeployFailed, "PrometheusRule.monitoring.coreos.com b/gpu (b): rule Hot of group gpu has an expression that is no PromQL: ").and("b/templates/watched.yaml:").in(at)},
				{name: "function", nightly: families, recipe: watched("prometheusrules", ruleOf("brew(up)")), want: outcomeWanted{check: warning(`unknown function with name "brew"`)}},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F317", what: "a Prometheus or an Alertmanager that reads a key of a Secret or ConfigMap that nothing in the recipe makes (remote write, further scrape configurations, Thanos); an Alertmanager with a route to a receiver that it does not have", verdict: "exit 1 before anything is deployed, in every lane, whether prometheus-operator is simulated or runs: no pods of it would run; a warning for a monitor's Secret",
			seeds: []seed{
				{nightly: families, recipe: watched("prometheuses", "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: main}\nspec: {replicas: 1, remoteWrite: [{url: 'https://example.com/', basicAuth: {username: {name: remote, key: user}}}]}\n"),
					want: red(reason.WorkloadFailed, "Prometheus.monitoring.coreos.com b/main (b): reads the key user of Secret b/remote (spec.remoteWrite[0].basicAuth.username), which nothing in the recipe makes").in(at)},
				{name: "receiver", nightly: families, recipe: watched("alertmanagers", "apiVersion: monitoring.coreos.com/v1\nkind: Alertmanager\nmetadata: {name: main}\nspec: {replicas: 1}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: alertmanager-main}\nstringData: {alertmanager.yaml: 'route: {receiver: pager}'}\n"),
					want: red(reason.WorkloadFailed, "has a route to receiver pager, which it does not have").in(at)},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F318", what: "a Certificate whose issuer has no name or is of a kind that cert-manager does not have, or whose keystore has no password; an issuer of no type, with an incomplete ACME solver, or whose Secret has no key", verdict: "exit 51 before anything is deployed, in every lane, whether cert-manager is simulated or runs",
			seeds: []seed{
				{nightly: families, recipe: certified(selfSigned + "issuerRef: {kind: AWSPCAIssuer, name: house}}\n"), want: red(reason.DeployFailed, "Certificate.cert-manager.io b/web (b): is to be signed by an issuer of kind AWSPCAIssuer").in(at)},
				{name: "password", nightly: families, recipe: certified(selfSigned + "issuerRef: {group: example.com, kind: House, name: house}, keystores: {jks: {create: true}}}\n"), want: red(reason.DeployFailed, "has no password for its keystore (spec.keystores.jks)").in(at)},
			},
			tests: []string{"internal/matrix/checks TestCases", "internal/infra/programs TestAwaited_NoSecret"},
		},
		{
			id: "F319", what: "a NodeFeatureRule with a pattern or a number that is none, with the wrong number of values, or for a label of kubernetes.io", verdict: "a warning with file and line: Node Feature Discovery says so only in its log",
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F320", what: "a JobSet whose job waits for a later one, or has too long a name, or with a policy for a job that it does not have", verdict: "exit 51 before anything is deployed, in every lane, whether JobSet is simulated or runs",
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F321", what: "a Job, a JobSet or a TrainJob of the recipe that its own Kueue never admits; a queue without its flavor", verdict: "exit 1 with `--operators`, in Kueue's words; without, F288",
			tests: []string{"internal/matrix/gate TestHeld", "internal/matrix/gate TestHeldBack", "internal/infra/programs TestAwaited_Queues", "cmd/matrix TestNightlyKueueInCells"},
		},
		{
			id: "F322", what: "pods for a scheduler that runs as the recipe's own pod, and that says nothing of them", verdict: "exit 1 with `--operators` or `--program` after 45 s, the scheduler named; it is not said to be missing, and one that starts slowly is no fault",
			tests: []string{"internal/matrix/gate TestGatePods", "cmd/matrix TestNightlyCoschedulingInCells"},
		},
		{
			id: "F323", what: "a recipe that AICR's bundler refuses by the checks of the registry, and that this program's bundler could deliver", verdict: "exit 52 in every lane: the check, its line in the registry, and what to set; with `--bundler exec`, AICR's CLI refuses it",
			tests: []string{"internal/matrix TestPlan_Preconditions", "internal/bundle/preconditions TestCheck"},
		},
		{
			id: "F350", what: "a custom resource of which nobody can make its workload: the API server refuses that, or the operator does", verdict: "exit 1 in every lane, 20 s after all else was ready, with the refusal",
			seeds: []seed{{
				nightly: families, recipe: watched("prometheuses", "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: main}\nspec: {replicas: 1, podMetadata: {labels: {team: a b}}}\n"),
				want: red(reason.WorkloadFailed, "StatefulSet b/prometheus-main: not made yet from Prometheus b/main").and("Invalid value: \"a b\"").in(100 * time.Second),
			}},
			tests: []string{"internal/matrix/gate TestUnmade", "internal/matrix TestNightlyOperators"},
		},
		{
			id: "F351", what: "a Role by which Node Feature Discovery cannot label nodes that pods of the recipe wait for", verdict: "exit 1 with `--operators`, with what its master says; passes with the right, once the label is there",
			tests: []string{"internal/matrix TestNightlyFeatureDiscovery", "internal/infra/programs TestChoose_Commands"},
		},
	}
}

// watched adds these objects, the simulated chart's definition of a kind of prometheus-operator, and the operator.
func watched(plural, objects string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		raw, err := kwok.Files.ReadFile("charts/kube-prometheus-stack/charts/crds/crds/" + plural + ".monitoring.coreos.com.yaml")
		if err != nil {
			panic(err) // a seed has no test to fail
		}
		r.part("a").crds = map[string]string{"crd.yaml": string(raw)}
		operator := strings.NewReplacer("replicas: 0", "replicas: 1", "spec: {containers", "spec: {tolerations: [{operator: Exists}], containers")
		r.part("b").add("operator.yaml", operator.Replace(asleepDeployment("operator", "quay.io/prometheus-operator/prometheus-operator:v0.89.0")))
		r.part("b").add("watched.yaml", objects)
	}
}

// ruleOf is a PrometheusRule with an alert of this expression.
func ruleOf(expr string) string {
	return "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: gpu}\nspec:\n  groups:\n  - name: gpu\n    rules:\n    - {alert: Hot, expr: " + expr + "}\n"
}
