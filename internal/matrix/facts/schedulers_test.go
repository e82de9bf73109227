package facts

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// expected is the expectation of a component x with these documents.
func expected(t *testing.T, documents ...string) *bundle.Expectation {
	t.Helper()
	e := &bundle.Expectation{}
	for _, document := range documents {
		objects, err := rendering.ParseDocuments(document)
		if err != nil || len(objects) != 1 {
			t.Fatal(err, len(objects))
		}
		o := objects[0]
		object := bundle.Object{Component: "x", Release: "x", Object: o}
		e.Objects = append(e.Objects, object)
		if spec := PodSpec(&object); spec != nil {
			e.Workloads = append(e.Workloads, bundle.Workload{Component: "x", Release: "x", Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), PodSpec: *spec, Replicas: 1})
		}
	}
	return e
}

// A platform simulates the schedulers that the recipe runs and whose pods are simulated, and no other.
func TestSchedulers(t *testing.T) {
	t.Parallel()
	deployment := func(name, spec string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", namespace: x}\nspec: {template: {spec: " + spec + "}}"
	}
	const mine, profile = "{schedulerName: fair, containers: [{name: m}]}", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x}\ndata:\n  c.yaml: |\n    kind: KubeSchedulerConfiguration\n    profiles: [{schedulerName: fair}]"
	asks := deployment("web", mine)
	for name, tt := range map[string]struct {
		objects []string
		want    string
	}{
		"Kubernetes' own":           {[]string{deployment("web", "{schedulerName: default-scheduler, containers: [{name: m}]}")}, ""},
		"nobody's":                  {[]string{asks}, ""},
		"of its name":               {[]string{asks, deployment("fair", "{containers: [{name: m}]}")}, "fair"},
		"a scheduler told its name": {[]string{asks, deployment("other", `{containers: [{name: fair-scheduler, args: ["--scheduler-name=fair"]}]}`)}, "fair"},
		"an operator that is told whose its pods are": {[]string{asks, deployment("other", `{containers: [{name: operator, args: ["--batch-scheduler-name=fair"]}]}`)}, ""},
		"one that asks for itself":                    {[]string{deployment("web", `{schedulerName: fair, containers: [{name: scheduler, args: ["--scheduler-name=fair"]}]}`)}, ""},
		"KAI's configuration":                         {[]string{asks, "apiVersion: kai.scheduler/v1\nkind: Config\nmetadata: {name: kai}\nspec: {global: {schedulerName: fair}}"}, "fair"},
		"a profile of a configuration":                {[]string{asks, deployment("other", `{containers: [{name: m, image: kube-scheduler, volumeMounts: [{name: c, mountPath: /c}]}], volumes: [{name: c, configMap: {name: c}}]}`), profile}, "fair"},
		"a profile that others are given":             {[]string{asks, deployment("other", `{containers: [{name: m, image: kube-scheduler}]}`), profile}, ""},
		"a configuration of another program":          {[]string{asks, deployment("other", `{containers: [{name: m, volumeMounts: [{name: c, mountPath: /c}]}], volumes: [{name: c, configMap: {name: c}}]}`), profile}, ""},
		"a job that asks for it":                      {[]string{asks, "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: train}\nspec: {schedulerName: fair}"}, ""},
		"asked for by nobody":                         {[]string{deployment("fair", "{containers: [{name: m}]}")}, ""},
		"one whose pods run":                          {[]string{asks, deployment("fair", `{containers: [{name: m, image: "real:1"}]}`)}, ""},
		"one whose pods run, told its name":           {[]string{asks, deployment("other", `{containers: [{name: fair-scheduler, image: "real:1", args: ["--scheduler-name=fair"]}]}`)}, ""},
		"one beside which others run":                 {[]string{asks, deployment("other", `{containers: [{name: m, image: "real:1"}]}`), deployment("fair", `{containers: [{name: m, image: "other:1"}]}`)}, "fair"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			real := func(c *corev1.Container) bool { return c.Image == "real:1" }
			if got := strings.Join(Schedulers(expected(t, tt.objects...), real), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMinReady(t *testing.T) {
	deployed := func(name, seconds string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", namespace: x}\nspec: {minReadySeconds: " + seconds + ", template: {spec: {containers: [{name: m}]}}}"
	}
	e := expected(t, deployed("a", "30"), deployed("b", "20"), deployed("c", "5"))
	e.Objects[2].Release = "y"
	if got := MinReady(e); got != 35*time.Second {
		t.Errorf("got %s, want the longest of each release: 35s", got)
	}
}

// What a workload wants beyond the room of the nodes lengthens no budget.
func TestRoomPods(t *testing.T) {
	var nodes []*corev1.Node
	for range 3 {
		nodes = append(nodes, &corev1.Node{Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}}})
	}
	e := &bundle.Expectation{Workloads: []bundle.Workload{{Kind: "Deployment", Replicas: 2_000_000_000}, {Kind: "DaemonSet", Replicas: -1}, {Kind: "Job", Replicas: 5000}, {Kind: "Deployment", Replicas: 2}}}
	if got, want := RoomPods(e, nodes), 330+3+5000+2; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// Of Secrets and ConfigMaps names and keys are read, and nothing else is kept.
func TestReadLive_NoSecretValues(t *testing.T) {
	kube := fake.NewClientset(&corev1.SecretList{Items: []corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}, Data: map[string][]byte{"k": []byte("v")}}}})
	c, err := ReadLive(t.Context(), kube, nil)
	if err != nil || len(c.Secrets) != 1 || !c.Secrets["x/s"]["k"] {
		t.Errorf("got %v, %v", c, err)
	}
}
