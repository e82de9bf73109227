package matrix

import (
	_ "embed"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// stuckFaults are faults that no waiting mends, and what was taken for one.
func stuckFaults() []fault {
	helm, controllers := []string{bundle.Helm}, []string{bundle.ArgoCDOCI, bundle.FluxOCI}
	return []fault{
		{
			id: "F95", what: "a Job or hook Job that is suspended, left to another controller, or whose pods never end", verdict: "exit 1 within 20 s of its last change, with the field or the pod's state",
			seeds: []seed{
				{name: "suspended hook", lanes: helm, nightly: controllers, recipe: func(r *tinyRecipe) {
					r.part("b").add("hook.yaml", strings.NewReplacer("{name: {{ .Release.Name }}-job}", "{name: early, annotations: {helm.sh/hook: pre-install}}", "LABEL", "x", "spec:\n  template:", "spec:\n  suspend: true\n  template:").Replace(jobTemplate))
				}, want: red(reason.WorkloadFailed, "Job b/early (b): it is suspended (spec.suspend), and nothing here resumes it").in(beforeBudget)},
				{name: "endless", nightly: families, runner: stage(neverCompletes), recipe: endlessJob,
					want: red(reason.WorkloadFailed, "Job b/b-job (b): not complete yet, and nothing has changed for 20s: pod b/b-job-").in(90 * time.Second)},
				{name: "endless hook", nightly: families, runner: stage(neverCompletes), recipe: func(r *tinyRecipe) {
					r.part("b").add("hook.yaml", strings.NewReplacer("{name: {{ .Release.Name }}-job}", "{name: early, annotations: {helm.sh/hook: pre-install}}", "LABEL", "never-completes").Replace(jobTemplate))
				}, want: red(reason.WorkloadFailed, "Job b/early (b): not complete yet, and nothing has changed for 20s: pod b/early-").in(90 * time.Second)},
			},
			tests: []string{"internal/matrix/gate TestStuckJobs", "internal/observe TestCheckWorkloads"},
		},
		{
			id: "F96", what: "a release of hooks only, in Argo CD; a hook that a finalizer keeps, in Helm and Flux", verdict: "exit 51 before anything is deployed: Argo CD never syncs it, and Helm waits until it is gone",
			seeds: []seed{{name: "hooks only", nightly: []string{bundle.ArgoCDOCI}, recipe: func(r *tinyRecipe) {
				r.part("b").templates = map[string]string{"hook.yaml": strings.NewReplacer("{name: {{ .Release.Name }}-job}", "{name: early, annotations: {helm.sh/hook: pre-install}}", "LABEL", "x").Replace(jobTemplate)}
			}, want: red(reason.DeployFailed, "Job b/early (b): is a hook, and release b has nothing else").in(beforeBudget)}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F97", what: "a claim with a VolumeAttributesClass, which exists or does not", verdict: "passes; exit 1 before anything is deployed",
			seeds: []seed{{name: "exists", nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("claim.yaml", attributesClass)
				r.part("b").edit("      containers:", "      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n      containers:")
			}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F98", what: "an object of which a chart renders nothing but the name", verdict: "passes, also where only field managers show what was delivered",
			seeds: []seed{{nightly: []string{bundle.HelmTemplate}, recipe: func(r *tinyRecipe) {
				r.part("b").add("account.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: only}\n")
			}}},
			tests: []string{"internal/matrix/lane/helm TestHelmTemplateReadBack_OnlyName"},
		},
	}
}

// attributesClass is a claim with a VolumeAttributesClass that exists.
//
//go:embed testdata/objects/attributes_class.yaml
var attributesClass string
