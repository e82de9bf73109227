package matrix

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// shown is a progress that notes what it shows.
type shown struct {
	mu    sync.Mutex
	lines []string
}

type shownTask struct {
	on   *shown
	what string
}

func (s *shown) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *shown) Begin(what string) infra.Task {
	s.add("%s", what)
	return shownTask{s, what}
}
func (k shownTask) Update(detail string)         { k.on.add("%s: %s", k.what, detail) }
func (k shownTask) End(detail string, err error) { k.on.add("%s ended %s %v", k.what, detail, err) }

// What a step takes before the cell's turn is kept apart, and the step is shown from the turn on.
func TestTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		at    time.Duration // when the turn comes; the step lasts from 1 s to 5 s
		ahead time.Duration
		shows string
	}{
		"before the step": {0, 0, "ahead; ahead ended its turn has come <nil>; step; step: half; step ended  <nil>"},
		"in the step":     {2 * time.Second, time.Second, "ahead; ahead ended its turn has come <nil>; step; step: half; step ended  <nil>"},
		"late in it":      {4 * time.Second, 3 * time.Second, "ahead; ahead ended its turn has come <nil>; step; step ended  <nil>"},
		"after the step":  {6 * time.Second, 4 * time.Second, "ahead; ahead ended its turn has come <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shown{}
				turn := newTurn(s.Begin("ahead"))
				time.AfterFunc(tc.at, func() { turn.come(time.Now()) })
				time.Sleep(time.Second)
				from := time.Now()
				turn.begin(func() infra.Task { return s.Begin("step") })
				time.Sleep(2 * time.Second)
				turn.tell("half")
				time.Sleep(2 * time.Second)
				task, ahead := turn.end(from, time.Now())
				if task != nil {
					task.End("", nil)
				}
				<-turn.came
				if got := strings.Join(s.lines, "; "); got != tc.shows || ahead != tc.ahead {
					t.Errorf("%s ahead, shown: %s\nwant %s, %s", ahead, got, tc.ahead, tc.shows)
				}
			})
		})
	}
}

// failingPlatform has no cluster, for another reason each time.
type failingPlatform struct {
	infra.Platform
	asked int
}

func (p *failingPlatform) Cluster(infra.Spec) (infra.Cluster, error) {
	p.asked++
	return nil, reason.New([]reason.Reason{reason.PortTaken, reason.NoSpace}[min(p.asked, 2)-1], "cluster %d", p.asked)
}

// What goes wrong before a cell's turn is not its verdict: it is started again, once, and what goes
// wrong then is. A cell that is dropped leaves nothing.
func TestFailedAhead(t *testing.T) {
	failing := func() (*Runner, *failingPlatform, *[]Event) {
		p := &failingPlatform{Platform: testRunner().Platform}
		r := testRunner()
		var events []Event
		r.Platform, r.Progress, r.Dir, r.Artifacts, r.OnEvent = p, &shown{}, t.TempDir(), filepath.Join(t.TempDir(), "artifacts"), func(e Event) { events = append(events, e) }
		return r, p, &events
	}
	plan := Plan{Cell: result.Cell{Recipe: "eks", Deployer: bundle.Helm}, Deployer: deployers(t, bundle.Helm)[0]}

	r, p, events := failing()
	a := r.startAhead(t.Context(), plan).(*aheadCell)
	<-a.done
	if _, err := os.Stat(r.Artifacts); !errors.Is(err, os.ErrNotExist) || len(*events) > 0 {
		t.Errorf("before its turn: %v, events %v", err, *events)
	}
	got := a.take(t.Context())
	if p.asked != 2 || got.Status != result.Infrastructure || got.Reason != reason.NoSpace {
		t.Errorf("asked for %d clusters, got %s %s; want 2, and the second's reason", p.asked, got.Status, got.Reason)
	}
	if !slices.ContainsFunc(got.Notes, func(n string) bool {
		return strings.HasPrefix(n, "started from scratch") && strings.HasSuffix(n, "cluster 1")
	}) {
		t.Errorf("notes are %q, want why it was started again", got.Notes)
	}

	r, p, _ = failing()
	a = r.startAhead(t.Context(), plan).(*aheadCell)
	if err := a.drop(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(r.Dir); len(left) > 0 {
		t.Errorf("left after it was dropped: %v", left)
	}
	asked := p.asked
	if got = a.take(t.Context()); p.asked != asked+1 || got.Reason != reason.NoSpace || len(got.Notes) > 0 {
		t.Errorf("taken after it was dropped: %d more clusters, %+v", p.asked-asked, got)
	}
}
