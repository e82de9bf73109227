package platform

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/schedule"
)

// TestCapacity: how many cells run at a time, for machines as GitHub and others have them. It is
// the only part of a run that was looked at for macOS.
func TestCapacity(t *testing.T) {
	const gb = 1000 * 1000 * 1000
	for name, test := range map[string]struct {
		machine     Capacity
		cells, kind int
	}{
		"GitHub's Linux, public":         {Capacity{4, 15 * gb, true}, 4, 1},
		"GitHub's Linux, private":        {Capacity{2, 7 * gb, true}, 2, 1},
		"GitHub's macOS, 3 cores, 7 GB":  {Capacity{3, 0, false}, 2, 1},
		"a Mac with many cores":          {Capacity{12, 0, false}, 2, 2},
		"a container with one core":      {Capacity{1, 60 * gb, true}, 1, 1},
		"a container with 4 GB":          {Capacity{64, 4 * gb, true}, 2, 2},
		"a container with 1 GB":          {Capacity{64, gb, true}, 1, 1},
		"a large machine":                {Capacity{64, 256 * gb, true}, 4, 16},
		"a large one with little memory": {Capacity{64, 8 * gb, true}, 4, 5},
	} {
		if cells, kind := test.machine.Cells(All()[0].Limits, schedule.FootprintCell), test.machine.Cells(All()[1].Limits, schedule.FootprintCell); cells != test.cells || kind != test.kind {
			t.Errorf("%s: %d cells at a time, %d in Kind clusters, want %d and %d", name, cells, kind, test.cells, test.kind)
		}
	}
}

func TestCoresOf(t *testing.T) {
	for _, test := range []struct {
		processors int
		limit      float64
		limited    bool
		want       int
	}{{8, 0, false, 8}, {8, 1, true, 1}, {8, 0.2, true, 1}, {8, 1.5, true, 2}, {8, 2.4, true, 2}, {4, 16, true, 4}} {
		if got := coresOf(test.processors, test.limit, test.limited); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}
