package placement

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// All pods since the deployment count, with any owner. Earlier pods use their GPUs, and are no pods
// of the cell.
func TestComputeAll(t *testing.T) {
	s := newStory()
	s.o.watching = true
	s.node(0, "n0", 8, in("b0", "s0"))
	s.node(0, "n1", 8, in("b0", "s0"))
	s.node(0, "n2", 0, nil)
	s.pod(0, "early", 8, "n0", corev1.PodRunning)
	s.pod(2, "a-0", 8, "", corev1.PodPending)
	s.pod(3, "a-0", 8, "n1", corev1.PodRunning)
	s.pod(3, "b", 0, "n2", corev1.PodRunning)
	s.pod(4, "c", 9, "", corev1.PodPending)
	s.pod(5, "a-0", 8, "n1", corev1.PodSucceeded)
	s.o.watching = false
	s.pod(5, "listed", 0, "n2", corev1.PodRunning)
	r := s.o.ComputeAll(s.start.Add(time.Second), s.start.Add(9*time.Second), DefaultTopology())
	if r.Pods != 3 || r.Placed != 2 || r.Max != 1000 || r.Median != 1000 || r.PeakOccupancy != 100 || r.Fragmented != 8 {
		t.Errorf("got %+v; want 3 pods, 2 placed, 1 s at most, all GPUs taken, 8 useless", r)
	}
	if len(r.Domains) != 2 || r.Domains[0].Pods != 1 || r.Domains[0].Nodes != 2 {
		t.Errorf("domains: got %+v", r.Domains)
	}
	m := r.Moments
	if n := len(m.GPUs); n == 0 || n > cellMoments || len(m.Taken) != n || len(m.Waiting) != n || len(m.Useless) != n || m.GPUs[0] != 16 || m.Taken[0] != 8 || m.Waiting[n-1] != 9 || m.Every*int64(n-1) > 8000 || m.Every*int64(n+1) < 8000 {
		t.Errorf("moments: got %+v", m)
	}
	if len(r.Rows) != 3 {
		t.Fatalf("rows: got %+v", r.Rows)
	}
	for i, want := range []string{"a", "0a0", "-"} {
		if got := short(r.Rows[i].Taken); got != want || len(r.Rows[i].Taken) != len(m.GPUs) {
			t.Errorf("row %d: got %s (%s), want %s", i, r.Rows[i].Taken, got, want)
		}
	}
	if r.Rows[1].Pods != 1 || r.Rows[2].Pods != 1 || r.Rows[0].Pods != 0 {
		t.Errorf("pods: got %+v", r.Rows)
	}
}

// short has each letter once where it is repeated.
func short(text string) string {
	var b strings.Builder
	for i := range text {
		if i == 0 || text[i] != text[i-1] {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// A large cluster has few rows, and a pod that was there for less than a moment is in one.
func TestComputeAllOfManyNodes(t *testing.T) {
	s := newStory()
	s.o.watching = true
	for i := range 1000 {
		s.node(0, fmt.Sprintf("n%03d", i), 8, nil)
	}
	for i := range 84 { // the first row
		s.pod(1, fmt.Sprintf("a-%d", i), 8, fmt.Sprintf("n%03d", i), corev1.PodRunning)
	}
	for i := range 84 {
		s.pod(1.02, fmt.Sprintf("a-%d", i), 8, fmt.Sprintf("n%03d", i), corev1.PodSucceeded)
	}
	r := s.o.ComputeAll(s.start, s.start.Add(2*time.Second), DefaultTopology())
	if len(r.Rows) > cellRows || r.Rows[0].Name != "n000 and 83 more" || r.Rows[0].Nodes != 84 || r.Rows[0].Pods != 84 || short(r.Rows[0].Taken) != "0a0" {
		t.Errorf("got %d rows, the first %+v", len(r.Rows), r.Rows[0])
	}
}
