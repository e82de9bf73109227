// Package aicrcli has AICR's CLI as another program: it finds it in a checkout and builds it, runs
// it with limits on its time, its files and its connections, and reads what it says and what it
// pushes.
package aicrcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// firstSaid and lastSaid are how much of what a command prints is kept, in bytes: its beginning, since what a
// program refuses may come before all of its help, and its end.
const (
	firstSaid = 1 << 10
	lastSaid  = 4 << 10
)

// Home is the directory of a run that is the CLI's home and holds its temporary files.
const Home = "home"

// inherited is the allow-list of the environment. A job's has tokens, and a bundle is made of files
// only.
func inherited() []string {
	return []string{"PATH", "LANG", "LC_ALL", "TZ", "GOGC", "GOMEMLIMIT", "RUNNER_TRACKING_ID"}
}

// CLI is the CLI at a path. Of the environment that Lookup has, it gets an allow-list.
type CLI struct {
	Path   string
	Lookup func(string) (string, bool)
	// Hung counts the commands that did not end in time; nil if nobody counts. After mostHung no further one is run.
	Hung *atomic.Int32
	// Stdout, if set, gets all that a command prints there; Said has its beginning and its end.
	Stdout io.Writer
	// Env is added to its environment.
	Env []string
}

// mostHung is how many commands of one CLI may hang. One recipe may be too much for it; of more, each would cost the limit
// in each lane.
const mostHung = 2

// Said is what a command printed: its beginning and its end.
type Said struct{ Stdout, Stderr string }

// String has both, line by line, behind a semicolon each; empty if nothing was printed.
func (s Said) String() string { return quoted("stderr", s.Stderr) + quoted("stdout", s.Stdout) }

// Run runs a command of the CLI in a directory and in its own process group, and kills the whole
// group afterwards. The command may read what the user may, write in the directory only, and connect
// to the ports only; where the kernel has no Landlock, nothing holds it to that.
func (c CLI) Run(ctx context.Context, limit time.Duration, dir string, ports []int, args ...string) (Said, error) {
	if c.Hung != nil && c.Hung.Load() >= mostHung {
		return Said{}, fmt.Errorf("%s %s: it was not run, since %d commands of this CLI did not end in time, and were ended: see the cells before this one", c.Path, args[0], mostHung)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &overtime{limit})
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Path, args...)
	cmd.Dir = dir
	home := filepath.Join(dir, Home)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return Said{}, err
	}
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "NO_COLOR=1"}
	for _, name := range inherited() {
		if value, ok := c.Lookup(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, c.Env...)
	if err := sandbox.Wrap(cmd, sandbox.Profile{ReadWrite: []string{dir}, Execute: []string{"/"}, Connect: ports, AnyOwner: true}); err != nil {
		return Said{}, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = end, 2*time.Second
	stdout, stderr := &tail{}, &tail{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if c.Stdout != nil {
		cmd.Stdout = io.MultiWriter(stdout, c.Stdout)
	}
	err := cmd.Run()
	if cmd.Process != nil {
		_ = end() // what it left in its group; none is no error
	}
	said := Said{stdout.String(), stderr.String()}
	if err == nil {
		return said, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		if err = cause; c.Hung != nil && errors.As(err, new(*overtime)) {
			c.Hung.Add(1)
		}
	} else if errors.Is(err, exec.ErrWaitDelay) {
		err = errors.New("it ended, and a program that it has started still holds its output: it must end its programs first, or give them another output")
	}
	return said, fmt.Errorf("%s %s: %w%s%s%s", c.Path, args[0], err, meaning(err), said, advice(err.Error()+said.String(), dir))
}

// advice is what may be behind what a command said that failed in a directory, and what to do; empty if nothing is
// known.
func advice(text, dir string) (lines string) {
	switch {
	case deniedText.MatchString(text):
		lines = fmt.Sprintf("\n  It may write only below its own directory, %s: an attempt to write elsewhere is refused, and only the registry that it is to push to can be reached.", dir)
	case unreachableText.MatchString(text):
		lines = "\n  It can reach nothing but the registry that it is to push to, and has no proxy: what it makes a bundle of must be on this machine (--data DIR)."
	}
	if unknownFlag.MatchString(text) {
		lines += "\n  matrix passes the flags that AICR's own tests passed in July 2026, and this CLI does not know one of them, or one of --aicr-args. Use a release of matrix for this CLI; or make the bundle with it, and run that with --bundle-dir DIR; or let matrix make the bundle with --bundler builtin."
	}
	return lines
}

// meaning is what AICR's CLI says with an exit code, as documented since July 2026; empty for another
// error.
func meaning(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return " (not by matrix: most likely by the kernel, for want of memory)"
	}
	codes := map[int]string{
		2: "invalid input or an unknown flag", 3: "not found", 4: "not permitted to log in", 5: "timeout", 6: "a service is unavailable", 7: "too many requests", 8: "an internal error of the CLI",
	}
	text, ok := codes[exit.ExitCode()]
	if !ok {
		return ""
	}
	return " (in AICR: " + text + ")"
}

// overtime is the end of a command that took longer than its limit.
type overtime struct{ limit time.Duration }

func (e *overtime) Error() string {
	return fmt.Sprintf("it did not end within %s, and was ended", e.limit)
}

// deniedText matches what programs say when the kernel refuses them a file or an address.
var deniedText = regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file system`)

// unreachableText matches what programs say when they find no network.
var unreachableText = regexp.MustCompile(`(?i)dial tcp|no such host|could not resolve|network is unreachable|connection refused`)

// unknownFlag matches what programs say of a flag that they do not have.
var unknownFlag = regexp.MustCompile(`(?i)unknown (shorthand )?(flag|option)|(flag|option) provided but not defined|unrecognized (flag|option|argument)|no such (flag|option)`)

// quoted is what a program said, line by line, or nothing.
func quoted(what, said string) string {
	if said = strings.TrimSpace(said); said == "" {
		return ""
	}
	return "; " + what + ":\n  " + strings.ReplaceAll(said, "\n", "\n  ")
}

// tail keeps the beginning and the end of what is written to it.
type tail struct {
	first, last []byte
	lost        bool
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if room := firstSaid - len(t.first); room > 0 {
		taken := min(room, len(p))
		t.first, p = append(t.first, p[:taken]...), p[taken:]
	}
	t.last = append(t.last, p...)
	if over := len(t.last) - lastSaid; over > 0 {
		t.last, t.lost = append([]byte(nil), t.last[over:]...), true
	}
	return n, nil
}

var escapes = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)`)

// String is the text without what a terminal would obey.
func (t *tail) String() string {
	if !t.lost {
		return plain(append(slices.Clone(t.first), t.last...))
	}
	first, last := plain(t.first), plain(t.last)
	if end := strings.LastIndex(first, "\n"); end >= 0 {
		first = first[:end] // the lines at the gap are cut
	}
	if _, rest, ok := strings.Cut(last, "\n"); ok {
		last = rest
	}
	return first + "\n(some lines are left out)\n" + last
}

// plain is a text without what a terminal would obey.
func plain(said []byte) string {
	text := escapes.ReplaceAllString(strings.ToValidUTF8(string(said), "?"), "")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, text)
}
