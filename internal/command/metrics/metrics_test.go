package metrics

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/workflow"
)

func gpus(n int) corev1.ResourceList {
	return corev1.ResourceList{infra.GPUResource: *resource.NewQuantity(int64(n), resource.DecimalSI)}
}

func node(name, block string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"network.topology.nvidia.com/block": block}},
		Status:     corev1.NodeStatus{Allocatable: gpus(8), Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

func pod(name, on string, n int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: on, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: gpus(n)}}}}}
}

// follow is a registry with everything that a run of either kind can serve, of a cluster with these
// objects.
func follow(t *testing.T, objects ...runtime.Object) (*prometheus.Registry, *metricsPlacement, *fake.Clientset) {
	t.Helper()
	kube := fake.NewClientset(objects...)
	watches := observe.NewWatches(t.Context(), kube)
	t.Cleanup(watches.Stop)
	o, err := placement.Watch(t.Context(), watches)
	if err != nil {
		t.Fatal(err)
	}
	p, registry := newPlacement(), prometheus.NewRegistry()
	jobs := []placement.Submitted{{Name: "a", Namespace: "lab", PodName: regexp.MustCompile("^a-.*$"), Wanted: 2}, {Name: "b", Namespace: "lab", PodName: regexp.MustCompile("^b-.*$"), Wanted: 2}}
	p.Watch("workflows", o, func() []placement.Submitted { return jobs }, placement.DefaultTopology())
	registry.MustRegister(p)
	cells := newCells(3, []result.Result{{Verdict: result.Verdict{Status: result.Skipped}}})
	cells.Register(registry)
	cells.Tell(matrix.Event{Kind: matrix.StepBegin, Cell: result.Cell{Recipe: "a", Deployer: "helm"}})
	cells.Tell(matrix.Event{Kind: matrix.StepEnd, Cell: result.Cell{Recipe: "a", Deployer: "helm"}, Step: "sync", Duration: time.Second})
	tasks := newTasks(&workflow.Plan{Workflows: []*workflow.Workflow{{Tasks: []*workflow.Task{{Type: workflow.Sleep}, {Type: workflow.Sleep}}}}})
	tasks.Register(registry)
	tasks.Tell(workflow.TaskEvent{Type: workflow.Sleep})
	tasks.Tell(workflow.TaskEvent{Type: workflow.Sleep, Status: result.StepPassed, Duration: time.Second})
	return registry, p, kube
}

// seen waits until the metrics contain want, since the watch is behind the API server.
func seen(t *testing.T, registry *prometheus.Registry, want string, names ...string) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err == nil {
			return
		}
	}
	t.Error(err)
}

// A whole job of two pods in two blocks, a half placed one whose other pod fits nowhere, and a pod
// that was there before.
func TestPlacement(t *testing.T) {
	registry, p, kube := follow(t, node("n0", "b0"), node("n1", "b1"), pod("before", "n0", 0))
	for _, one := range []*corev1.Pod{pod("a-0", "n0", 4), pod("a-1", "n1", 4), pod("b-0", "n0", 4), pod("b-1", "", 8)} {
		if _, err := kube.CoreV1().Pods("lab").Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const want = `
# HELP aicr_placement_domain_pods Pods that hold a node of a topology domain.
# TYPE aicr_placement_domain_pods gauge
aicr_placement_domain_pods{domain="b0",kind="block",scope="workflows"} 3
aicr_placement_domain_pods{domain="b1",kind="block",scope="workflows"} 1
# HELP aicr_placement_gangs Jobs of several pods of which every pod got a node (whole), some did (half) or none did (none).
# TYPE aicr_placement_gangs gauge
aicr_placement_gangs{placed="half",scope="workflows"} 1
aicr_placement_gangs{placed="none",scope="workflows"} 0
aicr_placement_gangs{placed="whole",scope="workflows"} 1
# HELP aicr_placement_gpus_taken GPUs that pods hold.
# TYPE aicr_placement_gpus_taken gauge
aicr_placement_gpus_taken{scope="workflows"} 12
# HELP aicr_placement_gpus_useless GPUs that are free on a node with fewer free ones than any waiting pod needs (fragmentation).
# TYPE aicr_placement_gpus_useless gauge
aicr_placement_gpus_useless{scope="workflows"} 4
# HELP aicr_placement_job_distance Mean distance of the pods of jobs that were placed as a whole: 0 on one node, 1 in one block, 2 under one spine, 3 otherwise.
# TYPE aicr_placement_job_distance histogram
aicr_placement_job_distance_bucket{scope="workflows",le="0"} 0
aicr_placement_job_distance_bucket{scope="workflows",le="1"} 0
aicr_placement_job_distance_bucket{scope="workflows",le="2"} 0
aicr_placement_job_distance_bucket{scope="workflows",le="3"} 1
aicr_placement_job_distance_bucket{scope="workflows",le="+Inf"} 1
aicr_placement_job_distance_sum{scope="workflows"} 3
aicr_placement_job_distance_count{scope="workflows"} 1
# HELP aicr_placement_node_pods Pods that hold a node. Only of clusters with at most 256 nodes.
# TYPE aicr_placement_node_pods gauge
aicr_placement_node_pods{node="n0",scope="workflows"} 3
aicr_placement_node_pods{node="n1",scope="workflows"} 1
# HELP aicr_placement_pods Pods that hold a node (placed) or have none (waiting).
# TYPE aicr_placement_pods gauge
aicr_placement_pods{scope="workflows",state="placed"} 4
aicr_placement_pods{scope="workflows",state="waiting"} 1
`
	names := []string{"aicr_placement_domain_pods", "aicr_placement_gangs", "aicr_placement_gpus_taken", "aicr_placement_gpus_useless", "aicr_placement_job_distance", "aicr_placement_node_pods", "aicr_placement_pods"}
	seen(t, registry, want, names...)
	wait := func() (count uint64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "aicr_placement_time_to_schedule_seconds" {
				count = f.GetMetric()[0].GetHistogram().GetSampleCount()
			}
		}
		return count
	}
	if n := wait(); n != 3 {
		t.Errorf("time to schedule: got %d pods, want the 3 that were placed since the watch began", n)
	}
	// After the end of the cluster, only counters are left.
	p.End("workflows")
	if err := testutil.GatherAndCompare(registry, strings.NewReader(""), "aicr_placement_pods", "aicr_placement_node_pods", "aicr_placement_gpus"); err != nil {
		t.Error(err)
	}
	if n := wait(); n != 3 {
		t.Errorf("after the end: got %d pods, want 3", n)
	}
}

// A cluster with many nodes has no series for each.
func TestManyNodes(t *testing.T) {
	var objects []runtime.Object
	for i := range mostNodes + 1 {
		objects = append(objects, node(fmt.Sprintf("n%d", i), "b0"))
	}
	registry, _, _ := follow(t, objects...)
	if n, err := testutil.GatherAndCount(registry, "aicr_placement_node_gpus", "aicr_placement_node_pods", "aicr_placement_node_gpus_taken"); n != 0 || err != nil {
		t.Errorf("got %d series, %v", n, err)
	}
	seen(t, registry, fmt.Sprintf("# HELP aicr_placement_nodes Nodes that have GPUs or pods.\n# TYPE aicr_placement_nodes gauge\naicr_placement_nodes{scope=\"workflows\"} %d\n", mostNodes+1), "aicr_placement_nodes")
}

func TestCells(t *testing.T) {
	one, two := result.Cell{Recipe: "a", Deployer: "helm"}, result.Cell{Recipe: "a", Deployer: "flux-oci"}
	registry := prometheus.NewRegistry()
	c := newCells(3, []result.Result{{Verdict: result.Verdict{Status: result.Reused}}})
	c.Register(registry)
	status := func(list ...string) {
		t.Helper()
		want := map[string]string{"waiting": "0", "running": "0", "passed": "0", "reused": "1", "failed": "0", "timeout": "0", "infrastructure": "0", "interrupted": "0", "skipped": "0", "not run": "0"}
		for _, pair := range list {
			name, n, _ := strings.Cut(pair, "=")
			want[name] = n
		}
		text := "# HELP aicr_cells Cells of the run: waiting, running, or their verdict's status. A cell that passed may become red when the lanes of its recipe are compared.\n# TYPE aicr_cells gauge\n"
		for name, n := range want {
			text += fmt.Sprintf("aicr_cells{status=%q} %s\n", name, n)
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(text), "aicr_cells"); err != nil {
			t.Error(err)
		}
	}
	status("waiting=3")
	c.Tell(matrix.Event{Kind: matrix.StepBegin, Cell: one})
	c.Tell(matrix.Event{Kind: matrix.StepBegin, Cell: one})
	status("waiting=2", "running=1")
	c.Tell(matrix.Event{Kind: matrix.CellEnd, Cell: one, Result: &result.Result{Cell: one, Verdict: result.Verdict{Status: result.Passed}}})
	status("waiting=2", "passed=1")
	// A cell that never starts, and the comparison of lanes.
	c.Tell(matrix.Event{Kind: matrix.CellEnd, Cell: two, Result: &result.Result{Cell: two, Verdict: result.Verdict{Status: result.NotRun}}})
	c.Results([]result.Result{{Cell: one, Verdict: result.Verdict{Status: result.Failed}}, {Cell: result.Cell{Recipe: "b"}, Verdict: result.Verdict{Status: result.NotRun}}})
	status("waiting=1", "failed=1", "not run=1")
}

// Prometheus' own rules for names, units and help.
func TestLint(t *testing.T) {
	registry, _, _ := follow(t, node("n0", "b0"), pod("a-0", "n0", 4), pod("a-1", "n0", 4))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every metric is in the document, and the document has no others.
func TestDocument(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(aicr_[a-z_]+)`").FindAllStringSubmatch(string(raw), -1) {
		documented[m[1]] = true
	}
	served := map[string]bool{}
	for _, f := range gather(t) {
		if served[f.GetName()] = true; !documented[f.GetName()] {
			t.Errorf("docs/workflows.md lacks %s", f.GetName())
		}
	}
	for name := range documented {
		if !served[name] {
			t.Errorf("docs/workflows.md has %s, which is not served", name)
		}
	}
}

func TestListen(t *testing.T) {
	registry, _, _ := follow(t, node("n0", "b0"))
	s, err := metricsListen("0", registry)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Errorf("a port alone: got %s, want the loopback address", s.URL())
	}
	response, err := http.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.Body.Close() != nil || !strings.Contains(string(body), "aicr_placement_gpus{scope=\"workflows\"} 8") {
		t.Errorf("got %v, %s", err, body)
	}
	_, port, err := net.SplitHostPort(s.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := metricsListen(":"+port, registry); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "another program listens on 127.0.0.1:"+port) {
		t.Errorf("an address in use: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.URL()); err == nil {
		t.Error("it is served after its end")
	}
	for _, address := range []string{"localhost:", "a:b:c", "127.0.0.1:99999", "nine"} {
		if _, err := metricsListen(address, registry); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "--metrics") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}
