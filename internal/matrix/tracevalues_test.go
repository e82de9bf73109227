package matrix

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What keeps pods from a node, or lets the API server reject them, is traced to the value that
// decides it, whatever the value is called. What it is not has no line.
func TestTraceValues(t *testing.T) {
	refused := func(text string) func(*bundle.Workload, *bundle.Expectation) observe.WorkloadReport {
		return func(w *bundle.Workload, e *bundle.Expectation) observe.WorkloadReport {
			return observe.WorkloadReport{Wrong: []observe.WrongWorkload{observe.RefusedWorkload{Workload: w, Text: text}.Wrong(e)}}
		}
	}
	pending := func(w *bundle.Workload, _ *bundle.Expectation) observe.WorkloadReport {
		pod := testkit.Pod("b-1", "ReplicaSet", "b", "", testkit.Refused("0/4 nodes are available"))
		pod.Spec = *w.PodSpec.DeepCopy()
		return observe.WorkloadReport{Pending: []observe.PendingPod{{Workload: w, Message: "0/4 nodes are available", PodFacts: observe.FactsOf(pod)}}}
	}
	wrong := func(field string) func(*bundle.Workload, *bundle.Expectation) observe.WorkloadReport {
		return func(w *bundle.Workload, _ *bundle.Expectation) observe.WorkloadReport {
			return observe.WorkloadReport{Wrong: []observe.WrongWorkload{{Workload: w, Text: "it is so", Fields: []string{field}}}}
		}
	}
	const quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {requests.cpu: 1}}\n---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: less}\nspec: {limits: [{type: Container, default: {memory: 128Mi}}]}\n"
	for name, c := range map[string]struct {
		spec   string // of the pods, with one value of the recipe, which is odd.one
		value  string
		report func(*bundle.Workload, *bundle.Expectation) observe.WorkloadReport
		want   []string
		not    string // an edit that a rendering shows not to be one
	}{
		"requests of a container":  {"resources: {}\n      initContainers: [{name: i, image: i, resources: {requests: {cpu: {{ .Values.odd.one }}}}}]", "900", pending, []string{"cpu: value path odd.one, set in ", "edit: ask for at most "}, ""},
		"the pod's own resources":  {"resources: {requests: {cpu: {{ .Values.odd.one }}}}", "900", pending, []string{"cpu: value path odd.one, set in ", " at odd.one in "}, ""},
		"affinity":                 {"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [{{ .Values.odd.one }}]}]}]}}}", "ssd", pending, []string{"node affinity: value path odd.one, set in "}, "edit: "},
		"an affinity as a whole":   {"affinity: {nodeAffinity: {{ if .Values.odd.one }}{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}{{ else }}{}{{ end }}}", "true", pending, []string{"node affinity: value path odd.one, set in "}, "change "},
		"a selector's value":       {"nodeSelector: {disk: {{ .Values.odd.one | default \"hdd\" }}}", "nvme", pending, []string{"nodeSelector disk=nvme: value path odd.one, set in "}, "edit: "},
		"a selector's switch":      {"nodeSelector: { {{- if .Values.odd.one }}disk: nvme{{ end -}} }", "true", pending, []string{"nodeSelector disk=nvme: value path odd.one, set in ", "edit: remove `disk: nvme` at odd.one in "}, "change "},
		"a selector's wrong value": {"nodeSelector: {kubernetes.io/os: {{ .Values.odd.one }}}", "windows", pending, []string{"nodeSelector kubernetes.io/os=windows: value path odd.one, set in "}, "remove `kubernetes.io/os"},
		"a node's name":            {"nodeName: {{ .Values.odd.one }}", "ghost", wrong("nodeName"), []string{"nodeName: value path odd.one, set in "}, ""},
		"a priority":               {"priorityClassName: {{ .Values.odd.one }}", "urgent", refused("pods b- is forbidden: no PriorityClass with name urgent was found"), []string{"priorityClassName: value path odd.one, set in "}, ""},
		"an account":               {"serviceAccountName: {{ .Values.odd.one }}", "none", refused(`pods b- is forbidden: error looking up service account b/none: serviceaccount "none" not found`), []string{"serviceAccountName: value path odd.one, set in "}, ""},
		"pod security":             {"hostNetwork: {{ .Values.odd.one }}", "true", refused(`pods b- is forbidden: violates PodSecurity "restricted:latest": host namespaces`), []string{"securityContext: value path odd.one, set in "}, ""},
		"a quota":                  {"resources: {requests: {cpu: {{ .Values.odd.one }}}}", "900", refused("pods b- is forbidden: exceeded quota: none, requested: pods=1,requests.cpu=900, used: pods=0,requests.cpu=0, limited: requests.cpu=1"), []string{"what it breaks is ResourceQuota b/none (b, b/templates/quota.yaml)", "resources: value path odd.one, set in "}, ""},
		"a quota of memory":        {"resources: {requests: {cpu: {{ .Values.odd.cpu | default 1 }}, memory: {{ .Values.odd.one }}}}", "64Gi", refused("pods b- is forbidden: exceeded quota: none, requested: requests.memory=64Gi, used: requests.memory=0, limited: requests.memory=1Mi"), []string{"resources: value path odd.one, set in "}, ""},
		"a range of memory":        {"resources: {limits: {cpu: {{ .Values.odd.cpu | default 1 }}, memory: {{ .Values.odd.one }}}}", "64Gi", refused("pods b- is forbidden: maximum memory usage per Pod is 1Gi, but limit is 68719476736"), []string{"resources: value path odd.one, set in "}, ""},
		"a limit that is missing":  {"resources: {requests: {memory: {{ .Values.odd.one }}}}", "512Mi", refused("pods b- is forbidden: failed quota: none: must specify limits.memory for: main"), []string{"what it breaks is ResourceQuota b/none (b, b/templates/quota.yaml)"}, ""},
		"a limit that is added":    {"resources: {requests: {cpu: {{ .Values.odd.cpu | default 1 }}, memory: {{ .Values.odd.one }}}}", "512Mi", refused(`Pod "b-" is invalid: spec.containers[0].resources.requests: Invalid value: "512Mi": must be less than or equal to memory limit of 128Mi`), []string{"what it breaks is LimitRange b/less (b, b/templates/quota.yaml)", "resources: value path odd.one, set in "}, ""},
		"a default of the chart":   {"priorityClassName: {{ .Values.pods.priorityClassName }}{{ .Values.odd.two }}", "unused", refused("pods b- is forbidden: no PriorityClass with name urgent was found"), []string{"priorityClassName: value path pods.priorityClassName, a default of the chart, which the component can set (declared in "}, ""},
		"a selector by default":    {"nodeSelector: {{ .Values.pods.nodeSelector | toJson }}", "unused", pending, []string{"nodeSelector disk=nvme: value path pods.nodeSelector, a default of the chart", "at pods.nodeSelector of the component (declared in "}, ""},
		"the chart's own":          {"priorityClassName: urgent{{ .Values.odd.two }}", "unused", refused("pods b- is forbidden: no PriorityClass with name urgent was found"), []string{"priorityClassName: set in b/templates/web.yaml"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTinyRecipe()
			r.part("b").values = "other: {text: a}\nodd: {cpu: 1, one: " + c.value + "}" // what is not meant comes first
			r.part("b").defaults = "pods: {priorityClassName: urgent, nodeSelector: {disk: nvme}}\n"
			r.part("b").edit("      containers:", "      "+c.spec+"\n      containers:")
			r.part("b").add("quota.yaml", quota)
			runner := unitRunner(t)
			r.use(t, runner)
			plans, err := runner.Plan("tiny", bundle.Deployers())
			if err != nil {
				t.Fatal(err)
			}
			in, err := plans[0].rendering.prepare(t.Context(), plans[0].input)
			if err != nil {
				t.Fatal(err)
			}
			in.ChartRepository, in.RepoURL, in.PlainHTTP = "", "", true
			b, err := plans[0].Deployer.Bundle(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(b.Expectation.Workloads, func(w bundle.Workload) bool { return w.Name == "b" })
			w := &b.Expectation.Workloads[i]
			w.Node = bundle.NodeAny
			report := c.report(w, &b.Expectation)
			view := &observe.View{Nodes: testkit.NodeList(testkit.TestNodes())}
			for i := range view.Nodes {
				view.Nodes[i].Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourcePods: resource.MustParse("110")}
			}
			why.TraceValues(t.Context(), in, plans[0].Deployer.Name(), &report, view)
			story := strings.Join(why.SchedulingFinding(nil, report, view).Findings[0].Story, "\n")
			for _, part := range c.want {
				if !strings.Contains(story, part) {
					t.Errorf("no %q in\n%s", part, story)
				}
			}
			if c.not != "" && strings.Contains(story, c.not) {
				t.Errorf("%q in\n%s", c.not, story)
			}
			if strings.Contains(story, "selector: ") || strings.Contains(story, "no value of the recipe") || strings.Contains(story, "odd.cpu") {
				t.Errorf("a line that is not about it in\n%s", story)
			}
		})
	}
}
