//go:build nightly

package matrix

import (
	"bytes"
	"cmp"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/kwok"
)

// operatorRecipe has kube-prometheus-stack, and a component after it with a PrometheusRule, if there
// is an expression for one.
func operatorRecipe(t *testing.T, expression string) *recipe.Store {
	t.Helper()
	files := map[string]string{
		"registry.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: ComponentRegistry
components:
  - name: kube-prometheus-stack
    helm: {defaultRepository: "https://charts.example.com", defaultChart: example/kube-prometheus-stack, defaultVersion: 82.8.0, defaultNamespace: monitoring}
    nodeScheduling:
      system:
        tolerationPaths: [prometheusOperator.tolerations, prometheusOperator.admissionWebhooks.patch.tolerations, prometheus.prometheusSpec.tolerations, alertmanager.alertmanagerSpec.tolerations, grafana.tolerations, kube-state-metrics.tolerations]
  - name: rules
    manifest: {defaultNamespace: rules}
`,
		"overlays/base.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: base}
spec:
  componentRefs:
    - {name: kube-prometheus-stack}
    - {name: rules, dependencyRefs: [kube-prometheus-stack], manifestFiles: [components/rules/manifests/rules.yaml]}
`,
		"overlays/watched.yaml": "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: watched}\nspec: {criteria: {service: eks, intent: training}}\n",
		"components/rules/manifests/rules.yaml": `
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: ours, labels: {release: kube-prometheus-stack}}
spec: {groups: [{name: g, rules: [{record: ours, expr: "` + expression + `"}]}]}
`,
	}
	if expression == "" {
		files["overlays/base.yaml"] = strings.Replace(files["overlays/base.yaml"], "    - {name: rules,", "    # {name: rules,", 1)
	}
	return storeOf(t, files)
}

// editedChart is a simulated chart, with one edit of one of its files; none if no file is given.
func editedChart(t *testing.T, chart, file, old, new string) catalog.Source {
	t.Helper()
	files := fstest.MapFS{}
	charts, err := fs.Sub(kwok.Files, "charts")
	if err != nil {
		t.Fatal(err)
	}
	edits := 0
	err = fs.WalkDir(charts, chart, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(charts, name)
		if file != "" && strings.HasSuffix(name, file) {
			edits += bytes.Count(text, []byte(old))
			text = bytes.Replace(text, []byte(old), []byte(new), 1)
		}
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil || file != "" && edits == 0 {
		t.Fatalf("edit the chart: %v, %d times %q in %s", err, edits, old, file)
	}
	return catalog.FromFS(files, "edited")
}

// realOperators runs cells with real operators.
func realOperators(t *testing.T) *Runner {
	t.Helper()
	r := stackRunner(t)
	p := embeddedOf(r)
	stacks, err := programs.Stacks(p.Paths)
	if err != nil {
		t.Fatal(err)
	}
	p.Real = &programs.Set{Mode: programs.Real, Stacks: stacks, Progress: testProgress{t}}
	return r
}

// operatorCell runs one cell.
func operatorCell(t *testing.T, r *Runner, recipe, lane string) result.Result {
	t.Helper()
	infratest.Slots(t, 1)
	results, err := r.RunAll(t.Context(), plansOf(t, r, recipe, deployers(t, lane)...), 1)
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	return results[0]
}

// TestNightlyOperators: prometheus-operator runs for real. The recipe passes, and what only the
// operator sees is red in its own words.
func TestNightlyOperators(t *testing.T) {
	t.Parallel()
	const secret = "            secretName: {{ include \"simulated.fullname\" $ }}-admission # made by the admission-create Job\n---\n"
	const emptySecret = "            secretName: tls\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: tls, namespace: monitoring}\ndata: {}\n---\n"
	const resources = "      - statefulsets\n    verbs:\n      - \"*\"\n"
	for _, c := range []struct {
		name, expression, old, new string
		file                       string        // of the edit; the operator's Deployment by default
		lane                       string        // helm by default
		reason                     reason.Reason // "": it passes
		cause, screen              string
	}{
		{name: "passes", expression: "sum(up)"},
		{
			name: "a Role without a verb", expression: "sum(up)", old: resources, new: strings.Replace(resources, `"*"`, "get", 1),
			reason: reason.WorkloadFailed, cause: "not made yet from Alertmanager monitoring/", screen: "statefulsets.apps is forbidden",
		},
		{
			name: "a flag that its version does not have", old: "            - --web.enable-tls=true\n", new: "            - --web.enable-tls=true\n            - --web.enable-tea=true\n",
			reason: reason.WorkloadFailed, cause: "CrashLoopBackOff, ended with exit code 2", screen: "flag provided but not defined: -web.enable-tea",
		},
		{
			name: "a PrometheusRule that it refuses", expression: "brew(up)", // for the harness, another version may have the function
			reason: reason.DeployFailed, cause: `admission webhook "prometheusrule`, screen: "denied the request",
		},
		{
			name: "F238 a PrometheusRule that it leaves out", expression: "brew(up)", file: "prometheus-operator/webhook-configuration.yaml", old: "          - prometheusrules\n", new: "          - alertmanagerconfigs\n",
			reason: reason.DeployFailed, cause: "PrometheusRule.monitoring.coreos.com rules/ours is left out by its operator", screen: "rejected due to invalid configuration",
		},
		{
			name: "F115 a Prometheus that it refuses", expression: "sum(up)", file: "prometheus/prometheus.yaml", old: "  retention: {{ .retention }}\n", new: "  retention: {{ .retention }}\n  version: tea\n",
			reason: reason.WorkloadFailed, cause: "not made yet from Prometheus monitoring/kube-prometheus-stack-prometheus", screen: "failed to parse Prometheus version",
		},
		{
			name: "F115 in Argo CD", lane: bundle.ArgoCDOCI, expression: "sum(up)", file: "prometheus/prometheus.yaml", old: "  retention: {{ .retention }}\n", new: "  retention: {{ .retention }}\n  version: tea\n",
			reason: reason.WorkloadFailed, cause: "not made yet from Prometheus monitoring/kube-prometheus-stack-prometheus", screen: "failed to parse Prometheus version",
		},
		{
			name: "F117 a CRD older than the operator", expression: "sum(up)", file: "crds/prometheuses.monitoring.coreos.com.yaml", old: "      status: {}\n", new: "",
			reason: reason.DeployFailed, cause: "monitoring/kube-prometheus-stack-prometheus is not Available", screen: "failed to apply prometheus status subresource",
		},
		{
			name: "F154 a webhook that refuses the objects of its own release", expression: "sum(up)", file: "kube-prometheus-stack/values.yaml", old: "    failurePolicy: \"\"", new: "    failurePolicy: Fail",
			reason: reason.DeployFailed, cause: "of the same release and fails closed", screen: "is written only by the hook Job monitoring/kube-prometheus-stack-admission-patch",
		},
		{
			name: "F118 a TLS Secret that a manifest leaves empty", expression: "sum(up)", old: secret, new: emptySecret,
			reason: reason.WorkloadFailed, cause: "CrashLoopBackOff", screen: "/cert/",
		},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r := realOperators(t)
			r.Store = operatorRecipe(t, c.expression)
			file := c.file
			if c.old != "" && file == "" {
				file = "prometheus-operator/deployment.yaml"
			}
			r.Charts = editedChart(t, "kube-prometheus-stack", file, c.old, c.new)
			res := operatorCell(t, r, "watched", cmp.Or(c.lane, bundle.Helm))
			screen := strings.Join(append([]string{res.Cause}, res.Details...), "\n")
			t.Logf("%s %s\n%s\nnotes: %s", res.Status, res.Reason, screen, strings.Join(res.Notes, "\n"))
			testkit.WantText(t, "notes", strings.Join(res.Notes, "\n"), "operator prometheus-operator (Deployment monitoring/kube-prometheus-stack-operator): real, v0.93.1")
			if c.reason == "" {
				if res.Status != result.Passed {
					t.Errorf("got %s: %s", res.Status, res.Cause)
				}
				if all := strings.Join(res.StandIns, "\n"); strings.Contains(all, "Prometheus monitoring/") || strings.Contains(all, "kube-prometheus-stack-admission") {
					t.Errorf("stand-ins did the operator's work:\n%s", all)
				}
				return
			}
			if res.Status != result.Failed || res.Reason != c.reason {
				t.Errorf("got %s, %s; want %s", res.Status, res.Reason, c.reason)
			}
			testkit.WantText(t, "cause", res.Cause, c.cause)
			testkit.WantText(t, "first screen", screen, c.screen)
		})
	}
}

// TestNightlyOperatorsFight: two operators make what they find of the same objects, each as its own
// configuration says, without end (F153). Between two of their turns all is as expected.
func TestNightlyOperatorsFight(t *testing.T) {
	t.Parallel()
	const component = `
  - name: NAME
    helm: {defaultRepository: "https://charts.example.com", defaultChart: example/kube-prometheus-stack, defaultVersion: 82.8.0, defaultNamespace: NAME}
    nodeScheduling:
      system:
        tolerationPaths: [prometheusOperator.tolerations, prometheusOperator.admissionWebhooks.patch.tolerations, prometheus.prometheusSpec.tolerations, alertmanager.alertmanagerSpec.tolerations, grafana.tolerations, kube-state-metrics.tolerations]
`
	const second = ", alertmanager: {enabled: false}, grafana: {enabled: false}, kubeStateMetrics: {enabled: false}, nodeExporter: {enabled: false}, prometheus: {enabled: false}, crds: {enabled: false}"
	const reloader = "prometheus-config-reloader:{{ $.Chart.AppVersion }}"
	for _, lane := range []string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI} {
		t.Run(lane, func(t *testing.T) {
			t.Parallel()
			r := realOperators(t)
			r.Store = storeOf(t, map[string]string{
				"registry.yaml": "apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents:" + strings.ReplaceAll(component, "NAME", "monitoring") + strings.ReplaceAll(component, "NAME", "old"),
				"overlays/base.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: base}
spec:
  componentRefs:
    - {name: monitoring}
    - {name: old, dependencyRefs: [monitoring], overrides: {defaultRules: {create: false}` + second + `}}
`,
				"overlays/watched.yaml": "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: watched}\nspec: {criteria: {service: eks, intent: training}}\n",
			})
			r.Charts = editedChart(t, "kube-prometheus-stack", "prometheus-operator/deployment.yaml", reloader, `prometheus-config-reloader:{{ ternary "v0.80.0" $.Chart.AppVersion (eq $.Release.Namespace "old") }}`)
			res := operatorCell(t, r, "watched", lane)
			screen := strings.Join(append([]string{res.Cause}, res.Details...), "\n")
			t.Logf("%s %s after %s\n%s\nnotes: %s", res.Status, res.Reason, res.Duration, screen, strings.Join(res.Notes, "\n"))
			if res.Status != result.Failed || res.Reason != reason.NeverSettles {
				t.Errorf("got %s, %s; want %s", res.Status, res.Reason, reason.NeverSettles)
			}
			if res.Duration > 4*time.Minute { // 20 s on an idle machine; the sync budget is longer
				t.Errorf("it was red after %s", res.Duration)
			}
			for _, part := range []string{
				"never settles", "Deployment monitoring/", "as ServiceAccount monitoring/", "Deployment old/", "as ServiceAccount old/", "component old", "changes back and forth",
			} {
				testkit.WantText(t, "first screen", screen, part)
			}
		})
	}
}
