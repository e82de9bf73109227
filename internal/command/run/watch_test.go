package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// bench is a loop over a directory whose runs last until they are told to end.
type bench struct {
	t       *testing.T
	dir     string
	started chan context.Context
	end     chan int
	code    chan int

	mu   sync.Mutex
	told []string
}

func start(t *testing.T) (*bench, context.CancelFunc) {
	b := &bench{t: t, dir: t.TempDir(), started: make(chan context.Context, 9), end: make(chan int), code: make(chan int, 1)}
	b.write("used.yaml", "1")
	ctx, cancel := context.WithCancel(t.Context())
	l := &watchLoop{
		Roots: []string{b.dir},
		State: func() string {
			return watchDigest([]string{filepath.Join(b.dir, "used.yaml"), filepath.Join(b.dir, "new")})
		},
		Run: func(ctx context.Context) int {
			b.started <- ctx
			select {
			case code := <-b.end:
				return code
			case <-ctx.Done():
				return 130
			}
		},
		Tell: func(text string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.told = append(b.told, text)
		},
	}
	go func() { code, _ := l.Do(ctx); b.code <- code }()
	return b, cancel
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) wantRun(why string) context.Context {
	b.t.Helper()
	select {
	case ctx := <-b.started:
		return ctx
	case <-time.After(time.Minute):
		b.t.Fatalf("no run: %s", why)
		return nil
	}
}

func (b *bench) wantNone(why string) {
	b.t.Helper()
	select {
	case <-b.started:
		b.t.Fatalf("a run: %s", why)
	case <-time.After(3 * quiet):
	}
}

func TestLoop(t *testing.T) {
	b, cancel := start(t)
	defer cancel()
	first := b.wantRun("at the start")
	b.write("other.yaml", "x")
	b.write("used.yaml", "1") // saved as it was
	b.wantNone("nothing that is used has changed")
	if first.Err() != nil {
		t.Fatal("the run was cancelled without a change of its inputs")
	}
	b.write("used.yaml", "2")
	b.wantRun("its input changed in its middle")
	if first.Err() == nil {
		t.Error("the run before was not cancelled")
	}
	b.end <- 31
	b.wantNone("nothing has changed since")
	b.write("new/file.yaml", "in a new directory")
	b.wantRun("a file in a new directory")
	b.end <- 32
	b.write("new/file.yaml", "changed there")
	b.wantRun("a change in a new directory")
	cancel()
	if code := <-b.code; code != 32 {
		t.Errorf("exit code %d, want that of the last run that ended by itself", code)
	}
	if told := strings.Join(b.told, "\n"); strings.Count(told, "it is cancelled") != 1 || strings.Count(told, "Waiting for a change") != 2 {
		t.Errorf("told: %s", told)
	}
}

// Without notifications, a change is found by looking.
func TestLoop_Polls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	started, ctx := make(chan bool, 9), t.Context()
	l := &watchLoop{Roots: []string{filepath.Join(file, "absent")}, State: func() string { return watchDigest([]string{file}) }, Tell: func(string) {},
		Run: func(context.Context) int { started <- true; return 0 }}
	go l.Do(ctx)
	<-started
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case <-started:
	case <-time.After(10 * every):
		t.Error("no run after a change")
	}
}
