package reexec

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// count is a hidden command of this test binary that prints its arguments and its environment.
var count = Command{Name: "count things", Run: func(args []string) error {
	_, err := os.Stdout.WriteString(strings.Join(append(args, os.Environ()...), " "))
	return err
}}

func TestMain(m *testing.M) {
	if code, ok := Dispatch(count); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestProcess(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", "a secret of the job")
	cmd, err := Process(count.Name, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.Output(); err != nil || string(out) != "a b" || cmd.Args[0] != "count-things" {
		t.Errorf("got %q, %v as %s; want its arguments and no environment", out, err, cmd.Args[0])
	}
}

// A hidden command that the program does not list starts no process.
func TestProcess_UnknownCommand(t *testing.T) {
	_, err := Process("render-charts")
	if err == nil || !strings.Contains(err.Error(), `no hidden command "render-charts", only: count things`) {
		t.Errorf("got %v", err)
	}
}

// A program that does not dispatch would start itself without end.
func TestProcess_NoDispatch(t *testing.T) {
	old := listed.Swap(nil)
	t.Cleanup(func() { listed.Store(old) })
	if _, err := Process(count.Name); err == nil || !strings.Contains(err.Error(), "must call hidden.Dispatch") {
		t.Errorf("got %v", err)
	}
}

func TestDispatch(t *testing.T) {
	old := listed.Load()
	t.Cleanup(func() { listed.Store(old) })
	fails := Command{Name: "fails", Run: func([]string) error { return errors.New("it failed") }, Failed: 126}
	for _, c := range []struct {
		args []string
		code int
		ok   bool
		says string
	}{
		{[]string{"matrix"}, 0, false, ""},
		{[]string{"matrix", "run"}, 0, false, ""},
		{[]string{"matrix", "fails"}, 0, false, ""},
		{[]string{"x", marker, "fails"}, 126, true, "it failed\n"},
		{[]string{"x", marker, "other"}, 1, true, `no hidden command "other", only: fails`},
		{[]string{"x", marker}, 1, true, "no hidden command is named"},
	} {
		var stderr bytes.Buffer
		code, ok := dispatch(c.args, &stderr, []Command{fails})
		if code != c.code || ok != c.ok || !strings.Contains(stderr.String(), c.says) || (c.says == "") != (stderr.Len() == 0) {
			t.Errorf("%q: got %d %t %q", c.args, code, ok, stderr.String())
		}
	}
}
