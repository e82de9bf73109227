package matrix

import (
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// deliveryFaults are about what a deployer delivers, and what its controllers say about it.
func deliveryFaults() []fault {
	return []fault{
		{
			id: "F01", what: "the root is synced before its children exist, or without one of them", verdict: "what is expected comes from the bundle; a missing child is waited for, then a sync timeout",
			seeds: []seed{
				{lanes: []string{bundle.ArgoCDOCI}, bundle: without("b/application.yaml"), sync: 20 * time.Second, want: red(reason.SyncTimeout, "Application b: does not exist yet").and("Application nvidia-stack: Synced", "Application a: Synced, Healthy")},
				{nightly: []string{bundle.ArgoCDHelmOCI}, bundle: without("templates/children/b.yaml"), sync: 20 * time.Second, want: red(reason.SyncTimeout, "Application b: does not exist yet")},
				{lanes: []string{bundle.FluxOCI}, bundle: replaceIn("kustomization.yaml", "- b/helmrelease.yaml\n", ""), sync: 20 * time.Second, want: red(reason.SyncTimeout, "HelmRelease b: does not exist yet").and("Kustomization aicr-tiny: Ready is True")},
			},
			tests: []string{"internal/matrix/lane/argocd TestArgoCDPoll"},
		},
		{
			id: "F02", what: "one Application or HelmRelease is good, others are not", verdict: "every one of the expected set, by name",
			seeds: []seed{
				{lanes: []string{bundle.ArgoCDOCI}, bundle: byHand("b/application.yaml"), sync: 20 * time.Second, want: red(reason.SyncTimeout, "Application b: OutOfSync, Missing", "not ready after ").and("Application nvidia-stack: ", "Application a: Synced, Healthy", "Application c: ")},
				{lanes: []string{bundle.FluxOCI}, recipe: waitingB, sync: 20 * time.Second, want: red(reason.SyncTimeout, "HelmRelease b: ", "not ready after ").and("OCIRepository aicr-bundle: ", "Kustomization aicr-tiny: ", "HelmRelease a: Ready is True", "HelmRelease c: ")},
			},
			tests: []string{"internal/matrix/lane/argocd TestArgoCDPoll", "internal/matrix/lane/flux TestFluxPoll"},
		},
		{
			id: "F03", what: "no pod, or an empty bundle", verdict: "fails: an expectation that is empty is an error, a pass needs a pod",
			seeds: []seed{
				{name: "no pod", lanes: []string{bundle.Helm}, nightly: []string{bundle.ArgoCDOCI, bundle.FluxOCI}, want: red(reason.SchedulingFailed, "no pod was verified").and("Deployment a/a (a): 0 pods wanted"),
					recipe: func(r *tinyRecipe) { r.only("a"); r.part("a").edit("replicas: 1", "replicas: 0") }},
				{name: "empty bundle", lanes: []string{bundle.Helm}, want: red(reason.BundleFailed, "renders no workload"),
					recipe: func(r *tinyRecipe) {
						r.only("a")
						r.part("a").templates = map[string]string{"shared.yaml": sharedObject}
					}},
			},
			tests: []string{"internal/bundle TestBundle_Empty", "internal/matrix/gate TestGatePods"},
		},
		{
			id: "F04", what: "pods bound but never running; pods of Jobs left out of the count", verdict: "every pod of every expected workload reaches its state, Jobs complete",
			seeds: []seed{
				// TestNightlyOneVerdictPerFault has the other lanes.
				{name: "job never completes", nightly: []string{bundle.ArgoCDHelmOCI}, sync: 15 * time.Second, runner: stage(neverCompletes), recipe: endlessJob, want: red(reason.WorkloadFailed, "Job b/b-job: not complete yet")},
			},
			tests: []string{"internal/matrix TestPodsTooSlowOnTheStack", "internal/matrix TestNightlyOneVerdictPerFault", "internal/observe TestCheckWorkloads"},
		},
		{
			id: "F05", what: "a selector that no node has; a toleration that is missing, or whose path the registry forgets; more GPUs than a node has; pods that the API server rejects", verdict: "exit 1 with the scheduler's reasons, and the value path that decides; with the API server's error",
			seeds: []seed{
				{name: "selector", lanes: []string{bundle.Helm}, nightly: []string{bundle.FluxOCI}, recipe: func(r *tinyRecipe) { r.part("b").values = "nodeSelector:\n  disktype: ssd" },
					want: red(reason.SchedulingFailed, "Deployment b/b (b): 0/6 nodes are available").and(
						"2 system nodes (m7i.4xlarge): nodeSelector disktype=ssd (no such label)", "value path nodeSelector.disktype, set in ", "components/b/values.yaml:2", "edit: remove `disktype: ssd`")},
				{name: "toleration", nightly: []string{bundle.Helm, bundle.ArgoCDOCI}, recipe: func(r *tinyRecipe) {
					r.part("b").edit("      tolerations: {{ toYaml .Values.tolerations | nindent 8 }}\n", "")
				}, want: red(reason.SchedulingFailed, "Deployment b/b (b): 0/6 nodes are available", "taint").and("taint kwok.x-k8s.io/node=fake:NoSchedule not tolerated", "b/templates/web.yaml:10", "edit: let AICR set its tolerations by a value that the tolerationPaths of component b name, in ")},
				{name: "GPUs", nightly: []string{bundle.Helm, bundle.ArgoCDHelmOCI}, recipe: func(r *tinyRecipe) {
					r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", resources: {limits: {nvidia.com/gpu: 9}}`)
				}, want: red(reason.SchedulingFailed, "Deployment b/b (b): 0/6 nodes are available").and("Insufficient nvidia.com/gpu", "b/templates/web.yaml:13")},
				// Only an event has the API server's error for a DaemonSet's pods.
				{name: "RuntimeClass", nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) {
					r.part("b").edit("kind: Deployment", "kind: DaemonSet")
					r.part("b").edit("  replicas: 1\n", "")
					r.part("b").edit("      containers:", "      runtimeClassName: gvisor\n      containers:")
				}, want: red(reason.WorkloadFailed, "DaemonSet b/b (b): the API server rejects its pods: ", `RuntimeClass "gvisor" not found`)},
			},
			tests: []string{"cmd/matrix TestDocumentedCommands_Stack", "internal/matrix/why TestSchedulingFinding", "internal/bundle TestMark_MissingRegistryPath"},
		},
		{
			id: "F06", what: "a $values reference between two OCI sources", verdict: "fails, with Argo CD's ComparisonError",
			seeds: []seed{{lanes: []string{bundle.ArgoCDOCI}, bundle: multiSource, want: red(reason.DeployFailed, "Application b: ComparisonError: ")}},
		},
		{
			id: "F07", what: "a chart pushed with a tag that is no version, or with another media type", verdict: "fails, the cause named",
			seeds: []seed{
				{name: "tag", lanes: []string{bundle.ArgoCDOCI}, nightly: []string{bundle.FluxOCI}, bundle: notPushed("b"), published: taggedLatest, want: red(reason.DeployFailed, " b: ", "1.0.0")},
				{name: "media type", nightly: []string{bundle.FluxOCI, bundle.ArgoCDOCI}, published: wrongMediaType("charts/b", "1.0.0"), want: red(reason.DeployFailed, " b: ")},
				{name: "media type of the bundle", nightly: []string{bundle.FluxOCI, bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI}, published: wrongMediaType("aicr/tiny", ""), want: red(reason.DeployFailed, "")},
			},
		},
		{
			id: "F08", what: "an Application's source.path that is not in the bundle", verdict: "fails, the Application named",
			seeds: []seed{
				{lanes: []string{bundle.ArgoCDOCI}, bundle: replaceIn("c/application.yaml", "path: c/chart", "path: chart/c"), want: red(reason.DeployFailed, "Application c: ComparisonError: ", "chart/c")},
				{nightly: []string{bundle.ArgoCDHelmOCI}, bundle: replaceIn("templates/children/c.yaml", "path: local/c", "path: c"), want: red(reason.DeployFailed, "Application c: ComparisonError: ")},
				{nightly: []string{bundle.FluxOCI}, bundle: replaceIn("c/artifactgenerator.yaml", "@bundle/c/chart/**", "@bundle/chart/c/**"), want: red(reason.DeployFailed, " c: ")},
			},
		},
		{
			id: "F09", what: "a local chart behind a Git source that is a placeholder; what depends on it waits", verdict: "fails: a Git repository that is not the bundle's own is rejected by policy; the first cause is named, what waits for it is counted",
			seeds: []seed{{lanes: []string{bundle.FluxOCI}, recipe: chain, bundle: placeholderSource, want: red(reason.DeployFailed, "Kustomization aicr-tiny: ", "GitRepository flux-system/placeholder would make Flux dial ", "which is not the repository of the bundle")}},
			tests: []string{"internal/matrix/lane/flux TestChartOf", "internal/matrix/lane/flux TestWithSource", "internal/matrix/gate TestConsequences"},
		},
		{
			id: "F10", what: "an ArtifactGenerator of another API group", verdict: "fails: an expected object is missing",
			seeds: []seed{{lanes: []string{bundle.FluxOCI}, bundle: replaceIn("c/artifactgenerator.yaml", "source.extensions.fluxcd.io/v1beta1", "source.toolkit.fluxcd.io/v1beta1"), want: red(reason.DeployFailed, "Kustomization aicr-tiny: ", "ArtifactGenerator")}},
			tests: []string{"internal/matrix/lane/flux TestFluxPoll"},
		},
		{
			id: "F11", what: "a hard error (no CRD, a ComparisonError, Stalled) reported as a timeout", verdict: "ends at once as what it is",
			seeds: []seed{{name: "no CRD", lanes: []string{bundle.ArgoCDOCI}, nightly: append([]string{bundle.Helm, bundle.FluxOCI}, otherLanes...), recipe: func(r *tinyRecipe) { r.part("b").add("widget.yaml", widget) }, want: red(reason.DeployFailed, " b: ").and("Widget")}},
			tests: []string{"internal/matrix/gate TestGateItems", "internal/matrix/lane/argocd TestApplicationItem", "internal/matrix/lane/flux TestFluxItem", "internal/matrix/lane TestMissingKind"},
		},
		{
			id: "F12", what: "a sync deadline that is really reached", verdict: "exit 50, the state of every expected object; injected with F02",
			seeds: []seed{
				{nightly: []string{bundle.ArgoCDHelmOCI}, bundle: byHand("templates/children/b.yaml"), sync: 20 * time.Second, want: red(reason.SyncTimeout, "not ready after ").and("Application aicr-stack: ", "Application a: ", "Application b: ", "Application c: ")},
			},
			tests: []string{"internal/matrix/gate TestGateDeadline"},
		},
	}
}
