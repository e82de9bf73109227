package everyday

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/documents"
)

// An autoscaler asks the API server for a scale by group and kind, and measures containers by name.
func TestFind_Autoscalers(t *testing.T) {
	const some = "resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}"
	asks := corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": {}}}
	for name, c := range map[string]struct{ target, metric, want string }{
		"of the group of long ago":   {"{apiVersion: extensions/v1beta1, kind: Deployment, name: web}", some, `as apiVersion "extensions/v1beta1", in which the API server has no such kind`},
		"of no group":                {"{kind: Deployment, name: web}", some, `as apiVersion "", in which the API server has no such kind`},
		"of an old version":          {"{apiVersion: apps/v1beta1, kind: Deployment, name: asks}", some, ""},
		"a DaemonSet":                {"{apiVersion: apps/v1, kind: DaemonSet, name: web}", some, "scales DaemonSet x/web (spec.scaleTargetRef), and a DaemonSet has no scale"},
		"a controller":               {"{apiVersion: v1, kind: ReplicationController, name: web}", some, ""},
		"a custom resource":          {"{apiVersion: example.com/v1, kind: Job, name: web}", some, ""},
		"a container that is none":   {"{apiVersion: apps/v1, kind: Deployment, name: asks}", "containerResource: {name: cpu, container: app, target: {type: AverageValue, averageValue: 1}}", "by the cpu of container app, and its pods have no such container"},
		"a container":                {"{apiVersion: apps/v1, kind: Deployment, name: asks}", "containerResource: {name: cpu, container: main, target: {type: Utilization, averageUtilization: 1}}", ""},
		"requests of the whole pod":  {"{apiVersion: apps/v1, kind: Deployment, name: pod}", some, ""},
		"what has no replicas":       {"{apiVersion: apps/v1, kind: Deployment, name: zero}", some, "scales Deployment x/zero, which has replicas: 0"},
		"more pods than replicas":    {"{apiVersion: apps/v1, kind: Deployment, name: one}", "resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}", "keeps Deployment x/one between 2 and 3 pods, and it has replicas: 1"},
		"requests from a LimitRange": {"{apiVersion: apps/v1, kind: Deployment, name: limited}", some, ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := documents.Parse("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h, namespace: x}\nspec: {minReplicas: 2, maxReplicas: 3, scaleTargetRef: " + c.target + ", metrics: [{" + c.metric + "}]}\n")
			if err != nil {
				t.Fatal(err)
			}
			main := []corev1.Container{{Name: "main"}}
			zero, err := documents.Parse("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: zero, namespace: x}\nspec: {replicas: 0}\n")
			if err != nil {
				t.Fatal(err)
			}
			one := zero[0].DeepCopy()
			one.SetName("one")
			one.Object["spec"] = map[string]any{"replicas": int64(1)}
			e := &bundle.Expectation{Objects: []bundle.Object{{Object: objects[0]}, {Object: zero[0]}, {Object: one}}, Workloads: []bundle.Workload{
				{Kind: "Deployment", Namespace: "x", Name: "web", PodSpec: corev1.PodSpec{Containers: main}},
				{Kind: "Deployment", Namespace: "x", Name: "asks", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: asks}}}},
				{Kind: "Deployment", Namespace: "x", Name: "pod", PodSpec: corev1.PodSpec{Resources: &asks, Containers: main}},
				{Kind: "Deployment", Namespace: "x", Name: "limited", PodSpec: corev1.PodSpec{Containers: main}},
			}}
			have := cluster()
			have.Pods = func(w *bundle.Workload) []*corev1.Pod {
				if w.Name != "limited" {
					return nil
				}
				return []*corev1.Pod{{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: asks}}}}}
			}
			check(t, Find(e, have), c.want)
		})
	}
}
