package probe

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// trainJob is a probe with a TrainJob, whose lines after spec these are.
func trainJob(t *testing.T, lines string) (*Probe, rendered) {
	t.Helper()
	p, err := parseFile("f.yaml", []byte(`apiVersion: aicr.nvidia.com/v1alpha1
kind: Probe
metadata: {name: x}
spec:
  description: a TrainJob
  pods: "1"
  objects: |
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata: {name: j}
    spec:
      runtimeRef: {name: blueprint}
`+lines))
	if err != nil {
		t.Fatal(err)
	}
	objects, _, err := p.renderOnce(t.Context(), Values{Namespace: Namespace})
	if err != nil {
		t.Fatal(err)
	}
	return p, objects[0]
}

var (
	trainJobs = schema.GroupVersionResource{Group: trainerGroup, Version: "v1alpha1", Resource: "trainjobs"}
	runtimes  = schema.GroupVersionResource{Group: trainerGroup, Version: "v1alpha1", Resource: "clustertrainingruntimes"}
)

// realRun is a run whose TrainJobs a controller reconciles, in a cluster that has these objects.
func realRun(have ...runtime.Object) (*Run, *dynamicfake.FakeDynamicClient) {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{trainJobs: "TrainJobList", runtimes: "ClusterTrainingRuntimeList"}, have...)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(trainJobs.GroupVersion().WithKind("TrainJob"), meta.RESTScopeNamespace)
	return &Run{Clients: &infra.Clients{Dynamic: client, Kube: fake.NewClientset()}, mapper: mapper, Made: map[string]string{trainerGroup: "Trainer v9 (the real one)"}}, client
}

func trainingRuntime(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: blueprint}
spec: {template: {spec: {replicatedJobs: [
  {name: load, template: {spec: {template: {spec: {containers: [{name: load}]}}}}},
  {name: node, template: {spec: {template: {spec: {tolerations: [{key: gpu, operator: Exists}], containers: [{name: node}]}}}}}]}}}
`))
	o := &unstructured.Unstructured{}
	if err == nil {
		err = o.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The pods of a real TrainJob tolerate what they would without the run, and the taint of simulated
// nodes; the result says so. One whose runtime does not exist is left to Trainer.
func TestTolerate(t *testing.T) {
	for name, tt := range map[string]struct {
		lines string
		want  []string // the overrides
	}{
		"by the runtime": {"", []string{
			`{"spec":{"tolerations":[{"key":"kwok.x-k8s.io/node","operator":"Exists"}]},"targetJobs":[{"name":"load"}]}`,
			`{"spec":{"tolerations":[{"key":"gpu","operator":"Exists"},{"key":"kwok.x-k8s.io/node","operator":"Exists"}]},"targetJobs":[{"name":"node"}]}`,
		}},
		"by the TrainJob": {"      podTemplateOverrides: [{targetJobs: [{name: node}], spec: {tolerations: [{key: mine}]}}]\n", []string{
			`{"spec":{"tolerations":[{"key":"mine"}]},"targetJobs":[{"name":"node"}]}`,
			`{"spec":{"tolerations":[{"key":"kwok.x-k8s.io/node","operator":"Exists"}]},"targetJobs":[{"name":"load"}]}`,
			`{"spec":{"tolerations":[{"key":"mine"},{"key":"kwok.x-k8s.io/node","operator":"Exists"}]},"targetJobs":[{"name":"node"}]}`,
		}},
	} {
		p, o := trainJob(t, "    "+strings.TrimPrefix(tt.lines, "    ")+"\n")
		r, _ := realRun(trainingRuntime(t))
		if err := r.tolerate(t.Context(), p, o); err != nil {
			t.Fatal(err)
		}
		overrides, _, _ := unstructured.NestedSlice(o.object.Object, "spec", "podTemplateOverrides")
		var got []string
		for _, one := range overrides {
			raw, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(raw))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if said := r.Overrides(); len(said) != 1 || said[0] != "probe x: TrainJob j: podTemplateOverrides add a toleration of kwok.x-k8s.io/node, the taint of simulated nodes" {
			t.Errorf("%s: got the overrides %q", name, said)
		}
	}
	p, o := trainJob(t, "")
	r, _ := realRun()
	if err := r.tolerate(t.Context(), p, o); err != nil || len(r.Overrides()) > 0 {
		t.Errorf("no runtime: got %v, %q", err, r.Overrides())
	}
	r, client := realRun(trainingRuntime(t))
	client.PrependReactor("get", "clustertrainingruntimes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	})
	if err := r.tolerate(t.Context(), p, o); reason.Of(err) != reason.ClusterFailed {
		t.Errorf("a runtime that cannot be read: got %v", err)
	}
	r.Made = nil
	if err := r.tolerate(t.Context(), p, o); err != nil {
		t.Errorf("what is played was touched: %v", err)
	}
}

// What a webhook rejects is the job's fault, with its words and the line. A webhook that gives no
// answer is asked again, and is no fault of the recipe.
func TestCreateThroughWebhooks(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		class  reason.Reason
		said   string
	}{
		"rejected":  {apierrors.NewForbidden(trainJobs.GroupResource(), "j", errors.New(`"blueprint" not found`)), "", `probe x: TrainJob aicr-probes/j: the API server rejects it: trainjobs.trainer.kubeflow.org "j" is forbidden: "blueprint" not found`},
		"no answer": {apierrors.NewInternalError(errors.New("failed calling webhook: connection refused")), reason.SchedulerFailed, "the webhooks of Trainer v9 (the real one): Internal error occurred: failed calling webhook"},
	} {
		p, o := trainJob(t, "")
		r, client := realRun(trainingRuntime(t))
		asked := 0
		client.PrependReactor("create", "trainjobs", func(clienttesting.Action) (bool, runtime.Object, error) { asked++; return true, nil, tt.answer })
		p.Spec.timeout = time.Second
		_, failure, err := r.run(t.Context(), p)
		if (asked > 1) != (tt.class != "") {
			t.Errorf("%s: asked %d times", name, asked)
		}
		switch {
		case tt.class != "":
			if failure != nil || reason.Of(err) != tt.class || !strings.Contains(err.Error(), tt.said) {
				t.Errorf("%s: got %v, %v", name, failure, err)
			}
		case err != nil || failure == nil || failure.Cause() != tt.said || failure.Findings[0].Place.Line != o.line:
			t.Errorf("%s: got %+v, %v", name, failure, err)
		}
	}
}

// Of a TrainJob that a controller reconciles, no pod is made here.
func TestRun_RealControllers(t *testing.T) {
	p, _ := trainJob(t, "")
	p.Spec.timeout = 1
	r, _ := realRun(trainingRuntime(t))
	_, failure, err := r.run(t.Context(), p)
	if err != nil || failure == nil || !strings.Contains(failure.Cause(), "0 of 1 pod placed, 0 exist") {
		t.Errorf("got %v, %v", failure, err)
	}
	p, _ = trainJob(t, "")
	p.Spec.timeout = 1
	made := trainingRuntime(t)
	r, _ = realRun(made)
	r.Made = nil
	if _, failure, _ = r.run(t.Context(), p); failure == nil || strings.Contains(failure.Cause(), "0 exist") {
		t.Errorf("without a controller: got %v", failure)
	}
}

// A slow controller is no failure before the probe's time is over: that no pod is there says
// nothing while it works. A pod that the scheduler refuses does.
func TestStuck(t *testing.T) {
	none, refused := sightOf(nil, nil), sightOf([]corev1.Pod{pod("a", "", "0/2 nodes")}, nil)
	for name, got := range map[string]bool{
		"no pod, nobody runs": none.stuck(stuckAfter+1, false), "refused, a controller runs": refused.stuck(stuckAfter+1, true), "refused, nobody runs": refused.stuck(stuckAfter+1, false),
	} {
		if !got {
			t.Errorf("%s: it would wait for nothing", name)
		}
	}
	if none.stuck(stuckAfter+1, true) || refused.stuck(stuckAfter, true) {
		t.Error("a controller has no time for its pods, or the scheduler none")
	}
	p, _ := trainJob(t, "")
	r, _ := realRun()
	if !r.real(p) {
		t.Error("its controller runs")
	}
	r.Made = map[string]string{"jobset.x-k8s.io": "JobSet"}
	if r.real(p) {
		t.Error("its controller does not run")
	}
}

// Complaints of a running controller are reported.
func TestComplaints(t *testing.T) {
	p, _ := trainJob(t, "")
	r, _ := realRun()
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: Namespace}, Type: corev1.EventTypeWarning, Reason: "TrainJobResourcesCreationFailed", InvolvedObject: corev1.ObjectReference{Kind: "TrainJob", Name: "j"}, Message: "no JobSet"}
	kube := fake.NewClientset(event)
	selected := ""
	kube.PrependReactor("list", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		selected = a.(clienttesting.ListAction).GetListRestrictions().Fields.String() // which the fake one ignores
		return false, nil, nil
	})
	r.Clients.Kube = kube
	if said := r.refusals(t.Context(), p); !slices.Equal(said, []string{"TrainJob j: no JobSet"}) || selected != "type=Warning" {
		t.Errorf("got %q, of the events with %s", said, selected)
	}
}

// The owners of the pods show which controllers created them. Exclusive placement is an error.
func TestChain(t *testing.T) {
	p, _ := trainJob(t, "")
	r, _ := realRun()
	yes := true
	one := pod("a", "g", "")
	one.Labels = map[string]string{jobSetName: "j"}
	one.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j-node-0", Controller: &yes}}
	if got := r.chain(p, []corev1.Pod{one, one}); !slices.Equal(got, []string{"made by Trainer v9 (the real one): Job j-node-0 of JobSet j"}) {
		t.Errorf("got %q", got)
	}
	if err := exclusive(p, []corev1.Pod{one}); err != nil {
		t.Errorf("got %v", err)
	}
	one.Annotations = map[string]string{exclusiveTopology: "rack"}
	if err := exclusive(p, []corev1.Pod{one}); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "pod a asks for exclusive placement") {
		t.Errorf("got %v", err)
	}
	r.Made = nil
	if got := r.chain(p, []corev1.Pod{one}); got != nil {
		t.Errorf("nobody runs: got %q", got)
	}
}

// What controllers made goes with the jobs: JobSets before their Jobs, which they would make again.
// Without controllers nothing but the probe's objects is removed.
func TestRemoveMade(t *testing.T) {
	r, client := realRun()
	if err := r.removeMade(t.Context()); err != nil {
		t.Fatal(err)
	}
	var removed []string
	for _, a := range client.Actions() {
		removed = append(removed, a.GetVerb()+" "+a.GetNamespace()+" "+a.GetResource().Resource)
	}
	if want := []string{"delete-collection aicr-probes jobsets", "delete-collection aicr-probes jobs"}; !slices.Equal(removed, want) {
		t.Errorf("got %q, want %q", removed, want)
	}
	client.PrependReactor("delete-collection", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	})
	if err := r.removeMade(t.Context()); reason.Of(err) != reason.ClusterFailed {
		t.Errorf("got %v", err)
	}
	r.Made = nil
	if client.ClearActions(); r.removeMade(t.Context()) != nil || len(client.Actions()) > 0 {
		t.Errorf("nobody runs: got %v", client.Actions())
	}
}
