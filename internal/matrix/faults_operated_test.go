package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// operatedFaults are objects that wait for an operator which does nothing for them: stand-ins do.
func operatedFaults() []fault {
	const at = beforeBudget // from the start of the cell: before anything is deployed
	return []fault{
		{
			id: "F236", what: "an operator with 0 replicas, or told to look in other namespaces, and its custom resources; a webhook that fails closed, an APIService or a conversion whose only pods are those of a Deployment with 0 replicas, or whose caBundle a cainjector without pods is to write", verdict: "exit 51 before anything is deployed, in every lane: the stand-in would do the operator's work",
			seeds: []seed{
				{nightly: families, recipe: certified(asleepDeployment("operator", "quay.io/jetstack/cert-manager-controller:v1.17.2") + certificateOf("web", "secretName: tls, dnsNames: [web.b.svc]")),
					want: red(reason.DeployFailed, "Certificate.cert-manager.io b/web (b): waits for its operator, Deployment b/operator (b), which has 0 replicas").and("b/templates/certificates.yaml:").in(at)},
				{name: "webhook", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("hook.yaml", asleepDeployment("hook", "example.com/hook:1")+"apiVersion: v1\nkind: Service\nmetadata: {name: hook}\nspec: {selector: {app: hook}, ports: [{port: 443}]}\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: hook}\nwebhooks:\n- {name: hook.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {service: {namespace: b, name: hook}}, rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n")
				}, want: red(reason.DeployFailed, "ValidatingWebhookConfiguration hook (b): webhook hook.example.com calls Service b/hook, whose only pods are those of Deployment b/hook (b), which has 0 replicas").in(at)},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F237", what: "a Certificate without a name, or renewed after its end, with a key of no algorithm; two Certificates for one Secret; an issuer that signs with a Certificate without isCA, or a ClusterIssuer whose Secret is in another namespace than cert-manager reads", verdict: "exit 51 before anything is deployed, in every lane, whether cert-manager is simulated or runs",
			seeds: []seed{
				{nightly: families, recipe: certified(certificateOf("web", "secretName: tls")), want: red(reason.DeployFailed, "Certificate.cert-manager.io b/web (b): names nothing that it is for").in(at)},
				{name: "one Secret of two", nightly: families, recipe: certified(certificateOf("web", "secretName: tls, dnsNames: [web.b.svc]") + certificateOf("api", "secretName: tls, dnsNames: [api.b.svc]")),
					want: red(reason.DeployFailed, "is to be kept in Secret b/tls (spec.secretName), and so is Certificate.cert-manager.io b/").in(at)},
				{name: "two Secrets", nightly: families, recipe: certified(certificateOf("web", "secretName: tls, dnsNames: [web.b.svc]") + certificateOf("api", "secretName: tls2, dnsNames: [api.b.svc]"))},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{id: "F238", what: "a PrometheusRule with bad PromQL, a ServiceMonitor with a pattern that is none: prometheus-operator leaves it out, and says so only in an event", verdict: "exit 51 with `--operators`, in the operator's words; what is wrong by itself (F316) everywhere", tests: []string{"internal/matrix/gate TestRejected", "internal/infra/programs TestAwaited_LeftOut", "internal/matrix TestNightlyOperators"}},
		{id: "F239", what: "a monitor or rule that no Prometheus of the recipe selects; a webhook that fails closed and is served outside of the cluster", verdict: "a warning with file and line", tests: []string{"internal/matrix/checks TestCases"}},
		{id: "F240", what: "a value of megabytes that Helm or the API server quotes as a whole when it rejects it", verdict: "a line of a verdict has 4,000 bytes at most: its first and last words", tests: []string{"internal/result TestVerdictOf_Long"}},
		{id: "F244", what: "a pipe to which nothing writes, in place of a settings file or of another file that is named", verdict: "an error with its name after 5 s: the run did not end", tests: []string{"internal/util/filesys TestFile_Pipe"}},
		{id: "F245", what: "YAML that is nested thousands of levels deep, in values or a chart, which took 12 s for each component and lane", verdict: "rejected with its line", tests: []string{"internal/util/yamlx TestCheck"}},
		{id: "F241", what: "a deploy.sh of `--bundle-dir` whose helper passes another flag on to every release, e.g. --post-renderer with a program", verdict: "exit 2 before there is a cluster, with the line; nothing of the script is run", tests: []string{"internal/intake TestDeployScript_EveryRelease"}},
		{id: "F242", what: "a pod that is to run as a process and cannot: two containers of which one has a program, a shell, a block device; one whose port another program of this machine has", verdict: "exit 1 as soon as the pod is seen, with the reason, and not once the budget is over; 16 after 20 s, since the recipe is not at fault", tests: []string{"internal/matrix/gate TestCannotRun", "internal/matrix/gate TestCrashing"}},
		{id: "F340", what: "a program that listens on a port which its container does not name, or that runs in two replicas with one port", verdict: "passes: it gets the port, and the second replica is as ready as the first; it was red, though a port that is not named is no fault", tests: []string{"internal/infra/podrun TestLearn", "internal/infra/podrun TestReplicaAt", "internal/infra/podrun TestPortTaken"}},
		{id: "F341", what: "a misspelt image of `--program`, or a program for another recipe", verdict: "exit 2 if no pod of the whole run has the image, with the nearest one; it passed with a warning", tests: []string{"internal/matrix TestBlame", "internal/infra/podrun TestUnused"}},
		{id: "F342", what: "a program that its Role denies something, where nothing waits for what it would make", verdict: "a warning with the account, the verb, the resource and the account's roles; what is allowed later is none", tests: []string{"internal/infra/embedded TestDenied", "internal/matrix TestLines"}},
		{id: "F343", what: "a readiness probe of a wrong port, scheme or path, of a program that runs", verdict: "exit 1 with what the probe got, beside \"not Ready\"", tests: []string{"internal/infra/podrun TestStatus_Unready", "internal/infra/podrun TestProbes_Ports", "internal/observe TestCheckWorkloads"}},
	}
}

// certified adds these objects, and the definition of Certificates, which another program's issuer
// signs.
func certified(objects string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("a").crds = map[string]string{"crd.yaml": certificateKind}
		r.part("b").add("certificates.yaml", objects)
	}
}

func certificateOf(name, spec string) string {
	return "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: " + name + "}\nspec: {issuerRef: {group: example.com, kind: House, name: house}, " + spec + "}\n---\n"
}

func asleepDeployment(name, image string) string {
	return strings.NewReplacer("NAME", name, "IMAGE", image).Replace("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec: {replicas: 0, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: main, image: IMAGE}]}}}\n---\n")
}
