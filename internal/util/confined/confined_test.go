package confined_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/confined"
	"github.com/nvidia/aicr-action/internal/util/reexec"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// The work of these tests is what no expression may do: the process is what refuses it.
type (
	question struct{ Do, What string }
	answer   struct{ Got, Err string }
)

func TestMain(m *testing.M) {
	workers.Main(m, []reexec.Command{{Name: "test of confined", Run: func(args []string) error { return confined.Serve(args, work) }}})
}

func work(q question) answer {
	var got string
	var err error
	switch q.Do {
	case "environment":
		got = strings.Join(os.Environ(), " ")
	case "variable":
		got = os.Getenv(q.What)
	case "file":
		var raw []byte
		raw, err = os.ReadFile(q.What)
		got = string(raw)
	case "write":
		err = os.WriteFile(q.What, []byte("x"), 0o600)
	case "dial":
		var c net.Conn
		if c, err = net.Dial("tcp", q.What); err == nil {
			err = c.Close()
		}
	case "start":
		var raw []byte
		raw, err = exec.Command(q.What).Output()
		got = string(raw)
	case "forever":
		for {
			_ = got
		}
	case "memory":
		var all [][]byte
		for range 1 << 10 {
			all = append(all, bytes.Repeat([]byte("x"), 1<<20))
		}
		got = string(all[0][:1])
	case "deep":
		got = deep(1 << 40)
	case "echo":
		got = q.What
	}
	if err != nil {
		return answer{got, err.Error()}
	}
	return answer{got, ""}
}

func deep(n int) string {
	if n == 0 {
		return ""
	}
	return deep(n-1) + "x"
}

func worker(t *testing.T) *confined.Worker[question, answer] {
	t.Helper()
	w := &confined.Worker[question, answer]{Name: "test of confined", Limits: confined.Limits{Time: 20 * time.Second, Memory: 256 << 20}}
	t.Cleanup(w.Close)
	return w
}

func ask(t *testing.T, w *confined.Worker[question, answer], do, what string) answer {
	t.Helper()
	got, err := w.Ask(t.Context(), question{do, what})
	if err != nil {
		t.Fatalf("%s %s: %v", do, what, err)
	}
	return got
}

// The process has no variable of the job's, also where the kernel has no Landlock.
func TestNoEnvironment(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", "a secret of the job")
	w := worker(t)
	if got := ask(t, w, "environment", ""); got.Got != "" || got.Err != "" {
		t.Errorf("its environment is %q, %s", got.Got, got.Err)
	}
	if got := ask(t, w, "variable", "AICR_TEST_TOKEN"); got.Got != "" {
		t.Errorf("it reads %q", got.Got)
	}
	if got := ask(t, w, "file", "/proc/self/environ"); strings.Contains(got.Got, "a secret") {
		t.Errorf("it reads what it was started with: %q", got.Got)
	}
}

// The process opens no file, dials no port and starts no program.
func TestNoFilesNoNetwork(t *testing.T) {
	if strings.HasPrefix(sandbox.Support(), "none") {
		t.Logf("without a sandbox it can: %s", sandbox.Support())
		return
	}
	w := worker(t)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("a secret of the job"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	attacks := []question{{"file", secret}, {"file", "/etc/passwd"}, {"write", filepath.Join(dir, "new")}, {"start", "/bin/sh"}}
	if strings.Contains(sandbox.Support(), "TCP") {
		attacks = append(attacks, question{"dial", l.Addr().String()})
	}
	for _, q := range attacks {
		if got := ask(t, w, q.Do, q.What); !strings.Contains(got.Err, "permission denied") {
			t.Errorf("%s %s: got %q, %q; want permission denied", q.Do, q.What, got.Got, got.Err)
		}
	}
	if got := ask(t, w, "file", "/proc/"+parent()+"/environ"); got.Err == "" {
		t.Errorf("it reads the variables of the process that started it")
	}
}

func parent() string {
	target, err := os.Readlink("/proc/self")
	if err != nil {
		return "1"
	}
	return target
}

// What never ends, takes all memory or calls itself without end is ended, with the cause, and the
// next question has its answer.
func TestLimits(t *testing.T) {
	w := worker(t)
	for do, want := range map[string]string{"forever": "it takes longer than 2s", "memory": "it takes more than 256 MiB of memory", "deep": "it "} {
		w.Close()
		w.Limits.Time = 20 * time.Second
		if do == "forever" {
			w.Limits.Time = 2 * time.Second
		}
		_, err := w.Ask(t.Context(), question{Do: do})
		var limit *confined.LimitError
		if !errors.As(err, &limit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", do, err, want)
		}
		if got := ask(t, w, "echo", "next"); got.Got != "next" {
			t.Errorf("%s: the next answer is %+v", do, got)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := worker(t).Ask(ctx, question{Do: "forever"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 15*time.Second {
		t.Errorf("got %v after %s", err, time.Since(start))
	}
}

// A name that the program does not list starts no process, and says so.
func TestAsk_UnknownWorker(t *testing.T) {
	w := &confined.Worker[question, answer]{Name: "another"}
	t.Cleanup(w.Close)
	if _, err := w.Ask(t.Context(), question{Do: "echo"}); err == nil || !strings.Contains(err.Error(), `start the process for another: this program has no hidden command "another"`) {
		t.Errorf("got %v", err)
	}
}
