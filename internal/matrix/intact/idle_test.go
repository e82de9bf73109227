package intact

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What has no pod yet is tried with the pod that its template makes, as the account that would make it.
func TestIdle(t *testing.T) {
	const template = "template: {metadata: {labels: {app: w}}, spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}"
	object := func(api, kind, spec string) bundle.Object {
		return bundle.Object{Object: testkit.Parsed(t, "{apiVersion: "+api+", kind: "+kind+", metadata: {name: w, namespace: ns}, spec: {"+spec+"}}")}
	}
	for _, c := range []struct {
		kind, as string
		replicas int
		object   bundle.Object
	}{
		{"CronJob", "job-controller", 1, object("batch/v1", "CronJob", "jobTemplate: {spec: {"+template+"}}")},
		{"Job", "job-controller", 0, object("batch/v1", "Job", template)},
		{"Deployment", "replicaset-controller", 0, object("apps/v1", "Deployment", template)},
		{"Deployment", "", 1, object("apps/v1", "Deployment", template)},
		{"DaemonSet", "", -1, object("apps/v1", "DaemonSet", template)},
	} {
		e := &bundle.Expectation{Objects: []bundle.Object{c.object}, Workloads: []bundle.Workload{{Component: "c", Kind: c.kind, Namespace: "ns", Name: "w", Replicas: c.replicas}}}
		got := idle(e)
		if c.as == "" {
			if len(got) > 0 {
				t.Errorf("%s of %d pods: got %+v, want nothing to try", c.kind, c.replicas, got)
			}
			continue
		}
		if len(got) != 1 || got[0].as != c.as {
			t.Fatalf("%s: got %+v, want one pod, made by %s", c.kind, got, c.as)
		}
		kube := fake.NewClientset()
		pod, err := got[0].create(t.Context(), kube)
		if err != nil || pod.Labels["app"] != "w" || pod.Spec.Containers[0].Image != "a" || metav1.GetControllerOf(pod).Kind != c.kind {
			t.Errorf("%s: got %+v and %v, want the pod of its template", c.kind, pod, err)
		}
		f := deniedFinding(e, got[0], "no")
		testkit.WantText(t, "finding", f.Cause, c.kind+" ns/w (c): the API server would reject its pods: no")
	}
}

// A pod that alone asks for more than a quota allows never fits, and one more of many may. A LimitRange fills in
// limits below what a container requests.
func TestReasonOf_FirstPod(t *testing.T) {
	for text, want := range map[string]bool{
		"exceeded quota: q, requested: requests.cpu=4, used: requests.cpu=0, limited: requests.cpu=1":             true,
		"exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=500m, limited: requests.cpu=1":          false,
		`spec.containers[0].resources.requests: Invalid value: "4": must be less than or equal to cpu limit of 1`: true,
	} {
		if got := reasonOf(fmt.Errorf("pods \"w\" is forbidden: %s", text)) != ""; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
