package sandbox

import (
	"os/exec"
	"testing"
)

func TestSupport(t *testing.T) {
	for v, want := range map[int]string{
		0: "none: the kernel has no Landlock, or it is off",
		1: "none: the kernel's Landlock is too old (ABI 1; ABI 2 is needed)",
		3: "landlock ABI 3: files",
		4: "landlock ABI 4: files, TCP ports",
		7: "landlock ABI 7: files, TCP ports, signals",
	} {
		if got := support(v); got != want {
			t.Errorf("ABI %d: got %q, want %q", v, got, want)
		}
	}
}

// What cannot be started is refused by the caller's call, not later by the process in between.
func TestWrapRefusesWhatIsNotThere(t *testing.T) {
	if err := Wrap(&exec.Cmd{Path: "/no/such/program", Args: []string{"x"}}, Profile{}); (err != nil) != available() {
		t.Errorf("got %v", err)
	}
}
