package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// TestWorkflows runs workflows on one cluster: the shipped ones on a cluster of the run's own,
// which stays, and what else can happen on that.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	t.Cleanup(func() {
		for _, c := range clustersOf(t, p) {
			p.run(t, time.Minute, nil, "cluster", "down", "--name", c.Name)
		}
	})
	out := t.TempDir()

	pr := p.run(t, 10*time.Minute, nil, "workflow", "run", "../../workflows/nodes.yaml", "../../workflows/jobs.yaml", "--keep", "-o", "json",
		"--stages", "pod-container-running-failed,pod-init-container-running-failed",
		"--html", filepath.Join(out, "page.html"), "--junit", filepath.Join(out, "junit.xml"), "--ctrf", filepath.Join(out, "ctrf.json"))
	pr.want(t, 0)
	var r workflow.Result
	if err := json.Unmarshal([]byte(pr.stdout.String()), &r); err != nil {
		t.Fatalf("%v in\n%s", err, pr.stdout)
	}
	jobs := r.Workflows[1].Placement
	if !r.Passed || jobs.Pods != 12 || jobs.Placed != 12 || jobs.Gangs.Jobs != 3 || jobs.Gangs.Whole != 3 || jobs.PeakOccupancy != 100 || len(jobs.Nodes) != 8 || len(jobs.Domains) != 3 {
		t.Errorf("got %+v", jobs)
	}
	// The third job waits for one of the first two, which run for 5 s after their last pod has
	// started.
	if third := jobs.Jobs[2]; third.Name != "job3" || third.Wanted != 4 || third.GPUs != 32 || third.Spines != 1 || third.Distance < 0 {
		t.Errorf("the third job: got %+v", third)
	}
	for file, want := range map[string]string{"page.html": "virtual-dgxh100.80g-7", "junit.xml": `name="placement.occupancy.peakPercent" value="100"`, "ctrf.json": `"placement"`} {
		raw, err := os.ReadFile(filepath.Join(out, file))
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, file, string(raw), want)
	}

	kept := clustersOf(t, p)
	if len(kept) != 1 || kept[0].Name != r.Cluster {
		t.Fatalf("got the clusters %v, want %s", kept, r.Cluster)
	}
	on, kubeconfig := []string{"--name", kept[0].Name}, filepath.Join(paths.Clusters(), kept[0].Name, "kubeconfig.yaml")
	clients, err := infra.NewClients(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	node := func(name string) (*corev1.Node, error) {
		return clients.Kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	}
	run := func(file string, code int, flags []string, parts ...string) {
		t.Helper()
		p.run(t, 10*time.Minute, nil, append([]string{"workflow", "run", filepath.Join("testdata", "workflows", file)}, flags...)...).want(t, code, parts...)
	}

	run("every-task.yaml", 0, on, "every-task", "17 of 17")
	two, err := node("virtual-two-gpus-0")
	if err != nil {
		t.Fatal(err)
	}
	gpus := two.Status.Allocatable["nvidia.com/gpu"]
	if gpus.Value() != 1 || !two.Spec.Unschedulable || two.Labels["rack"] != "r2" || two.Annotations["example.com/owner"] != "lab" {
		t.Errorf("UpdateNodes left %+v, %+v", two.ObjectMeta, two.Status.Allocatable)
	}
	deadlock := false
	for _, c := range two.Status.Conditions {
		deadlock = deadlock || c.Type == "KernelDeadlock" && c.Status == corev1.ConditionFalse && c.Reason == "KernelHasNoDeadlock"
	}
	if !deadlock || !infra.NodeReady(two) {
		t.Errorf("got the conditions %+v", two.Status.Conditions)
	}

	run("too-large.yaml", 63, append(on, "--cleanup"), "too-large.yaml:14: task runs (CheckPod): waited 3s for 1 pods of large to be Running: 0 of 1; lab/large1 is Pending: 0/", "Insufficient nvidia.com/gpu", "WORKFLOW_FAILED")
	if _, err := node("virtual-dgxa100.40g-0"); !apierrors.IsNotFound(err) {
		t.Errorf("--cleanup left the run's node: %v", err)
	}
	if _, err := node("virtual-dgxh100.80g-0"); err != nil {
		t.Errorf("--cleanup removed what was there before: %v", err)
	}

	// The schedulers in this program's own cluster are known. For the cluster of a kubeconfig it is
	// only known that no scheduler has handled the pod.
	run("other-scheduler.yaml", 64, on, `task other (SubmitObj): its objects ask for the scheduler "volcano", which does not run in this cluster; there are: default-scheduler`)
	run("other-scheduler.yaml", 64, []string{"--kubeconfig", kubeconfig, "--cleanup"}, "task runs (CheckPod)", `no scheduler has looked at it. It asks for "volcano"`)
	run("pause.yaml", 63, on, "task look (Pause): waiting for Enter: standard input is closed")

	made := p.run(t, 5*time.Minute, nil, "nodes", "--from", "../../charts/virtual-nodes/values-example.yaml", "--name", kept[0].Name)
	made.want(t, 0)
	if lines := strings.Fields(made.stdout.String()); len(lines) != 6 || lines[4] != "node/virtual-cpu.large-0" {
		t.Errorf("nodes --from: got %q", lines)
	}
	if n, err := node("virtual-dgxh100.80g-0"); err != nil || n.Labels["network.topology.nvidia.com/block"] != "rack-1" {
		t.Errorf("nodes --from: got %v, %v", n, err)
	}
}
