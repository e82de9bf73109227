package customrefs

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
)

func TestFind(t *testing.T) {
	defines := func(group, kind, plural string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + "." + group + "}\nspec: {group: " + group + ", names: {kind: " + kind + ", plural: " + plural + "}}\n---\n"
	}
	made := func(group, kind, name, spec string) string {
		return "apiVersion: " + group + "/v1beta1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: x}\nspec: " + spec + "\n---\n"
	}
	job := func(labels string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: x, labels: {" + labels + "}}\nspec: {template: {spec: {containers: [{name: c}]}}}\n---\n"
	}
	crds := defines(kueue, "ClusterQueue", "clusterqueues") + defines(kueue, "LocalQueue", "localqueues") + defines(kueue, "ResourceFlavor", "resourceflavors") + defines(kai, "Queue", "queues") +
		defines(slinky, "Controller", "controllers") + defines("trainer.kubeflow.org", "ClusterTrainingRuntime", "clustertrainingruntimes")
	local := made(kueue, "LocalQueue", "users", "{clusterQueue: gpus}")
	cluster := made(kueue, "ClusterQueue", "gpus", "{resourceGroups: [{flavors: [{name: h100}, {name: b200}]}]}")
	h100 := made(kueue, "ResourceFlavor", "h100", "{}")
	for name, c := range map[string]struct{ objects, want string }{
		"a queue of none":            {crds + local, "names ClusterQueue gpus (spec.clusterQueue), which nothing in the recipe makes; Kueue admits none of its jobs"},
		"a queue of one":             {crds + local + cluster + h100 + strings.Replace(h100, "h100", "b200", 1), ""},
		"a flavor that is not there": {crds + cluster + h100, "names ResourceFlavor b200 (spec.resourceGroups[].flavors[].name), which nothing in the recipe makes"},
		"of another one's Kueue":     {local, ""},
		"a job's queue":              {crds + job(kueue+"/queue-name: gpu"), "names LocalQueue x/gpu (label kueue.x-k8s.io/queue-name), which nothing in the recipe makes"},
		"a job's queue elsewhere":    {crds + strings.Replace(local, "namespace: x", "namespace: y", 1) + cluster + h100 + strings.Replace(h100, "h100", "b200", 1) + job(kueue+"/queue-name: users"), "names LocalQueue x/users"},
		"a JobSet's queue":           {crds + strings.Replace(made("jobset.x-k8s.io", "JobSet", "j", "{}"), "namespace: x", "namespace: x, labels: {"+kueue+"/queue-name: gpu}", 1), "names LocalQueue x/gpu (label kueue.x-k8s.io/queue-name)"},
		"a job of a queue":           {crds + local + cluster + h100 + strings.Replace(h100, "h100", "b200", 1) + job(kueue+"/queue-name: users"), ""},
		"KAI's own queue":            {crds + job("kai.scheduler/queue: default-queue"), ""},
		"another of KAI":             {crds + job("kai.scheduler/queue: team"), "names Queue team (label kai.scheduler/queue), which nothing in the recipe makes; the scheduler places none of its pods"},
		"a controller elsewhere":     {crds + made(slinky, "NodeSet", "set", "{controllerRef: {name: slurm, namespace: z}}") + made(slinky, "Controller", "slurm", "{}"), "names Controller z/slurm (spec.controllerRef.name)"},
		"a controller beside":        {crds + made(slinky, "NodeSet", "set", "{controllerRef: {name: slurm}}") + made(slinky, "Controller", "slurm", "{}"), ""},
		"a runtime":                  {crds + made("trainer.kubeflow.org", "TrainJob", "t", "{runtimeRef: {name: torch}}"), "names ClusterTrainingRuntime torch (spec.runtimeRef.name)"},
		"a runtime of its namespace": {crds + made("trainer.kubeflow.org", "TrainJob", "t", "{runtimeRef: {name: torch, kind: TrainingRuntime}}"), ""},
		"a field of another type":    {crds + made(kueue, "LocalQueue", "users", "{clusterQueue: {name: gpus}}"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", c.objects)}
			found, got := Find(e), ""
			for _, p := range found {
				got += p.Text + "; " + p.Then
				if p.Reason != "" || p.Missing.Name != p.Name {
					t.Errorf("%+v", p)
				}
			}
			if len(found) > 1 || (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want one with %q", got, c.want)
			}
		})
	}
}
