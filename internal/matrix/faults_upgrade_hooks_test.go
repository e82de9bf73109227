package matrix

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// upgradeHookFaults are second deliveries that nobody had tried here.
func upgradeHookFaults() []fault {
	byHelm := []string{bundle.Helm, bundle.FluxOCI}
	back, removed := func(r *Runner) { r.Rollback = true }, func(r *Runner) { r.Remove = true }
	return []fault{
		{
			id: "F233", what: "a quota that has no room for a new pod beside the old one, in a rolling update that keeps the old one until then", verdict: "exit 73 with the quota, the old pods and the edit: a first installation passes; a quota that has room for one of the new pods passes",
			seeds: []seed{
				{nightly: families, old: older(inQuota("10", "1")), recipe: inQuota("1", "2"), want: red(reason.UpgradeFailed, "the upgrade from old: Deployment b/b (b): the API server rejects its pods", "exceeded quota: q").and("and the new one waits for the quota of b/b-", "edit: strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}} in b/templates/web.yaml:")},
			},
			tests: []string{"internal/matrix/daytwo TestFailed_Quota"},
		},
		{
			id: "F234", what: "what a hook changes: its image, also of one that is deleted once it has succeeded, and its content; claims that a removed or smaller StatefulSet leaves", verdict: "passes, and the difference names image, content and claims; not what charts generate anew for each delivery",
			seeds: []seed{
				{nightly: []string{bundle.Helm}, old: older(withHookAndData("1", "2")), recipe: withHookAndData("2", "1"), want: outcomeWanted{check: showsHookAndData}},
			},
			tests: []string{"internal/matrix/change TestHooksChange", "internal/matrix/change TestClaims"},
		},
		{
			id: "F235", what: "an upgrade that removes a webhook, its Service, and what it is asked about: Helm deletes the Service first and the webhook last, so that the API server refuses what is between", verdict: "exit 74 with what stays, the webhook and the order: Helm writes it into its log and goes on",
			seeds: []seed{
				{nightly: []string{bundle.Helm, bundle.FluxOCI}, old: older(guardedByItself), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeDiverged, "the upgrade from old: Deployment b/guard (b): stays: webhook guard.example.com of ValidatingWebhookConfiguration guard is asked about its deletion").and("b/templates/guard.yaml")},
			},
			tests: []string{"internal/matrix/daytwo TestFind", "internal/matrix/checks TestCases"},
		},
		{
			id: "F254", what: "a hook that becomes an ordinary object, in Argo CD, or the reverse in Flux with the same version of the chart: nothing is delivered, and the old content stays", verdict: "exit 74 with the cause",
			seeds: []seed{
				{nightly: []string{bundle.ArgoCDOCI}, old: older(valueIn("1", "pre-install,pre-upgrade")), recipe: valueIn("2", ""), want: red(reason.UpgradeDiverged, "ConfigMap b/conf  data.k", "it was a hook before: Argo CD takes what has a hook's annotation in the cluster for a hook")},
			},
			tests: []string{"internal/matrix/compare TestUpgraded_Hooks"},
		},
		{
			id: "F255", what: "a component that moves to another namespace: helm-controller uninstalls the old release as if it were in the new one, and finds nothing", verdict: "passes in Flux, with a warning that names what runs on in the old namespace",
			seeds: []seed{
				{nightly: []string{bundle.FluxOCI}, old: older(func(*tinyRecipe) {}), recipe: func(r *tinyRecipe) { r.part("b").namespace = "d" }, want: outcomeWanted{check: warning("Deployment b/b (b): is left behind by the upgrade")}},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F248", what: "a rollback that removes what an upgrade has added: a webhook with what it is asked about, an object with a finalizer that no controller removes, a key of stringData, one of two ports of a number", verdict: "exit 74, or 73 where the API server rejects it, as for an upgrade, in the words of the rollback",
			seeds: []seed{
				{name: "webhook", nightly: byHelm, runner: back, old: older(func(*tinyRecipe) {}), recipe: guardedByItself, want: red(reason.UpgradeDiverged, "the rollback to old: Deployment b/guard (b): stays: webhook guard.example.com").and("b/templates/guard.yaml:", "before the rollback (kubectl delete)")},
				{name: "finalizer", nightly: families, runner: back, old: older(textOf("one")), recipe: guarded, want: red(reason.UpgradeDiverged, "the rollback to old: ConfigMap b/guarded is being deleted for ever").and("take the finalizer off before the rollback")},
				{name: "stringData", nightly: []string{bundle.Helm}, runner: back, old: older(secretWith(`stringData: {a: "1"}`)), recipe: secretWith(`stringData: {a: "1", b: "2"}`), want: red(reason.UpgradeDiverged, "the rollback does not bring back what ran before the upgrade: Secret b/certs  data.b", "the old template has the key in stringData")},
				{name: "port", nightly: []string{bundle.Helm}, runner: back, old: older(dnsPorts("{name: t, port: 53}")), recipe: dnsPorts("{name: u, port: 53, protocol: UDP}, {name: t, port: 53}"), want: red(reason.UpgradeFailed, "the rollback to old: Release b").and("Service dns: port 53 was there twice", "delete the Service before the rollback")},
			},
			tests: []string{"internal/matrix/daytwo TestAftermath_Back", "internal/matrix/daytwo TestFailed", "internal/matrix/compare TestUpgraded_Stays"},
		},
		{
			id: "F249", what: "the removal of a recipe with a webhook that is asked about the deletion of what is removed with it", verdict: "exit 76 in helm, whose uninstall ends with an error: what stays, the webhook, both lines and the command that helps; passes in Argo CD and Flux, which try again",
			seeds: []seed{
				{nightly: []string{bundle.Helm}, runner: removed, recipe: guardedByItself, want: red(reason.LeftBehind, "after the removal: Deployment b/guard stays: webhook guard.example.com").and("b/templates/guard.yaml:", "kubectl delete validatingwebhookconfiguration guard")},
				{nightly: []string{bundle.ArgoCDOCI, bundle.FluxOCI}, runner: removed, recipe: guardedByItself},
			},
			tests: []string{"internal/matrix/daytwo TestUninstalled", "internal/matrix/daytwo TestLeftover_Guarded"},
		},
		{
			id: "F256", what: "an upgrade that changes the pods of a DaemonSet of updateStrategy OnDelete, whose old pods stay", verdict: "exit 73 in Flux, whose helm-controller waits for them until its timeout: the DaemonSet, how many pods are new, line and edit; passes elsewhere with a warning",
			seeds: []seed{
				{nightly: []string{bundle.FluxOCI}, old: older(waitingDaemons("1")), recipe: waitingDaemons("2"), want: red(reason.UpgradeFailed, "the upgrade from old: HelmRelease b: it waits for DaemonSet b/b-agent until its timeout").and("edit: updateStrategy: {type: RollingUpdate} in b/templates/agent.yaml:")},
				{nightly: []string{bundle.Helm, bundle.ArgoCDOCI}, old: older(waitingDaemons("1")), recipe: waitingDaemons("2"), want: outcomeWanted{check: warning("DaemonSet b/b-agent (b): does not roll although its pod template changes")}},
			},
			tests: []string{"internal/matrix/daytwo TestLane_Held"},
		},
		{
			id: "F250", what: "an AICR CLI that answers version and then hangs, or leaves a program that holds its output; a Git server whose hook refuses the push, that is read-only, or that does not answer", verdict: "exit 52 or 22, each with its own words and those of the program or server, within the limit",
			tests: []string{"internal/intake TestExec_TimeLimit", "internal/intake/aicrcli TestRun_LeavesAProgram", "internal/bundle/publish TestRefused_ByTheServer"},
		},
	}
}

// guardedByItself has a webhook that is asked about the deletion of the Deployment that serves it.
func guardedByItself(r *tinyRecipe) {
	r.part("b").add("guard.yaml", strings.Replace(webTemplate, "name: {{ .Release.Name }}\n", "name: guard\n", 1)+`---
apiVersion: v1
kind: Service
metadata: {name: guard}
spec: {selector: {app: b}, ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- name: guard.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: guard, namespace: b}}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [DELETE], resources: [deployments]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: guard}
rules: [{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [get, list, watch, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: guard}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: guard}
subjects: [{kind: ServiceAccount, name: default, namespace: b}]
`)
}

// waitingDaemons has a DaemonSet that replaces no pod by itself.
func waitingDaemons(image string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("agent.yaml", strings.NewReplacer("TAG", image, "STRATEGY", "{type: OnDelete}", "nvidia.com/gpu: 8", "cpu: 100m").Replace(daemonTemplate))
	}
}

// valueIn has a ConfigMap with a value, which is a hook unless events is empty.
func valueIn(value, events string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: conf\n"
		if events != "" {
			text += "  annotations: {helm.sh/hook: \"" + events + "\"}\n"
		}
		r.part("b").add("conf.yaml", text+"data: {k: \""+value+"\"}\n")
	}
}

// inQuota has a quota of so many pods, and an image.
func inQuota(pods, image string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("quota.yaml", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: \""+pods+"\"}}\n")
		if image != "1" { // which it has
			r.part("b").edit("web:1", "web:"+image)
		}
	}
}

// withHookAndData has a hook Job that is deleted once it has succeeded, and a StatefulSet with claims.
func withHookAndData(image, replicas string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("job.yaml", strings.NewReplacer("-job}", `-job, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}}`, "LABEL", "x", "job:1", "job:"+image).Replace(jobTemplate))
		r.part("b").add("db.yaml", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: "+replicas+`
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {tolerations: [{operator: Exists}], containers: [{name: main, image: "example.com/db:1"}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 80}]}
`)
	}
}

func showsHookAndData(t *testing.T, r result.Result) {
	t.Helper()
	endsAlike(t, r)
	var image, claim bool
	for _, one := range r.Change.Components {
		for _, i := range one.Images {
			image = image || i.From == "example.com/job:1" && i.To == "example.com/job:2"
		}
		for _, ref := range one.LeftBehind {
			claim = claim || ref.Kind == "PersistentVolumeClaim" && ref.Name == "data-db-1"
		}
	}
	if !image || !claim {
		t.Errorf("got the change %+v, want one with the image of the hook and the claim that is left", r.Change)
	}
}
