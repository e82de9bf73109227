package main

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/embeddedtest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// insideWorkflow makes a virtual node and has two pods of a job run on it, to their end.
//
//go:embed testdata/objects/inside_workflow.yaml
var insideWorkflow string

//go:embed testdata/objects/inside_job.yaml
var insideJob string

// TestWorkflowManifest_InCluster: the Job of `matrix workflow manifest` runs this program in a pod, with
// its own ServiceAccount; and says so when that may not do what the workflow needs.
func TestWorkflowManifest_InCluster(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	if !sandbox.CanBind() {
		testskip.Missing(t, "a pod's token is at its fixed path only for root on Linux with overlays")
	}
	const image = "registry.example.com/matrix:1"
	p := newProgram(t, buildProgram(t), paths)
	capacity := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110")}
	c, dir := embeddedtest.Start(t, &embedded.Platform{Programs: []infra.Program{{Image: image, Path: p.bin}}}, []*corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "real", Labels: map[string]string{corev1.LabelHostname: "real"}, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}})
	work := t.TempDir()
	if err := os.Mkdir(filepath.Join(work, "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"inside.yaml": insideWorkflow, "templates/job.yaml": insideJob} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ended := func(name string) (*batchv1.Job, string) {
		t.Helper()
		got := p.run(t, time.Minute, nil, "workflow", "manifest", "--image", image, "--job-name", name, filepath.Join(work, "inside.yaml"))
		got.want(t, 0)
		text := got.stdout.String()
		if name == "less" { // as its administrator might bind it
			text = strings.Replace(text, "name: cluster-admin", "name: view", 1)
		}
		objects, err := infra.DecodeObjects([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		mapper, err := c.Clients().Mapper()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
			if err != nil {
				t.Fatal(err)
			}
			if mapping.Scope.Name() == meta.RESTScopeNameNamespace && o.GetNamespace() == "" {
				o.SetNamespace("default")
			}
			if err := c.Clients().Apply(t.Context(), mapping.Resource, o); err != nil {
				t.Fatal(err)
			}
		}
		var job *batchv1.Job
		testkit.Eventually(t, "the Job "+name+" to end", 2*time.Minute, func() wait.Result {
			var err error
			job, err = c.Clients().Kube.BatchV1().Jobs("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || job.Status.Succeeded+job.Status.Failed == 0 {
				return wait.NotYet("%v %+v", err, job)
			}
			return wait.Done()
		})
		logs, err := filepath.Glob(filepath.Join(dir, "logs", "pod-default-"+name+"-*.log"))
		if err != nil || len(logs) != 1 {
			t.Fatalf("the logs of Job %s: %q, %v", name, logs, err)
		}
		log, err := os.ReadFile(logs[0])
		if err != nil {
			t.Fatal(err)
		}
		return job, string(log)
	}
	if job, log := ended("less"); job.Status.Failed != 1 || !strings.Contains(log, "ask for a ClusterRole that may get, list and watch nodes and pods") || !strings.Contains(log, `cannot list resource "nodes"`) {
		t.Errorf("with the role view: got %+v\n%s", job.Status, log)
	}
	job, log := ended("whole")
	if job.Status.Succeeded != 1 {
		t.Errorf("got %+v", job.Status)
	}
	testkit.WantText(t, "the Job's log", log, "inside")
	pods, err := c.Clients().Kube.CoreV1().Pods("lab").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 2 || pods.Items[0].Spec.NodeName == "real" || pods.Items[0].Status.Phase != corev1.PodSucceeded {
		t.Errorf("the pods that the workflow made: %v, %+v", err, pods)
	}
}
