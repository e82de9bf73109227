package placement

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
)

// story feeds an observer with what a watch would have seen, at seconds since the start.
type story struct {
	o     *Observer
	start time.Time
	at    float64
}

func newStory() *story {
	s := &story{o: newObserver(), start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.o.now = func() time.Time { return s.start.Add(time.Duration(s.at * float64(time.Second))) }
	return s
}

func (s *story) node(at float64, name string, gpus int, labels map[string]string) {
	s.at = at
	s.o.seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{infra.GPUResource: *resource.NewQuantity(int64(gpus), resource.DecimalSI)},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}})
}

func (s *story) pod(at float64, name string, gpus int, node string, phase corev1.PodPhase) {
	s.at = at
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{infra.GPUResource: *resource.NewQuantity(int64(gpus), resource.DecimalSI)}},
	}}}, Status: corev1.PodStatus{Phase: phase}}
	if node == "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/2 nodes are available"}}
	}
	s.o.seen(p)
}

func (s *story) compute(seconds float64, jobs ...Submitted) *Result {
	return s.o.Compute(s.start, s.start.Add(time.Duration(seconds*float64(time.Second))), jobs, DefaultTopology())
}

func submitted(name string, wanted int) Submitted {
	return Submitted{Name: name, Namespace: "default", Task: "submit", PodName: regexp.MustCompile("^(?:" + name + "-.*)$"), Wanted: wanted}
}

func in(block, spine string) map[string]string {
	return map[string]string{"network.topology.nvidia.com/block": block, "network.topology.kubernetes.io/spine": spine}
}

// Two nodes with 8 GPUs; one job of two pods is placed as a whole, one gets half of its pods.
func TestCompute(t *testing.T) {
	s := newStory()
	s.node(0, "n0", 8, in("b0", "s0"))
	s.node(0, "n1", 8, in("b1", "s0"))
	s.pod(1, "a-0", 4, "", corev1.PodPending)
	s.pod(1, "a-1", 4, "", corev1.PodPending)
	s.pod(1.5, "a-0", 4, "n0", corev1.PodPending)
	s.pod(2, "a-1", 4, "n1", corev1.PodRunning)
	s.pod(3, "b-0", 4, "", corev1.PodPending)
	s.pod(3, "b-1", 8, "", corev1.PodPending) // 4 GPUs are free on each node, or on one
	s.pod(4, "b-0", 4, "n0", corev1.PodRunning)
	s.pod(5, "other", 0, "n0", corev1.PodRunning)
	s.pod(6, "a-0", 4, "n0", corev1.PodSucceeded)
	s.pod(6, "a-1", 4, "n1", corev1.PodSucceeded)
	r := s.compute(11, submitted("a", 2), submitted("b", 2))

	if r.Pods != 4 || r.Placed != 3 || r.OtherPods != 1 {
		t.Errorf("got %d pods, %d placed, %d others; want 4, 3, 1", r.Pods, r.Placed, r.OtherPods)
	}
	if want := (Spread{Median: 1000, P90: 1000, Max: 1000, PerSecond: 1}); r.TimeToSchedule != want {
		t.Errorf("time to schedule: got %+v, want %+v", r.TimeToSchedule, want)
	}
	if want := (Gang{Jobs: 2, Whole: 1, Half: 1, LongestHalf: 7000}); r.Gangs != want {
		t.Errorf("gangs: got %+v, want %+v", r.Gangs, want)
	}
	a, b := r.Jobs[0], r.Jobs[1]
	if a.Scheduled != 1000 || a.HalfPlaced != 500 || a.Blocks != 2 || a.Spines != 1 || a.Distance != 2 {
		t.Errorf("job a: got %+v", a)
	}
	if b.Scheduled != -1 || b.HalfPlaced != 7000 || b.Distance != -1 || b.Waiting != "0/2 nodes are available" {
		t.Errorf("job b: got %+v", b)
	}
	// From 1 s on: 4 taken from 1.5 s, 8 from 2 s, 12 from 4 s, 4 from 6 s, in 16 GPUs over 10 s.
	if want := percent(4*0.5+8*2+12*2+4*5, 16*10); r.MeanOccupancy != want || r.PeakOccupancy != 75 {
		t.Errorf("occupancy: got %v%% on average and %v%% at most; want %v%% and 75%%", r.MeanOccupancy, r.PeakOccupancy, want)
	}
	// b-1 needs 8: from 4 s on the 4 free ones of n1 are of no use, and after 6 s those of n0.
	if r.Fragmentation != 4 {
		t.Errorf("fragmentation: got %d GPUs, want 4", r.Fragmentation)
	}
	if n := r.Nodes[0]; n.Name != "n0" || n.PeakGPUs != 8 || n.Pods != 2 || n.Block != "b0" || n.Spine != "s0" {
		t.Errorf("node n0: got %+v", n)
	}
	if want := []DomainUse{{"block", "b0", 1, 2}, {"block", "b1", 1, 1}, {"spine", "s0", 2, 3}}; !slices.Equal(r.Domains, want) {
		t.Errorf("domains: got %+v, want %+v", r.Domains, want)
	}
	if left := s.o.Unfinished([]Submitted{submitted("a", 2), submitted("b", 2)}); left != 2 {
		t.Errorf("unfinished: got %d, want the two of b", left)
	}
}

func TestDistance(t *testing.T) {
	for name, c := range map[string]struct {
		nodes [][3]string // node, block, spine of each pod
		want  float64
	}{
		"one node":         {[][3]string{{"n0", "b0", "s0"}, {"n0", "b0", "s0"}}, 0},
		"one block":        {[][3]string{{"n0", "b0", "s0"}, {"n1", "b0", "s0"}}, 1},
		"one spine":        {[][3]string{{"n0", "b0", "s0"}, {"n1", "b1", "s0"}}, 2},
		"nothing":          {[][3]string{{"n0", "b0", "s0"}, {"n1", "b1", "s1"}}, 3},
		"two and one away": {[][3]string{{"n0", "b0", "s0"}, {"n1", "b0", "s0"}, {"n2", "b1", "s0"}}, round((1. + 2 + 2) / 3)},
	} {
		s := newStory()
		for i, n := range c.nodes {
			s.node(0, n[0], 8, in(n[1], n[2]))
			s.pod(1, fmt.Sprintf("a-%d", i), 1, n[0], corev1.PodRunning)
		}
		if got := s.compute(2, submitted("a", len(c.nodes))).Jobs[0].Distance; got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// A node that loses its GPUs, or is cordoned, offers nothing from then on.
func TestShrinkingNode(t *testing.T) {
	s := newStory()
	s.node(0, "n0", 8, nil)
	s.pod(1, "a-0", 8, "", corev1.PodPending)
	s.node(2, "n0", 4, nil)
	r := s.compute(4, submitted("a", 1))
	if last := r.Occupancy[len(r.Occupancy)-1]; last.GPUs != 4 || last.Useless != 4 || last.Waiting != 8 {
		t.Errorf("got %+v, want 4 GPUs, all of no use to the pod that waits for 8", last)
	}
	if r.Nodes[0].GPUs != 8 || r.Gangs.Jobs != 0 {
		t.Errorf("got %+v and %+v; a job of one pod is no gang", r.Nodes[0], r.Gangs)
	}
}

// The page has a row for each node, or for several of them, and text of others is escaped.
func TestPage(t *testing.T) {
	s := newStory()
	for i := range 100 {
		s.node(0, fmt.Sprintf("n%03d", i), 8, nil)
	}
	s.pod(1, "a-0", 8, "n000", corev1.PodRunning)
	r := s.compute(4, submitted("a", 1))
	if rows := r.Rows(); len(rows) != 50 || rows[0].Name != "n000 and 1 more" || rows[0].Cells[0].Shade != 0 || rows[0].Cells[len(rows[0].Cells)-1].Shade != 5 {
		t.Errorf("got %d rows, the first %+v", len(rows), rows[0])
	}
	var b bytes.Buffer
	if err := WriteHTML(&b, Page{Title: "t", Workflows: []PageWorkflow{{Name: "<script>", Placement: r}}}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"n000 and 1 more", "&lt;script&gt;", "50% of the GPUs taken", "default/a", "not passed"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if strings.Contains(b.String(), "<script>") {
		t.Error("the page has a name that was not escaped")
	}
}
