package host

import (
	"sync"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Two runs on one machine are two allotters that share a directory.
func TestPorts_TwoAllotters(t *testing.T) {
	dir := t.TempDir()
	const allotters, goroutines, each = 3, 8, 6
	var mu sync.Mutex
	owner := map[int]int{}
	var wg sync.WaitGroup
	for a := range allotters {
		p := NewPorts(dir)
		for range goroutines {
			wg.Go(func() {
				got, err := p.Take(each)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, port := range got {
					if other, taken := owner[port]; taken {
						t.Errorf("port %d went to allotter %d and to %d", port, other, a)
					}
					if port < firstPort || port > lastPort {
						t.Errorf("port %d is outside %d to %d", port, firstPort, lastPort)
					}
					owner[port] = a
				}
			})
		}
	}
	wg.Wait()
	if len(owner) != allotters*goroutines*each {
		t.Errorf("got %d different ports, want %d", len(owner), allotters*goroutines*each)
	}
}

func TestTake_PortInUse(t *testing.T) {
	p := NewPorts(t.TempDir())
	l := testkit.Listen(t, p.start)
	got, err := p.Take(1)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] == l {
		t.Errorf("got port %d, which somebody listens on", l)
	}
}

func TestTake_Exact(t *testing.T) {
	dir := t.TempDir()
	mine, theirs := NewPorts(dir), NewPorts(dir)
	if err := mine.TakeExact(testkit.Listen(t, 0)); reason.Of(err) != reason.PortTaken {
		t.Errorf("a port that another program listens on: got %v", err)
	}
	ports, err := mine.Take(1)
	if err != nil {
		t.Fatal(err)
	}
	port := ports[0]
	for name, p := range map[string]*Ports{"the holder": mine, "another run": theirs} {
		if err := p.TakeExact(port); reason.Of(err) != reason.PortTaken {
			t.Errorf("%s asks for a held port: got %v", name, err)
		}
	}
	theirs.Release(port) // not theirs to give
	if err := theirs.TakeExact(port); reason.Of(err) != reason.PortTaken {
		t.Errorf("a port was released by somebody who did not hold it: %v", err)
	}
	mine.Release(port, 1)
	if err := theirs.TakeExact(port); err != nil {
		t.Errorf("after Release: %v", err)
	}
}
