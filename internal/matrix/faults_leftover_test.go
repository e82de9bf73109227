package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// leftoverFaults are pods that end, and references and numbers that nothing looked at.
func leftoverFaults() []fault {
	const at = beforeBudget // from the start of the cell: before anything is deployed
	helms := []string{bundle.Helm, bundle.FluxOCI}
	return []fault{
		{
			id: "F180", what: "a pod of its own that is not started again once it has ended, hook or not; a hook pod that never ends", verdict: "passes: simulated as a Job's pod; one that never ends is exit 1 before anything is deployed, where Helm waits for it",
			seeds: []seed{
				{nightly: families, recipe: oncePod("restartPolicy: Never, ", "")},
				{name: "a hook", nightly: families, recipe: oncePod("restartPolicy: OnFailure, ", "annotations: {helm.sh/hook: post-install}")},
				{name: "a hook without an end", nightly: helms, recipe: oncePod("", "annotations: {helm.sh/hook: post-install}"), want: red(reason.WorkloadFailed, "Pod b/once (b): is a hook, and its pod never ends").in(at)},
				{name: "the same where Helm does not wait", nightly: []string{bundle.ArgoCDOCI}, recipe: oncePod("", "annotations: {helm.sh/hook: post-install}")},
			},
			tests: []string{"internal/matrix/checks TestCases", "internal/observe TestPodState_Once"},
		},
		{
			id: "F181", what: "a Certificate of an issuer that nothing makes, an issuer that signs with a Secret that nothing makes", verdict: "exit 51 before anything is deployed, in every lane; an Ingress or Gateway that names one is a warning",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("a").crds = map[string]string{"crd.yaml": certificateKind}
				r.part("b").add("certificate.yaml", "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web}\nspec: {secretName: tls, issuerRef: {kind: ClusterIssuer, name: nobody}}\n")
			}, want: red(reason.DeployFailed, "Certificate.cert-manager.io b/web (b): is to be signed by ClusterIssuer nobody, which does not exist").and("b/templates/certificate.yaml:2").in(at)}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F182", what: "a claim for a volume by its name that does not exist, is another claim's, or does not fit it", verdict: "exit 2 before anything is deployed, in every lane, whether a pod uses it or not",
			seeds: []seed{
				{nightly: families, recipe: func(r *tinyRecipe) { r.part("b").add("claim.yaml", claimOfDisk("data")) },
					want: red(reason.SchedulingFailed, "PersistentVolumeClaim b/data (b): names PersistentVolume disk (spec.volumeName), which does not exist").in(at)},
				{name: "two claims", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("claims.yaml", diskVolume+claimOfDisk("data")+claimOfDisk("more"))
				}, want: red(reason.SchedulingFailed, "PersistentVolumeClaim b/more (b): names PersistentVolume disk (spec.volumeName), and so does PersistentVolumeClaim b/data").in(at)},
				{name: "one", nightly: families, recipe: func(r *tinyRecipe) { r.part("b").add("claims.yaml", diskVolume+claimOfDisk("data")) }},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{id: "F183", what: "a quantity with thousands of digits (1e999999999), which the API server cannot read", verdict: "exit 52 before there is a cluster, in every lane, with file and line", tests: []string{"internal/bundle/policy TestUnreadable", "internal/bundle TestRefused"}},
		{id: "F184", what: "a Secret or ConfigMap that Helm takes for its own record of a release", verdict: "exit 52 before there is a cluster, in every lane, with file and line", tests: []string{"internal/bundle/policy TestWhy_HelmRecord", "internal/bundle TestRefused"}},
		{
			id: "F185", what: "a value of another type in an item of a list, of which the API server names only the list", verdict: "exit 51, with the template's line of the item",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").edit(`[{name: main, image: "example.com/web:1"}]`, "\n      - {name: side, image: \"example.com/web:1\", env: [{name: A, value: x}]}\n      - name: main\n        image: example.com/web:1\n        env:\n        - {name: A, value: x}\n        - name: B\n          value: 1")
			}, want: red(reason.DeployFailed, "b").and("b/templates/web.yaml:20")}},
			tests: []string{"internal/matrix/why TestRejectedField_List"},
		},
		{
			id: "F186", what: "a port twice: of a node for two Services or two DaemonSets, or of one load balancer", verdict: "exit 51 in every lane, and 2 for the pods' ports, with the line of one of the two",
			seeds: []seed{
				{nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("services.yaml", servesOn("one", "NodePort", "{port: 80, nodePort: 30080}")+servesOn("two", "NodePort", "{port: 80, nodePort: 30080}"))
				}, want: red(reason.DeployFailed, "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated").and("b/templates/services.yaml:")},
				{name: "load balancer", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("services.yaml", servesOn("one", "LoadBalancer", "{name: web, port: 80}, {name: api, port: 80}"))
				}, want: red(reason.DeployFailed, "uplicate ").and("b/templates/services.yaml:")},
				{name: "pods", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("sets.yaml", strings.ReplaceAll(hostPort, "NAME", "one")+strings.ReplaceAll(hostPort, "NAME", "two"))
				}, want: red(reason.SchedulingFailed, "didn't have free ports for the requested pod ports").and("host port 8080/TCP is taken by b/", "b/templates/sets.yaml:")},
			},
		},
	}
}

// oncePod is a pod of its own.
func oncePod(policy, meta string) func(*tinyRecipe) {
	text := strings.NewReplacer("POLICY", policy, "META", meta).Replace("apiVersion: v1\nkind: Pod\nmetadata: {name: once, META}\nspec: {POLICYtolerations: [{operator: Exists}], containers: [{name: main, image: \"example.com/once:1\"}]}\n")
	return func(r *tinyRecipe) { r.part("b").add("once.yaml", text) }
}

const diskVolume = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: ebs.csi.aws.com, volumeHandle: x}}\n"

func claimOfDisk(name string) string {
	return "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + "}\nspec: {storageClassName: \"\", volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
}

const certificateKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec: {group: cert-manager.io, scope: Namespaced, names: {plural: certificates, singular: certificate, kind: Certificate, listKind: CertificateList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}
`

func servesOn(name, kind, ports string) string {
	return "---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {type: " + kind + ", selector: {app: b}, ports: [" + ports + "]}\n"
}

const hostPort = `---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME}
spec: {selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {tolerations: [{operator: Exists}], containers: [{name: m, image: "example.com/x:1", ports: [{containerPort: 80, hostPort: 8080}]}]}}}
`
