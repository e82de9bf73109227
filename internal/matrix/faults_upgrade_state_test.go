package matrix

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// upgradeStateFaults are second deliveries as public issue trackers report them: what is in the cluster since the
// first one, and was in no chart.
func upgradeStateFaults() []fault {
	helm, argo, flux := []string{bundle.Helm}, []string{bundle.ArgoCDOCI}, []string{bundle.FluxOCI}
	controllers, byHelm := slices.Concat(argo, flux), slices.Concat(helm, flux)
	back, away, again := func(r *Runner) { r.Rollback = true }, func(r *Runner) { r.Remove = true }, func(r *Runner) { r.Drift = true }
	return []fault{
		{
			id: "F300", what: "a Secret that an operator has filled, and that a rollback empties", verdict: "exit 74 in the words of the rollback, with the key, the number of bytes, and what to do: the old templates are what they are",
			seeds: []seed{
				{nightly: controllers, runner: back, old: older(secretWith(`data: {tls.crt: ""}`)), recipe: secretWith(""), want: red(reason.UpgradeDiverged, "the rollback to old empties Secret b/certs: data[tls.crt] had 22 bytes, which no chart rendered").and("copy it before the rollback")},
			},
			tests: []string{"internal/matrix/daytwo TestFilled"},
		},
		{
			id: "F301", what: "a Secret that the operator of a custom resource made (a Certificate's), and that the new chart, or the old one on the way back, renders itself", verdict: "exit 73 in helm, which takes nothing over, with the resource whose operator made it; passes in Argo CD and Flux, which do. The harness makes the Secret in the operator's place",
			seeds: []seed{
				{nightly: helm, old: older(ofCertificate(certificateOfB)), recipe: ofCertificate(secretOfB), want: red(reason.UpgradeFailed, "the upgrade from old: ", `Secret "b-tls" in namespace "b" exists and cannot be imported`).and("since the operator of Certificate.cert-manager.io b/tls made it (component b, b/templates/tls.yaml:2)")},
				{nightly: controllers, runner: back, old: older(ofCertificate(certificateOfB)), recipe: ofCertificate(secretOfB), want: outcomeWanted{check: endsAlikeAndBack}},
			},
			tests: []string{"internal/matrix/daytwo TestFill_Made"},
		},
		{
			id: "F302", what: "a definition whose conversion by a webhook goes, and whose caBundle an injector wrote (cert-manager's)", verdict: "exit 73 in Argo CD and Flux: server-side apply leaves the caBundle, and the API server finds the rest missing; passes in helm, whose patch removes it all. The harness writes the caBundle in the injector's place",
			seeds: []seed{
				{nightly: controllers, old: older(converted(true)), recipe: converted(false), want: red(reason.UpgradeFailed, "the upgrade from old: ", "spec.conversion").and("spec.conversion.webhook is not rendered any more (component b, b/templates/kits.yaml:2), and its caBundle stays")},
				{nightly: helm, old: older(converted(true)), recipe: converted(false), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestFill_Injected"},
		},
		{
			id: "F303", what: "a component that goes with its definition, and an object of that kind that goes from another component, in Flux, which does both at once", verdict: "exit 73 each time, also where the object happens to go first; passes in Argo CD, which leaves every definition, and in helm, which leaves the component",
			seeds: []seed{
				{nightly: flux, old: older(definitionInD), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeFailed, "the upgrade from old: ").and("CustomResourceDefinition widgets.faults.example.com")},
				{nightly: slices.Concat(helm, argo), old: older(definitionInD), recipe: func(*tinyRecipe) {}, want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/lane/helm TestRemovedKinds"},
		},
		{
			id: "F309", what: "a component that goes, with a pre-delete hook whose pod no node takes", verdict: "exit 73 in Flux within seconds, where helm-controller waits for it until its timeout and tries again: the Job, the scheduler's message, the component; passes in helm, which leaves the component, and in Argo CD, which waits for no such hook",
			seeds: []seed{
				{nightly: flux, old: older(saysFarewell), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeFailed, "the upgrade from old: ").and("Job d/bye, a hook (pre-delete) of release d, which the recipe has no more, cannot run: 0/6 nodes are available").in(3 * time.Minute)},
			},
			tests: []string{"internal/matrix/daytwo TestLane_Farewell"},
		},
		{
			id: "F333", what: "a component that goes with its definition, and another one that goes with an object of that kind, in Flux, which uninstalls both in no order: an upgrade, a rollback or a removal", verdict: "passes with a warning that names the kind, both components with their lines, and the order that helps; exit 73 or 76 within seconds where the definition went first and helm-controller cannot uninstall the other release",
			seeds: []seed{
				{name: "upgrade", nightly: flux, old: older(gadgetOfE), recipe: func(*tinyRecipe) {}, want: outcomeWanted{check: warning("the upgrade from old removes CustomResourceDefinition widgets.faults.example.com with release d (component d, d/templates/crd.yaml:2), and Widget.faults.example.com e/e with release e (component e, e/templates/widget.yaml:2)")}},
				{name: "removal", nightly: flux, runner: away, recipe: gadgetOfE, want: outcomeWanted{check: warning("remove component e first, and component d in a delivery after that")}},
				{name: "removal", nightly: slices.Concat(helm, argo), runner: away, recipe: gadgetOfE, want: outcomeWanted{check: noWarnings}},
			},
			tests: []string{"internal/matrix/daytwo TestOfRemoval", "internal/matrix/daytwo TestLost", "internal/matrix/daytwo TestRaces"},
		},
		{
			id: "F334", what: "the removal of a recipe with a pre-delete hook whose pod no node takes, or the API server rejects", verdict: "exit 76 within seconds: the Job and what the scheduler or the API server says, where helm and helm-controller wait until their timeout; in Argo CD, too, unless it goes on before its cache has the Job",
			seeds: []seed{
				{nightly: byHelm, runner: away, recipe: saysFarewell, want: red(reason.LeftBehind, "the removal: Job d/bye, a hook (pre-delete) of release d, cannot run: 0/6 nodes are available").in(2 * time.Minute)},
			},
			tests: []string{"internal/matrix/daytwo TestFarewell", "internal/matrix/daytwo TestFarewell_Rejected"},
		},
		{
			id: "F335", what: "a rollback that brings back a Namespace, and what is in it, which the upgrade has removed", verdict: "passes: it is delivered once the Namespace is gone, which takes the control plane seconds; the difference says that both were removed",
			seeds: []seed{
				{nightly: slices.Concat(helm, argo, flux), runner: back, old: older(namespaceOfB), recipe: func(*tinyRecipe) {}, want: outcomeWanted{check: endsAlikeAndBack}},
			},
			tests: []string{"internal/matrix/daytwo TestSettled"},
		},
		{
			id: "F336", what: "a template that renders a list in another order each time (keys or values without sortAlpha)", verdict: "exit 77 with --drift in every lane, also where the second delivery happens to be the same: the object, and the template's line",
			seeds: []seed{
				{nightly: families, runner: again, recipe: inOrderOf("{{ keys .Values.m | join \",\" | quote }}"), want: red(reason.NeverSettles, "ConfigMap b/order").and("uses keys, a list in another order each time (sortAlpha)")},
				{name: "sorted", nightly: helm, runner: again, recipe: inOrderOf("{{ keys .Values.m | sortAlpha | join \",\" | quote }}"), want: outcomeWanted{check: noWarnings}},
			},
			tests: []string{"internal/matrix/daytwo TestByLuck"},
		},
		{
			id: "F337", what: "an object whose template generates its name", verdict: "passes with a note in every lane: Argo CD, too, renders another name than the harness; exit 77 with --drift",
			seeds: []seed{
				{nightly: slices.Concat(helm, argo), recipe: namedByChance, want: outcomeWanted{check: note("is not in the cluster: what was rendered without a cluster has it")}},
				{name: "delivered again", nightly: slices.Concat(helm, argo), runner: again, recipe: namedByChance, want: red(reason.NeverSettles, "ConfigMap b/run-").and("uses randAlpha")},
			},
			tests: []string{"internal/matrix/gate TestNotRendered_ArgoCD"},
		},
		{
			id: "F304", what: "definitions that leave a chart's crds/ for the templates of a component of their own, and a rollback of that", verdict: "passes in Argo CD, which neither prunes a definition nor waits for one; exit 73 on the way back in Flux, in seconds: the definition was deleted, though helm-controller waits for its timeout; exit 73 on the way there in helm",
			seeds: []seed{
				{nightly: argo, runner: back, old: older(splitFromCRDs(false)), recipe: splitFromCRDs(true), want: outcomeWanted{check: withoutWarning("moves from Application")}},
				{nightly: flux, runner: back, old: older(splitFromCRDs(false)), recipe: splitFromCRDs(true), want: red(reason.UpgradeFailed, "the rollback to old: CustomResourceDefinition gizmos.faults.example.com was deleted, and every object of its kind in the cluster with it").in(3 * time.Minute)},
				{nightly: helm, old: older(splitFromCRDs(false)), recipe: splitFromCRDs(true), want: red(reason.UpgradeFailed, "the upgrade from old: Release d").and("since it was in the chart's crds/ before")},
			},
			tests: []string{"internal/matrix/daytwo TestLane_Deleted", "internal/matrix/daytwo TestMoved"},
		},
		{
			id: "F305", what: "a change that a rule of a definition (oldSelf) or a ValidatingAdmissionPolicy of the recipe does not allow, and that a first installation is not", verdict: "exit 73 in every lane, with the field, both values and the line; with the policy, its component and its line",
			seeds: []seed{
				{name: "rule", nightly: families, old: older(fixedMode("fast")), recipe: fixedMode("slow"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "mode is immutable").and(`Mode one: spec.mode cannot be changed; component b, template b/templates/mode.yaml:4; it changes spec.mode: "fast", then "slow"`)},
				{name: "policy", nightly: families, old: older(fewerReplicas("3")), recipe: fewerReplicas("2"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "denied request: fewer replicas").and("ValidatingAdmissionPolicy no-fewer is the recipe's own (component a, a/templates/policy.yaml:")},
			},
			tests: []string{"internal/matrix/daytwo TestFailed_Transitions"},
		},
		{
			id: "F306", what: "a definition in a chart's crds/ that allows more, requires less, or fills in a value, and an object of the same chart that uses it", verdict: "exit 73 in helm, or 74 if only the value is missing: the field, the definition that is still the old one, and what to do; passes in Argo CD and Flux",
			seeds: []seed{
				{name: "allows", nightly: helm, old: older(gizmoIn("mode: {type: string, enum: [a]}", "", "{mode: a}")), recipe: gizmoIn("mode: {type: string, enum: [a, b]}", "", "{mode: b}"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "spec.mode: Unsupported value").and("CustomResourceDefinition gizmos.faults.example.com in the cluster is that of before the upgrade, which has another spec.mode (component b, b/crds/crd.yaml has the new one)")},
				{name: "requires", nightly: helm, old: older(gizmoIn("mode: {type: string}, size: {type: integer}", "required: [mode], ", "{mode: a}")), recipe: gizmoIn("mode: {type: string}, size: {type: integer}", "", "{size: 1}"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "spec.mode: Required value").and("which has another spec.mode")},
				{name: "fills in", nightly: helm, old: older(gizmoIn("mode: {type: string}, size: {type: integer}", "", "{size: 1}")), recipe: gizmoIn("mode: {type: string, default: fast}, size: {type: integer}", "", "{size: 2}"), want: red(reason.UpgradeDiverged, "CustomResourceDefinition gizmos.faults.example.com").and("its definition is in the chart's crds/ and fills in a value there")},
				{name: "allows", nightly: controllers, old: older(gizmoIn("mode: {type: string, enum: [a]}", "", "{mode: a}")), recipe: gizmoIn("mode: {type: string, enum: [a, b]}", "", "{mode: b}"), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestFailed_OtherDefinition", "internal/matrix/compare TestUpgraded_OldDefault"},
		},
		{
			id: "F307", what: "a container that gets a second port of the same number, with another protocol; a variable that was there twice", verdict: "exit 74 in helm, whose patch loses it, with the cause; passes in Argo CD and Flux",
			seeds: []seed{
				{nightly: helm, old: older(dnsContainer("{containerPort: 53, protocol: UDP, name: dns}")), recipe: dnsContainer("{containerPort: 53, protocol: UDP, name: dns}, {containerPort: 53, name: dns-tcp}"), want: red(reason.UpgradeDiverged, "Deployment b/b  spec.template.spec.containers[main].ports[dns-tcp]", "port 53 is there twice, with two protocols")},
				{name: "variable", nightly: helm, old: older(twiceInEnv("{name: A, value: x}, {name: A, value: y}")), recipe: twiceInEnv("{name: A, value: y}"), want: red(reason.UpgradeDiverged, "Deployment b/b  spec.template.spec.containers[main].env", "the old template has the variable A twice")},
				{nightly: controllers, old: older(dnsContainer("{containerPort: 53, protocol: UDP, name: dns}")), recipe: dnsContainer("{containerPort: 53, protocol: UDP, name: dns}, {containerPort: 53, name: dns-tcp}"), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/compare TestUpgraded_Stays"},
		},
		{
			id: "F308", what: "a number of replicas that the workload's autoscaler never allows, in Argo CD, whose self-heal writes it back each time", verdict: "exit 77 in Argo CD before anything is deployed, with both numbers; passes with a warning elsewhere, where the autoscaler has the last word",
			seeds: []seed{
				{nightly: argo, recipe: scaledBetween(2, 5), want: red(reason.NeverSettles, "HorizontalPodAutoscaler b/b (b): keeps Deployment b/b between 2 and 5 pods, and it is rendered with replicas: 1")},
				{nightly: byHelm, recipe: scaledBetween(2, 5), want: outcomeWanted{check: warning("keeps Deployment b/b between 2 and 5 pods, and it has replicas: 1")}},
			},
			tests: []string{"internal/matrix/daytwo TestScaled"},
		},
		{
			id: "F310", what: "a token Secret that an upgrade gives another ServiceAccount: Kubernetes deletes it, since it has the first one's UID", verdict: "exit 73 in helm and Flux within seconds, with both accounts and what to do; passes in Argo CD, which makes a new one",
			seeds: []seed{
				{nightly: byHelm, old: older(tokenOf("one")), recipe: tokenOf("two"), want: red(reason.UpgradeFailed, "the upgrade from old: ").and("the upgrade makes it the token of ServiceAccount two, and it has the UID of ServiceAccount one").in(3 * time.Minute)},
				{nightly: argo, old: older(tokenOf("one")), recipe: tokenOf("two"), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestLane_TokenDeleted"},
		},
		{
			id: "F311", what: "an object with helm.sh/resource-policy: keep that an upgrade leaves out, and a rollback to the chart that has it", verdict: "exit 73 in helm, whose rollback takes nothing over: the object, the annotation's line, and the two ways back; passes in Flux and Argo CD",
			seeds: []seed{
				{nightly: helm, runner: back, old: older(keptInB), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeFailed, `the rollback to old: Release b: helm rollback b: no ConfigMap with the name "kept" found`).and("helm.sh/resource-policy: keep kept it (component b, b/templates/kept.yaml:3)")},
				{nightly: flux, runner: back, old: older(keptInB), recipe: func(*tinyRecipe) {}},
			},
			tests: []string{"internal/matrix/daytwo TestFailed"},
		},
		{
			id: "F312", what: "a Service with a port of the nodes, or an address, that gets another name", verdict: "exit 73 in every lane: what has the port still, and when that goes",
			seeds: []seed{
				{nightly: families, old: older(nodePortOf("web")), recipe: nodePortOf("b-web"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "provided port is already allocated").and("30080 still belongs to Service b/web (component b, b/templates/service.yaml:2), which the upgrade removes only after Service b-web")},
			},
			tests: []string{"internal/matrix/daytwo TestFailed_Allocated"},
		},
		{
			id: "F313", what: "a Secret that a template renders at installations only (.Release.IsInstall), and that a workload needs", verdict: "exit 73 in helm and Flux, whose upgrade removes it: the Secret, its line, and what to do; passes in Argo CD, where each rendering is an installation",
			seeds: []seed{
				{nightly: byHelm, old: older(installsSecret("1")), recipe: installsSecret("2"), want: red(reason.UpgradeFailed, "the upgrade from old: Secret b/pw was deleted, and Deployment b/b (b): takes P from Secret b/pw, which does not exist").and("its template asks for .Release.IsInstall or IsUpgrade (component b, b/templates/pw.yaml:3)")},
				{nightly: argo, old: older(installsSecret("1")), recipe: installsSecret("2"), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestLost_InstalledOnly"},
		},
		{
			id: "F314", what: "a template that asks for a kind (.Capabilities.APIVersions) which a later component defines, so that only a second delivery has its object", verdict: "exit 74 in every lane: the upgrade made it, and no first installation does, and what order helps",
			seeds: []seed{
				{nightly: families, old: older(asksForGizmos("1")), recipe: asksForGizmos("2"), want: red(reason.UpgradeDiverged, "Gizmo.faults.example.com b/one", "the upgrade made it, and no first installation does: its template asks for what is in the cluster")},
			},
			tests: []string{"internal/matrix/compare TestUpgraded"},
		},
	}
}

func asksForGizmos(image string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.components = append(r.components, &tinyComponent{name: "d", templates: map[string]string{"crd.yaml": gizmoCRD("size: {type: integer}", ""), "web.yaml": webTemplate}, after: []string{"b"}})
		r.part("b").add("gizmo.yaml", "{{- if .Capabilities.APIVersions.Has \"faults.example.com/v1\" }}\napiVersion: faults.example.com/v1\nkind: Gizmo\nmetadata: {name: one}\nspec: {size: 1}\n{{- end }}\n")
		if image != "1" { // which it has
			r.part("b").edit("web:1", "web:"+image)
		}
	}
}

func installsSecret(image string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("pw.yaml", "{{- if .Release.IsInstall }}\napiVersion: v1\nkind: Secret\nmetadata: {name: pw}\nstringData: {password: x}\n{{- end }}\n")
		r.part("b").edit(`web:1"}`, `web:`+image+`", env: [{name: P, valueFrom: {secretKeyRef: {name: pw, key: password}}}]}`)
	}
}

// saysFarewell has a component more, with a hook of its removal that no node takes.
func saysFarewell(r *tinyRecipe) {
	r.components = append(r.components, &tinyComponent{name: "d", templates: map[string]string{"web.yaml": webTemplate, "bye.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: bye, annotations: {helm.sh/hook: pre-delete}}\nspec: {template: {spec: {restartPolicy: Never, nodeSelector: {no: such}, containers: [{name: main, image: \"example.com/bye:1\"}]}}}\n"}})
}

// gadgetOfE has a definition in one component and an object of its kind in another one, which nothing else needs.
func gadgetOfE(r *tinyRecipe) {
	r.components = append(r.components, &tinyComponent{name: "d", templates: map[string]string{"web.yaml": webTemplate, "crd.yaml": widgetCRD}},
		&tinyComponent{name: "e", after: []string{"d"}, templates: map[string]string{"web.yaml": webTemplate, "widget.yaml": widget}})
}

func inOrderOf(list string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("order.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: order}\ndata:\n  list: "+list+"\n")
		r.part("b").values = "m: {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8}"
	}
}

func namedByChance(r *tinyRecipe) {
	r.part("b").add("run.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'run-{{ randAlpha 5 | lower }}'}\ndata: {a: x}\n")
}

func noWarnings(t *testing.T, r result.Result) {
	t.Helper()
	if len(r.Warnings) > 0 {
		t.Errorf("got the warnings %q, want none", r.Warnings)
	}
}

// namespaceOfB has a Namespace of its own, with an object in it.
func namespaceOfB(r *tinyRecipe) {
	r.part("b").add("extra.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: inside, namespace: extra}\ndata: {a: x}\n")
}

func nodePortOf(name string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: "+name+"}\nspec: {type: NodePort, selector: {app: b}, ports: [{port: 80, nodePort: 30080}]}\n")
	}
}

// keptInB has an object that stays when its template is gone.
func keptInB(r *tinyRecipe) {
	r.part("b").add("kept.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\ndata: {a: x}\n")
}

func tokenOf(account string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("token.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+account+"}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: token, annotations: {kubernetes.io/service-account.name: "+account+"}}\ntype: kubernetes.io/service-account-token\n")
	}
}

func scaledBetween(least, most int) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").edit(`web:1"}`, `web:1", resources: {requests: {cpu: 10m}}}`)
		r.part("b").add("hpa.yaml", fmt.Sprintf("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: b}\nspec: {minReplicas: %d, maxReplicas: %d, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: b}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}\n", least, most))
	}
}

func dnsContainer(ports string) func(*tinyRecipe) {
	return func(r *tinyRecipe) { r.part("b").edit(`web:1"}`, `web:1", ports: [`+ports+`]}`) }
}

func twiceInEnv(env string) func(*tinyRecipe) {
	return func(r *tinyRecipe) { r.part("b").edit(`web:1"}`, `web:1", env: [`+env+`]}`) }
}

// gizmoCRD defines a kind with these properties of its spec.
func gizmoCRD(properties, more string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gizmos.faults.example.com}\nspec: {group: faults.example.com, scope: Namespaced, names: {plural: gizmos, singular: gizmo, kind: Gizmo, listKind: GizmoList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, " + more + "properties: {" + properties + "}}}}}}]}\n"
}

func gizmoIn(properties, more, spec string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b := r.part("b")
		b.crds = map[string]string{"crd.yaml": gizmoCRD(properties, more)}
		b.add("gizmo.yaml", "apiVersion: faults.example.com/v1\nkind: Gizmo\nmetadata: {name: one}\nspec: "+spec+"\n")
	}
}

// splitFromCRDs has the definition in b's crds/, or in the templates of component d.
func splitFromCRDs(split bool) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b, size := r.part("b"), "1"
		if split {
			r.components = append(r.components, &tinyComponent{name: "d", templates: map[string]string{"crd.yaml": gizmoCRD("size: {type: integer}", "")}})
			b.after, size = []string{"a", "d"}, "2"
		} else {
			b.crds = map[string]string{"crd.yaml": gizmoCRD("size: {type: integer}", "")}
		}
		b.add("gizmo.yaml", "apiVersion: faults.example.com/v1\nkind: Gizmo\nmetadata: {name: one}\nspec: {size: "+size+"}\n")
	}
}

func fixedMode(mode string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("a").add("crd.yaml", strings.NewReplacer("gizmo", "mode", "Gizmo", "Mode").Replace(gizmoCRD(`mode: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: "mode is immutable"}]}`, "")))
		r.part("b").add("mode.yaml", "apiVersion: faults.example.com/v1\nkind: Mode\nmetadata: {name: one}\nspec: {mode: "+mode+"}\n")
	}
}

func fewerReplicas(n string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("a").add("policy.yaml", fewerPolicy)
		r.part("b").edit("replicas: 1", "replicas: "+n)
	}
}

//go:embed testdata/objects/fewer_policy.yaml
var fewerPolicy string

// definitionInD has a component more, whose definition an object of component b is of.
func definitionInD(r *tinyRecipe) {
	r.components = append(r.components, &tinyComponent{name: "d", templates: map[string]string{"web.yaml": webTemplate, "crd.yaml": widgetCRD}})
	r.part("b").after = []string{"a", "d"}
	r.part("b").add("widget.yaml", widget)
}

// converted has a definition with a webhook that converts, or without; a Certificate is its authority.
func converted(webhook bool) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("a").add("crd.yaml", certManagerKinds())
		r.part("b").add("tls.yaml", certificateOfB)
		crd := strings.NewReplacer("gizmo", "kit", "Gizmo", "Kit", "metadata: {name: gizmos.faults.example.com}", "metadata: {name: kits.faults.example.com, annotations: {cert-manager.io/inject-ca-from: b/tls}}").Replace(gizmoCRD("size: {type: integer}", ""))
		if webhook {
			crd = strings.Replace(crd, "versions: ", "conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: b, namespace: b}}}}, versions: ", 1)
		}
		r.part("b").add("kits.yaml", crd+"---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {selector: {app: b}, ports: [{port: 443}]}\n")
	}
}

const (
	certificateOfB = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: tls}\nspec: {secretName: b-tls, dnsNames: [b.b.svc], issuerRef: {name: self, kind: Issuer}}\n---\napiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: self}\nspec: {selfSigned: {}}\n"
	secretOfB      = "apiVersion: v1\nkind: Secret\nmetadata: {name: b-tls}\ntype: kubernetes.io/tls\nstringData: {tls.crt: a, tls.key: b}\n"
)

// certManagerKinds are Certificate and Issuer.
func certManagerKinds() string {
	return certificateKind + "---\n" + strings.NewReplacer("certificate", "issuer", "Certificate", "Issuer").Replace(certificateKind)
}

// ofCertificate has the kind Certificate, and this in component b.
func ofCertificate(text string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("a").add("crd.yaml", certManagerKinds())
		r.part("b").add("tls.yaml", text)
	}
}

// withoutWarning: none of the warnings has this text.
func withoutWarning(text string) func(*testing.T, result.Result) {
	return func(t *testing.T, r result.Result) {
		t.Helper()
		endsAlikeAndBack(t, r)
		if all := strings.Join(r.Warnings, "\n"); strings.Contains(all, text) {
			t.Errorf("got the warnings %q, want none with %q", all, text)
		}
	}
}
