package jobsets

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func TestFind(t *testing.T) {
	long := strings.Repeat("a", 55)
	for name, c := range map[string]struct {
		spec, want string
		without    bool // JobSet's controller
	}{
		"two jobs":              {spec: "replicatedJobs: [{name: a}, {name: b, replicas: 2, dependsOn: [{name: a, status: Ready}]}], successPolicy: {operator: All, targetReplicatedJobs: [b]}"},
		"nothing":               {spec: ""},
		"the first":             {spec: "replicatedJobs: [{name: a, dependsOn: [{name: b}]}, {name: b}]", want: "has the job a wait for b (dependsOn), which does not come before it"},
		"a later one":           {spec: "replicatedJobs: [{name: a}, {name: b, dependsOn: [{name: c}]}, {name: c}]", want: "has the job b wait for c"},
		"without a controller":  {spec: "replicatedJobs: [{name: a}, {name: b, dependsOn: [{name: c}]}]", want: "has the job b wait for c", without: true},
		"a long name":           {spec: "replicatedJobs: [{name: " + long + ", replicas: 100}]", want: "which has 64 characters, and 63 are the most"},
		"one that fits":         {spec: "replicatedJobs: [{name: " + long + ", replicas: 10}]"},
		"a pod's long name":     {spec: "replicatedJobs: [{name: " + long[:50] + ", template: {spec: {completionMode: Indexed, completions: 20}}}]", want: "-0-19-abcde, which has"},
		"a policy of none":      {spec: "replicatedJobs: [{name: a}], successPolicy: {targetReplicatedJobs: [b]}", want: "has a policy for the job b"},
		"a rule of none":        {spec: "replicatedJobs: [{name: a}], failurePolicy: {rules: [{name: r, targetReplicatedJobs: [b]}]}", want: "has a policy for the job b"},
		"a coordinator of none": {spec: "replicatedJobs: [{name: a}], coordinator: {replicatedJob: b}", want: "is coordinated by the job b"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train, namespace: x}\nspec: {"+c.spec+"}\n")}
			if !c.without {
				e.Workloads = []bundle.Workload{{Kind: "Deployment", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Image: "registry.k8s.io/jobset/jobset:v0.10.1"}}}}}
			}
			got := Find(e)
			want := map[bool]reason.Reason{false: reason.DeployFailed}[c.without]
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, c.want) || got[0].Reason != want || got[0].Name == "") {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}
