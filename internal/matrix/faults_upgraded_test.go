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

// everydayFaults are upgrades as they are made every week: most must be green.
func everydayFaults() []fault {
	helm, argo, flux := []string{bundle.Helm}, []string{bundle.ArgoCDOCI}, []string{bundle.FluxOCI}
	back := func(r *Runner) { r.Rollback = true }
	controllers := slices.Concat(argo, flux)
	const since = "CustomResourceDefinition gadgets.example.com in the cluster is that of before the upgrade, which has no spec.two (component b, b/crds/crd.yaml has it)"
	return []fault{
		{
			id: "F136", what: "a definition in a chart's crds/ that gains a field, which an object of the same chart sets", verdict: "exit 73 in helm and Argo CD: the field, the template's line, the definition that is still the old one, and what to do; passes in Flux, which updates it first",
			seeds: []seed{
				{nightly: helm, old: older(gadgetWith("one", "one")), recipe: gadgetWith("one: {type: string}, two", "two"), want: red(reason.UpgradeFailed, `the upgrade from old: Release b: `, `unknown field "spec.two"`).and(since + ": Helm does not update")},
				{nightly: argo, old: older(gadgetWith("one", "one")), recipe: gadgetWith("one: {type: string}, two", "two"), want: red(reason.UpgradeFailed, `the upgrade from old: Application b: ComparisonError`, "field not declared in schema").and(since + ": Argo CD compares")},
				{nightly: flux, old: older(gadgetWith("one", "one")), recipe: gadgetWith("one: {type: string}, two", "two"), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestFailed_OlderDefinition"},
		},
		{
			id: "F151", what: "an upgrade and a rollback over the version in which objects are stored, with a webhook that converts them on one side", verdict: "passes in every lane, and the end is as before: the API server converts, and the webhook is not verified",
			seeds: []seed{{nightly: families, runner: back, old: older(storedIn("v1alpha1", false)), recipe: storedIn("v1", true), want: outcomeWanted{check: endsAlikeAndBack}}},
		},
		{
			id: "F152", what: "a component that is renamed, or moved to another namespace, with an object that keeps its name", verdict: "exit 73 in helm: whose the object is, where that one is, and how it is handed over; passes in Argo CD, which removes the old one, and in Flux, which leaves what was in another namespace (F255)",
			seeds: []seed{
				{name: "renamed", nightly: helm, old: older(named("b", "b")), recipe: named("d", "d"), want: red(reason.UpgradeFailed, "the upgrade from old: Release d", "invalid ownership metadata").and("ClusterRole reader is in the cluster already, and component d has it too (d/templates/role.yaml:2); it belongs to release b, as component b had it before")},
				{name: "namespace", nightly: helm, old: older(named("b", "b")), recipe: named("b", "d"), want: red(reason.UpgradeFailed, "the upgrade from old: Release b", "invalid ownership metadata").and("it belongs to release b in namespace b, where the component was before, and which stays", "helm uninstall b --namespace b")},
				{name: "renamed", nightly: controllers, old: older(named("b", "b")), recipe: named("d", "d"), want: outcomeWanted{check: endsAlike}},
				{name: "namespace", nightly: append(slices.Clone(controllers), bundle.ArgoCDHelmOCI, bundle.ArgoCDGit), old: older(named("b", "b")), recipe: named("b", "d"), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestFailed"},
		},
		{
			id: "F213", what: "an upgrade whose claim names a volume that the old recipe made and that is kept", verdict: "passes, though a first installation of the new recipe is exit 2; exit 2 if the volume was another claim's",
			seeds: []seed{{nightly: families, old: older(func(r *tinyRecipe) { r.part("a").add("disk.yaml", keptDisk) }), first: reason.SchedulingFailed,
				recipe: func(r *tinyRecipe) { r.part("b").add("claim.yaml", claimOfDisk("data")) }, want: outcomeWanted{check: keepsDisk}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F155", what: "a DaemonSet that surges on nodes that are full; a workload that keeps its old pods", verdict: "exit 73 within seconds, with what holds the room; a warning for updateStrategy OnDelete and for a partition, with file and line",
			seeds: []seed{
				{name: "DaemonSet", nightly: families, old: older(fullOfDaemons("1")), recipe: fullOfDaemons("2"), want: red(reason.UpgradeFailed, "the upgrade from old: DaemonSet b/b-agent")},
			},
		},
		{
			id: "F156", what: "upgrades of everyday: images, replicas, checksums, kinds, types and versions that may change, and eight things that may not", verdict: "passes, or exit 73 or 74 with the object, the field and what to do",
			seeds: []seed{
				{name: "ordinary", nightly: families, runner: back, old: older(func(*tinyRecipe) {}), recipe: ordinary, want: outcomeWanted{check: endsAlikeAndBack}},
				{name: "unusual", nightly: slices.Concat(helm, flux), old: older(unusual(false)), recipe: unusual(true), want: outcomeWanted{check: endsAlike}},
				{name: "refused", nightly: families, old: older(refusedChanges("1")), recipe: refusedChanges("2"), want: red(reason.UpgradeFailed, "the upgrade from old: ")},
				{name: "strategy", nightly: helm, old: older(func(*tinyRecipe) {}), recipe: strategy("{type: Recreate}"), want: outcomeWanted{check: endsAlike}},
				{name: "strategy", nightly: controllers, old: older(func(*tinyRecipe) {}), recipe: strategy("{type: Recreate}"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "may not be specified when strategy `type` is 'Recreate'").
					and("Deployment b: spec.strategy.rollingUpdate is not rendered, and is still there from before the upgrade", "edit: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 100%}}, which removes the old pods first too, in b/templates/web.yaml:")},
				{name: "volume", nightly: controllers, old: older(volumeOf("")), recipe: volumeOf(", configMap: {name: conf}"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "may not specify more than 1 volume type").and("Deployment b: volume v had no type before the upgrade (component b, b/templates/web.yaml:")},
				{name: "volume", nightly: helm, old: older(volumeOf("")), recipe: volumeOf(", configMap: {name: conf}"), want: outcomeWanted{check: endsAlike}},
				{name: "version not served", nightly: slices.Concat(helm, flux), old: older(servedVersion("v1alpha1")), recipe: servedVersion("v1"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "unable to build kubernetes objects from current release manifest").
					and("Widget b: Helm first reads the release that is in the cluster, and that has it in faults.example.com/v1alpha1, which the API server does not serve any more (CustomResourceDefinition widgets.faults.example.com; component a, template a/templates/crd.yaml:", "helm mapkubeapis")},
				{name: "headless", nightly: families, old: older(serviceWith("clusterIP: None, ")), recipe: serviceWith(""), want: red(reason.UpgradeDiverged, `Service b/web  spec.clusterIP  first installation: nothing; after the upgrade: "None" (the API server keeps the None of a Service`)},
				{name: "kept", nightly: families, old: older(keptConfig(true)), recipe: keptConfig(false), want: outcomeWanted{check: keeps}},
				{name: "hook stays", nightly: helm, old: older(lastingHook("1")), recipe: lastingHook("2"), want: red(reason.UpgradeFailed, "the upgrade from old: ", `jobs.batch "b-job" already exists`).and("Job b-job is a hook that the last delivery left (helm.sh/hook-delete-policy: hook-failed)")},
				{name: "hook stays", nightly: flux, old: older(lastingHook("1")), recipe: lastingHook("2"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "post-upgrade hooks failed").and("Job b-job is a hook that the last delivery left (helm.sh/hook-delete-policy: hook-failed)")},
				{name: "hook stays", nightly: argo, old: older(lastingHook("1")), recipe: lastingHook("2"), want: outcomeWanted{check: endsAlike}},
			},
		},
	}
}

// keeps: what the old template asks to be kept is listed as left behind, and is no failure.
func keeps(t *testing.T, r result.Result) {
	t.Helper()
	endsAlike(t, r)
	for _, one := range r.Change.Components {
		for _, ref := range one.LeftBehind {
			if ref.Name == "kept" {
				return
			}
		}
	}
	t.Errorf("got the change %+v, want one that says that ConfigMap kept is left behind", r.Change)
}

// keptDisk is a volume that stays when its template is gone.
var keptDisk = strings.Replace(diskVolume, "name: disk}", "name: disk, annotations: {helm.sh/resource-policy: keep, argocd.argoproj.io/sync-options: Prune=false}}", 1)

func keepsDisk(t *testing.T, r result.Result) {
	t.Helper()
	if r.Change == nil || !slices.ContainsFunc(r.Change.Components, func(c result.ComponentChange) bool {
		return slices.ContainsFunc(c.LeftBehind, func(ref result.Ref) bool { return ref.Name == "disk" })
	}) {
		t.Errorf("got the change %+v, want one that says that PersistentVolume disk is left behind", r.Change)
	}
}

func strategy(text string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").edit("replicas: 1", "replicas: 1\n  strategy: "+text)
	}
}

// volumeOf has a volume of this type, and a ConfigMap.
func volumeOf(text string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("conf.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: x}\n")
		r.part("b").edit(`web:1"}]`, `web:1", volumeMounts: [{name: v, mountPath: /v}]}]
      volumes: [{name: v`+text+`}]`)
	}
}

// storedIn is a definition with two versions, stored in one of them, with a webhook that converts or
// none, and an object.
func storedIn(version string, webhook bool) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		text := strings.Replace(thingDefinition[strings.Index(thingDefinition, "apiVersion: v1\nkind: Service\n"):], ", caBundle: CA", "", 1)
		if version == "v1" {
			text = strings.NewReplacer("storage: false", "storage: true", "storage: true", "storage: false").Replace(text)
		}
		if !webhook {
			start, end := strings.Index(text, "  conversion:\n"), strings.Index(text, "  versions:\n")
			text = text[:start] + text[end:]
		}
		r.part("a").add("things.yaml", text)
		r.part("b").add("thing.yaml", "apiVersion: example.com/"+version+"\nkind: Thing\nmetadata: {name: thing}\nspec: {size: 3}\n")
	}
}

// gadgetWith has a definition in crds/ with these fields, and an object with one of them.
func gadgetWith(fields, field string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b := r.part("b")
		b.crds = map[string]string{"crd.yaml": strings.ReplaceAll(gadgetCRD, "FIELD", fields)}
		b.add("gadget.yaml", "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: one}\nspec: {"+field+": x}\n")
	}
}

// named gives component b, whose ClusterRole has a name of its own, another name and namespace.
func named(name, namespace string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b := r.part("b")
		b.name, b.namespace = name, namespace
		b.add("role.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n")
		b.edit("name: {{ .Release.Name }}\n", "name: web\n")
	}
}

//go:embed testdata/objects/daemon_template.yaml
var daemonTemplate string

// fullOfDaemons has a DaemonSet that takes every GPU, and adds its new pod before it removes the old.
func fullOfDaemons(image string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("agent.yaml", strings.NewReplacer("TAG", image, "STRATEGY", "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}").Replace(daemonTemplate))
	}
}

// ordinary is what most upgrades change.
func ordinary(r *tinyRecipe) {
	r.part("a").edit("web:1", "web:2")
	r.part("a").edit("replicas: 1", "replicas: 2")
	r.part("b").add("config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b-config}\ndata: {text: two}\n")
	r.part("b").edit("metadata: {labels: {app: {{ .Release.Name }}}}", `metadata: {annotations: {checksum/config: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}}, labels: {app: {{ .Release.Name }}}}`)
	r.part("b").edit(`containers: [`, `containers: [{name: side, image: "example.com/side:1"}, `)
	r.part("b").add("job.yaml", strings.NewReplacer("-job}", `-job, annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-weight: "5"}}`, "LABEL", "x").Replace(jobTemplate))
	r.part("b").add("crd.yaml", widgetCRD)
}

// unusual changes kinds, types and versions in ways that are allowed.
func unusual(next bool) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b := r.part("b")
		if !next {
			versions("v1alpha1")(r)
			b.add("widget.yaml", strings.Replace(widget, "/v1\n", "/v1alpha1\n", 1))
			serviceWith("type: LoadBalancer, ")(r)
			b.add("job.yaml", strings.NewReplacer("-job}", `-job, annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-weight: "5"}}`, "LABEL", "x").Replace(jobTemplate))
			return
		}
		versions("v1", "v1alpha1")(r)
		b.add("widget.yaml", widget)
		serviceWith("type: ClusterIP, ")(r)
		b.edit("kind: Deployment", "kind: StatefulSet")
		b.add("job.yaml", strings.NewReplacer("-job}", `-job, annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-weight: "-5", argocd.argoproj.io/sync-wave: "3"}}`, "LABEL", "z2").Replace(jobTemplate))
	}
}

// refusedChanges are seven that the API server does not take.
func refusedChanges(n string) func(*tinyRecipe) {
	size := map[string]string{"1": "2", "2": "1"}[n]
	return func(r *tinyRecipe) {
		claim(size + "Gi")(r)
		r.part("b").add("all.yaml", strings.ReplaceAll(`apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
immutable: true
data: {n: "@"}
---
apiVersion: v1
kind: Secret
metadata: {name: typed}
type: example.com/t@
stringData: {n: "1"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bound}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role@}
subjects: [{kind: ServiceAccount, name: default, namespace: b}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role@}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100@
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
parameters: {type: gp@}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: cron}
spec:
  schedule: "@ 0 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, tolerations: [{operator: Exists}], containers: [{name: main, image: "example.com/cron:@"}]}}}}
---
`+statefulSet("serviceName: set@"), "@", n))
	}
}

// servedVersion: the definition, in a, drops the version in which b's object was written.
func servedVersion(version string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		served := map[string]string{"v1alpha1": "true", "v1": "false"}[version]
		r.part("a").add("crd.yaml", strings.SplitN(widgetCRD, "  versions:\n", 2)[0]+`  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1alpha1, served: `+served+`, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
		r.part("b").add("widget.yaml", strings.Replace(widget, "/v1\n", "/"+version+"\n", 1))
	}
}

func serviceWith(fields string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {"+fields+"selector: {app: b}, ports: [{port: 80}]}\n")
	}
}

func keptConfig(there bool) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		if there {
			r.part("b").add("kept.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep, argocd.argoproj.io/sync-options: Prune=false}}\ndata: {a: b}\n")
		}
	}
}

// lastingHook is a hook Job that nothing deletes.
func lastingHook(image string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("job.yaml", strings.NewReplacer("-job}", `-job, annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-delete-policy: hook-failed}}`, "LABEL", "x", "job:1", "job:"+image).Replace(jobTemplate))
	}
}
