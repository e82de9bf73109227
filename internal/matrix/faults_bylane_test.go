package matrix

import (
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// sharedFault is a fault of the recipe that has the same verdict in every lane: the reason follows from the fault, whichever deployer reports it.
type sharedFault struct {
	name   string
	recipe func(*tinyRecipe)
	runner func(*Runner)
	reason reason.Reason
	cause  []string
	screen []string // if not nil, parts of what follows it on the first screen
	// waits: the fault may still go away, so that the cell uses its whole budget. Every other one ends the cell early.
	waits bool
	// except are lanes in which the deployer really differs, and what their verdict is.
	except map[string]outcomeWanted
	why    string // of the exception
}

// lanesOfFaults are the lanes of the table. argocd-helm-oci and argocd-appset deliver the same Applications as argocd-oci.
var lanesOfFaults = []string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI}

// rejected gives b's pods something for which the API server rejects them.
func rejected(from, to string) func(*tinyRecipe) {
	return func(r *tinyRecipe) { r.part("b").edit(from, to) }
}

func sharedFaults() []sharedFault {
	const containers = "      containers:"
	return []sharedFault{
		{name: "a ServiceAccount that does not exist", recipe: rejected(containers, "      serviceAccountName: nobody\n"+containers), reason: reason.SchedulingFailed,
			cause: []string{"Deployment b/b (b): the API server rejects its pods: ", `serviceaccount "nobody" not found`}},
		{name: "a PriorityClass that does not exist", recipe: rejected(containers, "      priorityClassName: urgent\n"+containers), reason: reason.SchedulingFailed,
			cause: []string{"Deployment b/b (b): the API server rejects its pods: ", "no PriorityClass with name urgent was found"}},
		{name: "a RuntimeClass that does not exist", recipe: rejected(containers, "      runtimeClassName: gvisor\n"+containers), reason: reason.SchedulingFailed,
			cause: []string{"Deployment b/b (b): the API server rejects its pods: ", `RuntimeClass "gvisor" not found`}},
		{name: "a ResourceQuota without room", recipe: func(r *tinyRecipe) {
			r.part("b").add("quota.yaml", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: \"0\"}}\n")
		}, reason: reason.SchedulingFailed, cause: []string{"Deployment b/b (b): the API server rejects its pods: ", "exceeded quota: none"}},
		{name: "a LimitRange that is exceeded", recipe: func(r *tinyRecipe) {
			r.part("b").add("limits.yaml", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [{type: Container, max: {cpu: 100m}}]}\n")
			r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", resources: {limits: {cpu: 1}}`)
		}, reason: reason.SchedulingFailed, cause: []string{"Deployment b/b (b): the API server rejects its pods: ", "maximum cpu usage per Container is 100m"}},
		{name: "pod security", recipe: func(r *tinyRecipe) {
			r.part("b").add("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: locked, labels: {pod-security.kubernetes.io/enforce: restricted}}\n")
			r.part("b").edit("name: {{ .Release.Name }}\n", "name: {{ .Release.Name }}\n  namespace: locked\n")
		}, reason: reason.SchedulingFailed, cause: []string{"Deployment locked/b (b): the API server rejects its pods: ", "violates PodSecurity"}},
		{name: "a scheduling gate", recipe: rejected(containers, "      schedulingGates: [{name: example.com/later}]\n"+containers), reason: reason.SchedulingFailed,
			cause: []string{"Deployment b/b (b): scheduling gate example.com/later keeps its pods from the scheduler"}},
		{name: "a scheduler that is not there", recipe: rejected(containers, "      schedulerName: volcano\n"+containers), reason: reason.SchedulingFailed,
			cause: []string{"Deployment b/b (b): its pods are for the scheduler volcano"}, screen: []string{"edit: remove `schedulerName: volcano` in b/templates/"}},
		{name: "a Deployment that is paused", recipe: rejected("  replicas: 1\n", "  replicas: 1\n  paused: true\n"), reason: reason.SchedulingFailed,
			cause: []string{"Deployment b/b (b): it is paused (spec.paused), and nothing here resumes it"}},
		{name: "an object in a namespace that does not exist", recipe: func(r *tinyRecipe) {
			r.part("b").add("elsewhere.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: nowhere}\n")
		}, reason: reason.DeployFailed, cause: []string{`namespaces "nowhere" not found`}},
		{name: "a hook Job that never completes", recipe: func(r *tinyRecipe) {
			hook := strings.ReplaceAll(jobTemplate, "LABEL", "never-completes")
			r.part("b").add("hook.yaml", strings.Replace(hook, "metadata: {name: {{ .Release.Name }}-job}", "metadata: {name: {{ .Release.Name }}-hook, annotations: {helm.sh/hook: pre-install}}", 1))
		}, runner: stage(neverCompletes), reason: reason.SchedulingFailed, cause: []string{"Job b/b-hook"}, waits: true},
		{name: "a Job that never completes", recipe: endlessJob, runner: stage(neverCompletes), reason: reason.SchedulingFailed, cause: []string{"Job b/b-job: not complete yet"}, waits: true},
		{name: "a pod that never runs", recipe: func(r *tinyRecipe) {
			r.part("b").edit("labels: {app: {{ .Release.Name }}}}\n    spec:", "labels: {app: {{ .Release.Name }}, faults: never-runs}}\n    spec:")
		}, runner: stage(neverRuns), reason: reason.SchedulingFailed, cause: []string{"Deployment b/b: 0 of 1 pods as they should be", "is Pending"}, waits: true},
		{name: "two objects of one name in a chart", recipe: func(r *tinyRecipe) {
			r.part("b").add("twice.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {a: \"1\"}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {a: \"2\"}\n")
		}, reason: reason.DeployFailed, cause: []string{`"twice" already exists`}, why: "Argo CD applies both, one after the other, and the last one stays. Flux says it in other words",
			except: map[string]outcomeWanted{
				bundle.ArgoCDOCI: {check: warning("b makes ConfigMap b/twice twice: Argo CD keeps the last one, and Helm and Flux reject the chart")},
				bundle.FluxOCI:   red(reason.DeployFailed, "HelmRelease b: ", "already registered id: ConfigMap", "twice"),
			}},
	}
}

// TestOneVerdictPerFault: one fault has one reason and one code, and a cell ends early if waiting cannot help.
func TestOneVerdictPerFault(t *testing.T) {
	t.Parallel()
	base := stackRunner(t)
	for _, f := range sharedFaults() {
		for _, lane := range lanesOfFaults {
			t.Run(strings.ReplaceAll(f.name, " ", "-")+"/"+lane, func(t *testing.T) {
				t.Parallel()
				s := seed{recipe: f.recipe, runner: f.runner, want: red(f.reason, f.cause...).and(f.screen...)}
				if f.waits {
					s.sync = 30 * time.Second
				}
				if other, ok := f.except[lane]; ok {
					s.want = other
				}
				s.run(t, *base, lane)
			})
		}
	}
}
