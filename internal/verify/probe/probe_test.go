package probe

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
)

func shipped(t *testing.T) (*recipe.Store, []*Probe) {
	t.Helper()
	store := shippedtest.Recipes(t)
	all, err := Load(store)
	if err != nil {
		t.Fatal(err)
	}
	return store, all
}

// The data decide which probes are for a recipe; a recipes directory without probes has the
// program's.
func TestProbesOfRecipes(t *testing.T) {
	store, all := shipped(t)
	names := func(name string) string {
		t.Helper()
		r, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range For(all, r) {
			got = append(got, p.Name)
		}
		return strings.Join(got, " ")
	}
	for name, want := range map[string]string{
		"eks":                               "full-nodes gang kai-queue one-gpu",
		"h100-eks-ubuntu-training-kubeflow": "full-nodes gang kai-queue kubeflow-trainjob one-gpu",
		"h100-eks-ubuntu-inference-dynamo":  "dynamo-graph full-nodes gang kai-queue one-gpu",
	} {
		if got := names(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	bare, err := recipe.Open(fstest.MapFS{
		"registry.yaml":      {Data: []byte("apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents: []\n")},
		"overlays/base.yaml": {Data: []byte("apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: base}\nspec: {}\n")},
	}, "mine")
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err := Load(bare); err != nil || len(theirs) != len(all) {
		t.Errorf("without probes: got %d, %v; want the %d of this program", len(theirs), err, len(all))
	}
}

func TestIsFor(t *testing.T) {
	has := func(name string) bool { return name == "a" || name == "b" }
	criteria := recipe.Criteria{Service: "eks", Intent: "training"}
	for i, c := range []struct {
		spec Spec
		want bool
	}{
		{Spec{}, true}, {Spec{Components: []string{"a", "b"}}, true}, {Spec{Components: []string{"a", "c"}}, false}, {Spec{Without: []string{"c"}}, true},
		{Spec{Without: []string{"b"}}, false}, {Spec{Criteria: map[string]string{"intent": "training"}}, true}, {Spec{Criteria: map[string]string{"intent": "inference"}}, false},
	} {
		if got := (&Probe{Spec: c.spec}).isFor(criteria, has); got != c.want {
			t.Errorf("%d: got %t", i, got)
		}
	}
}

//go:embed testdata/objects/good.yaml
var good string

func TestRender(t *testing.T) {
	p, err := parseFile("probes/x.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	objects, pods, err := p.renderOnce(t.Context(), Values{Namespace: Namespace, Nodes: 3})
	if err != nil || pods != 3 || len(objects) != 2 || objects[0].line != 9 || objects[1].line != 13 || objects[1].String() != "Pod b" {
		t.Errorf("got %v, %d, %v", objects, pods, err)
	}
}

// Each mistake has its line.
func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"an unknown field":        {"pods:", "pod:", "x.yaml:7: field pod not found"},
		"no YAML":                 {"kind: Probe", "kind: [", "x.yaml:"},
		"two documents":           {"apiVersion: aicr", "---\na: b\n---\napiVersion: aicr", "one YAML document; got 2"},
		"another kind":            {"kind: Probe", "kind: Test", `x.yaml:1: want apiVersion aicr.nvidia.com/v1alpha1 and kind Probe; got "aicr.nvidia.com/v1alpha1" and "Test"`},
		"no name":                 {"  name: x", "  name: \"\"", "metadata.name is missing"},
		"no description":          {"  description: one pod\n", "", "spec.description"},
		"no pods":                 {"  pods: \"{{ .Nodes }}\"\n", "", "spec.pods is missing"},
		"pods that are no number": {"{{ .Nodes }}", "many", `want a number from 0 to 65536; got "many"`},
		"a value that is unknown": {"{{ .Nodes }}", "{{ .Racks }}", "spec.pods"},
		"a template":              {"name: a}", "name: {{ }", "x.yaml:8: spec.objects: template"},
		"objects that are none":   {"metadata: {name: b}", "metadata: [", "x.yaml:1"},
		"an object without name":  {"metadata: {name: b}", "metadata: {}", "x.yaml:13: spec.objects: Pod has no name"},
		"a foreign namespace":     {"metadata: {name: b}", "metadata: {name: b, namespace: kube-system}", "x.yaml:13: spec.objects: Pod b: the namespace of probes"},
		"a variable":              {"name: a}", "name: '{{ env \"HOME\" }}'}", `x.yaml:8: spec.objects: template: objects:3: function "env" not defined`},
		"a variable in pods":      {"{{ .Nodes }}", "{{ expandenv `$HOME` }}", `spec.pods: template: pods:1: function "expandenv" not defined`},
		"one that grows":          {"metadata: {name: b}", "metadata: {name: b, labels: {a: {{ $s := `x` }}{{ range 40 }}{{ $s = print $s $s }}{{ end }}}}", "x.yaml:9: spec.objects: objects: it takes more than 512 MiB of memory"},
		"a time":                  {"  description", "  timeout: soon\n  description", `x.yaml:6: spec.timeout "soon"`},
		"a criterion":             {"  description", "  criteria: {cloud: eks}\n  description", `x.yaml:6: spec.criteria: there is no "cloud"`},
		"no end":                  {"metadata: {name: b}", "metadata: {name: b, labels: {a: {{ range $i, $e := (printf \"%2000000d\" 1) }}{{ end }}}}", "x.yaml"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if text == good {
			t.Fatalf("%s: the good one has no %q", name, c.from)
		}
		if _, err := parseFile("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func queueOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: map[string]any{"spec": content}}
}

func TestJudgeQueue(t *testing.T) {
	quota := func(quota, limit, weight float64) string {
		return fmt.Sprintf("{parentQueue: top, resources: {gpu: {quota: %g, limit: %g, overQuotaWeight: %g}}}", quota, limit, weight)
	}
	const free = "{resources: {gpu: {quota: -1, limit: -1, overQuotaWeight: 1}}}"
	for name, c := range map[string]struct{ mine, top, want string }{
		"its quota":             {quota(8, 8, 0), free, "queue mine may have 8 GPUs, judged from the Queue objects"},
		"any number":            {quota(-1, -1, 0), free, "queue mine may have 8 GPUs, judged"},
		"over quota":            {quota(0, -1, 1), free, "over the quota of queue mine"},
		"no limit means quota":  {quota(8, 0, 1), free, "queue mine may have 8 GPUs, judged"},
		"no quota":              {quota(0, 0, 1), free, "queue mine: it may have no GPU, and the job needs 8 (gpu quota 0, limit 0"},
		"no weight":             {quota(4, -1, 0), free, "queue mine: it may have 4 GPUs, and the job needs 8"},
		"a limit":               {quota(0, 4, 1), free, "queue mine: it may have 4 GPUs"},
		"the parent's limit":    {quota(-1, -1, 1), "{resources: {gpu: {limit: 2, overQuotaWeight: 1}}}", "queue top: it may have 2 GPUs"},
		"silence":               {"{parentQueue: top}", free, "its spec.resources says nothing about gpu"},
		"no parent":             {free, free, "queue mine has no parent"},
		"a parent that is gone": {"{parentQueue: gone, resources: {gpu: {quota: -1, limit: -1}}}", free, "queue mine: its parent gone does not exist"},
		"a circle":              {quota(-1, -1, 1), "{parentQueue: mine, resources: {gpu: {quota: -1, limit: -1}}}", "its parents lead to each other"},
	} {
		get := func(q string) (*unstructured.Unstructured, error) {
			switch q {
			case "mine":
				return queueOf(t, c.mine), nil
			case "top":
				return queueOf(t, c.top), nil
			}
			return nil, apierrors.NewNotFound(queueGVR.GroupResource(), q)
		}
		said, err := judgeQueue(get, "mine", 8)
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s: got %q, want %q", name, said, c.want)
		}
	}
	if !math.IsInf(queueGPUs{quota: -1, limit: -1}.most(), 1) {
		t.Error("-1 is a number")
	}
}

// A Queue that cannot be read is a failure of the cluster, not of the recipe. A Queue without a GPU
// quota is a failure of the recipe, with the place of the object.
func TestJudgeQueues(t *testing.T) {
	job := pod("a", "g", "")
	job.Labels = map[string]string{queueLabel: "mine"}
	p := &Probe{Name: "x", File: "f", Line: 3}
	judge := func(origin func(result.Ref) *Origin, refused error) (*result.Failure, error) {
		mine := queueOf(t, "{parentQueue: top, resources: {gpu: {quota: 0, limit: 0}}}")
		mine.SetName("mine")
		mine.SetGroupVersionKind(queueGVR.GroupVersion().WithKind("Queue"))
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{queueGVR: "QueueList"}, mine)
		client.PrependReactor("get", "queues", func(clienttesting.Action) (bool, runtime.Object, error) { return refused != nil, nil, refused })
		_, failure, err := (&Run{Clients: &infra.Clients{Dynamic: client}, Origin: origin}).judgeQueues(t.Context(), p, []corev1.Pod{job})
		return failure, err
	}
	none := func(result.Ref) *Origin { return nil }
	failure, err := judge(none, apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
	if failure != nil || reason.Of(err) != reason.ClusterFailed || !strings.Contains(err.Error(), "read queue mine: ") || !strings.Contains(err.Error(), "etcdserver: request timed out") {
		t.Errorf("a read that fails: got %v, %v (%s)", failure, err, reason.Of(err))
	}
	from := func(ref result.Ref) *Origin {
		if ref != (result.Ref{Group: "scheduling.run.ai", Kind: "Queue", Name: "mine"}) {
			t.Errorf("asked for %+v", ref)
		}
		return &Origin{Component: "kai", Place: result.Place{File: "overlays/a.yaml", Line: 7}, Where: "set in kai/templates/q.yaml (component declared in overlays/a.yaml:7)"}
	}
	failure, err = judge(from, nil)
	if err != nil || failure == nil {
		t.Fatalf("no quota: got %v, %v", failure, err)
	}
	f := failure.Findings[0]
	if f.Component != "kai" || f.Place.Line != 7 || f.Object == nil || f.Story[len(f.Story)-1] != "Queue.scheduling.run.ai mine: component kai, set in kai/templates/q.yaml (component declared in overlays/a.yaml:7)" {
		t.Errorf("no quota: got %+v", f)
	}
	if failure, err = judge(none, nil); err != nil || failure == nil || !strings.HasSuffix(strings.Join(failure.Details(), "\n"), "Queue.scheduling.run.ai mine: no chart of the recipe has it.") || failure.Findings[0].Place.File != "f" {
		t.Errorf("a queue of no chart: got %+v, %v", failure, err)
	}
}

func pod(name, node, message string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace}, Spec: corev1.PodSpec{NodeName: node, SchedulerName: "default-scheduler"}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{infra.GPUResource: resource.MustParse("1")}}}}
	if message != "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}
	}
	return p
}

// A pod that ended uses no GPU. A pod on a node without GPUs is a failure. The scheduler's message
// is reported once.
func TestSight(t *testing.T) {
	nodes := []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "g"}}, {ObjectMeta: metav1.ObjectMeta{Name: "s"}}}
	nodes[0].Status.Allocatable = corev1.ResourceList{infra.GPUResource: resource.MustParse("8")}
	ended := pod("e", "g", "")
	ended.Status.Phase = corev1.PodSucceeded
	s := sightOf([]corev1.Pod{pod("a", "g", ""), pod("b", "s", ""), pod("c", "", "0/2 nodes"), pod("d", "", "0/2 nodes"), ended}, nodes)
	if s.placed() != 2 || !s.refused() || s.line(5) != "2 of 5 pods placed, 4 exist" {
		t.Errorf("got %d, %t, %q", s.placed(), s.refused(), s.line(5))
	}
	if words := s.words(); len(words) != 1 || words[0] != "2 pods: Unschedulable: 0/2 nodes" {
		t.Errorf("got %q", words)
	}
	f := s.wrongly(&Probe{Name: "x", File: "f", Line: 3})
	if f == nil || !strings.Contains(f.Cause(), "aicr-probes/b on s") {
		t.Errorf("got %v", f)
	}
	if s := sightOf([]corev1.Pod{pod("a", "", "")}, nodes); s.refused() || !strings.Contains(s.words()[0], "no scheduler has looked at it; it asks for default-scheduler") {
		t.Errorf("got %q", s.words())
	}
}

func TestRun_SchedulerMissing(t *testing.T) {
	p := &Probe{Name: "x", File: "f", Line: 3, Spec: Spec{Scheduler: "kai-scheduler", timeout: defaultTimeout}}
	_, f, err := (&Run{}).place(t.Context(), p, 1)
	if err != nil || f == nil || f.Cause() != "probe x: no scheduler kai-scheduler runs: no component of the recipe installs it" || f.Findings[0].Place.Line != 3 {
		t.Errorf("got %v, %v", f, err)
	}
}

// The failure about pods that cannot be created quotes the controller's error.
func TestRun_PodsNotCreated(t *testing.T) {
	kube := fake.NewClientset(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: Namespace}, Reason: "FailedCreate", InvolvedObject: corev1.ObjectReference{Kind: "StatefulSet", Name: "gang"}, Message: "exceeded quota: gpus"})
	r := &Run{Clients: &infra.Clients{Kube: kube}}
	f := r.notPlaced(t.Context(), &Probe{Name: "x", File: "f", Line: 3}, sightOf(nil, nil), 4, "default-scheduler", nil)
	if want := "probe x: 0 of 4 pods placed, 0 exist: StatefulSet gang: exceeded quota: gpus"; f.Cause() != want {
		t.Errorf("got %q, want %q", f.Cause(), want)
	}
}

// The pods of a TrainJob are its runtime's, with its own resources.
func TestTrainJob_Pods(t *testing.T) {
	parse := func(text string) *unstructured.Unstructured {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		raw, err := json.Marshal(content)
		if err == nil {
			err = o.UnmarshalJSON(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	const head = "apiVersion: trainer.kubeflow.org/v1alpha1\nmetadata: {name: j}\n"
	blueprint := parse(head + `kind: ClusterTrainingRuntime
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
        - {name: load, template: {spec: {template: {spec: {containers: [{name: load, image: x}]}}}}}
        - name: node
          replicas: 1
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: side, image: s}, {name: node, image: x}]}}}
`)
	job := parse(head + "kind: TrainJob\nspec: {trainer: {numNodes: 3, image: mine, resourcesPerNode: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 8}}}}\n")
	pods, err := podsOf(job, blueprint)
	if err != nil || len(pods) != 4 || pods[0].Name != "j-load-0" || pods[3].Name != "j-node-2" || infra.PodGPUs(&pods[3]) != 8 || infra.PodGPUs(&pods[0]) != 0 || pods[3].Spec.Containers[1].Image != "mine" {
		t.Errorf("got %+v, %v", pods, err)
	}
	if _, err := podsOf(job, parse(head+"kind: ClusterTrainingRuntime\nspec: {}\n")); err == nil || !strings.Contains(err.Error(), "has no replicatedJobs") {
		t.Errorf("an empty runtime: got %v", err)
	}
}
