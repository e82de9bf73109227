package matrix

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// clearingFaults are upgrades whose hooks, Jobs and disks only a first installation was asked about.
func clearingFaults() []fault {
	helm, argo, flux := []string{bundle.Helm}, []string{bundle.ArgoCDOCI}, []string{bundle.FluxOCI}
	controllers, byHelm := slices.Concat(argo, flux), slices.Concat(helm, flux)
	again := func(r *Runner) { r.Drift = true }
	const port = `, ports: [{containerPort: 80, hostPort: 9100}]}]`
	return []fault{
		{
			id: "F380", what: "a hook that runs before an upgrade and needs a ConfigMap, a Secret or a ServiceAccount that the new chart has for the first time", verdict: "exit 73 before anything is delivered, with the hook, what it needs, and the edit: a first installation does not run it, and no kubelet looks here",
			seeds: []seed{{nightly: byHelm, old: older(func(*tinyRecipe) {}), recipe: func(r *tinyRecipe) {
				r.part("b").add("scripts.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: scripts}\ndata: {a: b}\n")
				r.part("b").add("job.yaml", strings.NewReplacer("-job}", `-job, annotations: {helm.sh/hook: pre-upgrade}}`, `"example.com/job:1"`, `"example.com/job:1", envFrom: [{configMapRef: {name: scripts}}]`).Replace(jobTemplate))
			}, want: red(reason.UpgradeFailed, "the upgrade from old: Job b/b-job (b): takes its environment from ConfigMap b/scripts, which is new").and("a kubelet does not start the hook's pod", "b/templates/scripts.yaml:3")}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F381", what: "a hook Job that deletes, before the upgrade, what cannot be changed (a StatefulSet, --cascade=orphan), and whose pod is simulated", verdict: "passes where Helm upgrades, with a note that it is not verified: the harness deletes it in the Job's place, if the Job's command names it and its role lets it; exit 73 in Argo CD, which creates again at once what is missing",
			seeds: []seed{
				{nightly: byHelm, old: older(claimsOf("1Gi")), recipe: clears(), want: outcomeWanted{check: func(t *testing.T, r result.Result) {
					t.Helper()
					testkit.WantText(t, "notes", strings.Join(r.Notes, "\n"), "StatefulSet b/b-db cannot be changed, and hook Job b/b-job (pre-upgrade) of release b")
				}}},
				{nightly: argo, old: older(claimsOf("1Gi")), recipe: clears(), want: red(reason.UpgradeFailed, "the upgrade from old: ")},
			},
			tests: []string{"internal/matrix/daytwo TestClear"},
		},
		{
			id: "F382", what: "a Job that its time to live deletes long before an upgrade (ttlSecondsAfterFinished), and that the upgrade changes", verdict: "passes, with a note: it is deleted before the second delivery, which comes within seconds here. With --drift no change, gone or not, and a warning that each delivery runs it again; F84 in Argo CD",
			seeds: []seed{
				{nightly: byHelm, old: older(livesFor("600", "1")), recipe: livesFor("600", "2"), want: outcomeWanted{check: endsAlike}},
				{name: "for a day", nightly: helm, old: older(livesFor("86400", "1")), recipe: livesFor("86400", "2"), want: red(reason.UpgradeFailed, "the upgrade from old: ").and("Job b-job: spec.template cannot be changed")},
				{name: "second delivery", nightly: byHelm, runner: again, recipe: livesFor("2", "1"), want: outcomeWanted{check: warning("Job b/b-job (b): runs again with each delivery: it is deleted 2s after it has finished")}},
			},
			tests: []string{"internal/matrix/daytwo TestExpire", "internal/matrix/daytwo TestDrift_Expiring"},
		},
		{
			id: "F383", what: "a component that is renamed, in helm, which leaves the old one: its pods have the port of the nodes, or the GPUs, that the new one's need", verdict: "exit 73 in helm: the workload that is left, its component and how it is removed; passes in Argo CD and Flux, which remove it",
			seeds: []seed{
				{nightly: helm, old: older(renamed("d", port)), recipe: renamed("e", port), want: red(reason.UpgradeFailed, "the upgrade from old: DaemonSet e/e (e): 0/6 nodes are available", "DaemonSet d/d has the room: the new bundle has it no more (component d, d/templates/web.yaml:").and("helm uninstall d")},
				{nightly: controllers, old: older(renamed("d", port)), recipe: renamed("e", port), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestStandoff_Left"},
		},
		{
			id: "F384", what: "a Deployment that rolls while its claim is for one node (ReadWriteOnce)", verdict: "a warning with line and edit: on another node the new pod waits for the disk for ever; no simulated kubelet attaches one",
			seeds: []seed{{nightly: helm, old: older(claim("1Gi")), recipe: func(r *tinyRecipe) {
				claim("1Gi")(r)
				r.part("b").edit("example.com/web:1", "example.com/web:2")
			}, want: outcomeWanted{check: warning("Deployment b/b (b): starts its new pod before the old one ends, and both use PersistentVolumeClaim data, which is ReadWriteOnce")}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{id: "F385", what: "an immutable field whose whole new value the API server quotes, e.g. a Job's template of 3,000 bytes", verdict: "the report has the path and the reason, and how many bytes it leaves out", tests: []string{"internal/result TestVerdictOf_Dumped"}},
		{id: "F386", what: "--from twice, of which the last one counted without a word", verdict: "exit 2", tests: []string{"cmd/matrix TestFromInput"}},
		{id: "F387", what: "a release that Helm cannot read any more, since the version of an object in it is not served", verdict: "exit 73 with that version and what to do, and no edit of the new chart, which has another version already", tests: []string{"internal/matrix/why TestLocate_RemovedAPI"}},
	}
}

// clears changes the claims of b's StatefulSet, and has a Job that deletes it before.
func clears() func(*tinyRecipe) {
	const rights = `apiVersion: v1
kind: ServiceAccount
metadata: {name: cleaner, annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-weight: "-1"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cleaner, annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-weight: "-1"}}
rules: [{apiGroups: [apps], resources: [statefulsets], verbs: [get, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cleaner, annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-weight: "-1"}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cleaner}
subjects: [{kind: ServiceAccount, name: cleaner}]
`
	return func(r *tinyRecipe) {
		claimsOf("2Gi")(r)
		r.part("b").add("rights.yaml", rights)
		r.part("b").add("job.yaml", strings.NewReplacer("-job}", `-job, annotations: {helm.sh/hook: pre-upgrade}}`, "      restartPolicy", "      serviceAccountName: cleaner\n      restartPolicy",
			`"example.com/job:1"`, `"example.com/kubectl:1", command: [kubectl, delete, statefulset, b-db, --cascade=orphan, --ignore-not-found]`).Replace(jobTemplate))
	}
}

// livesFor has a Job with a time to live in seconds, and that image.
func livesFor(seconds, image string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("job.yaml", strings.NewReplacer("spec:\n  template:", "spec:\n  ttlSecondsAfterFinished: "+seconds+"\n  template:", "job:1", "job:"+image).Replace(jobTemplate))
	}
}

// renamed has a component of that name whose DaemonSet has a port of its nodes.
func renamed(name, port string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		set := strings.NewReplacer("kind: Deployment", "kind: DaemonSet", "  replicas: 1\n", "", "}]\n", port+"\n").Replace(webTemplate)
		r.components = append(r.components, &tinyComponent{name: name, templates: map[string]string{"web.yaml": set}, after: []string{"a"}})
	}
}
