package foreign

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// mostSaid is how much of what a command prints is kept, in bytes: the end of it.
const mostSaid = 4 << 10

// inherited is the allow-list of the environment. A job's has tokens, and a bundle is made of files
// only.
func inherited() []string {
	return []string{"PATH", "LANG", "LC_ALL", "TZ", "GOGC", "GOMEMLIMIT", "RUNNER_TRACKING_ID"}
}

// run runs a command of the CLI in a directory and in its own process group, and kills the whole
// group afterwards. The command may read what the user may, write in the directory only, and connect
// to the ports only; where the kernel has no Landlock, nothing holds it to that.
func (e *Exec) run(ctx context.Context, limit time.Duration, dir string, ports []int, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &overtime{limit})
	defer cancel()
	cmd := exec.CommandContext(ctx, e.path, args...)
	cmd.Dir = dir
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "NO_COLOR=1"}
	for _, name := range inherited() {
		if value, ok := e.lookup(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if err := sandbox.Wrap(cmd, sandbox.Profile{ReadWrite: []string{dir}, Execute: []string{"/"}, Connect: ports, AnyOwner: true}); err != nil {
		return "", err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = end, 2*time.Second
	stdout, stderr := &tail{}, &tail{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if cmd.Process != nil {
		_ = end() // what it left in its group; none is no error
	}
	if err == nil {
		return stdout.String(), nil
	}
	command := e.path + " " + args[0]
	said := quoted("stderr", stderr.String())
	if said == "" {
		said = quoted("stdout", stdout.String())
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if deniedText.MatchString(said) {
		said += fmt.Sprintf("\n  It may write only below its own directory, %s: an attempt to write elsewhere is refused, and only the registry that it is to push to can be reached.", dir)
	}
	return "", fmt.Errorf("%s: %w%s", command, err, said)
}

// overtime is the end of a command that took longer than its limit.
type overtime struct{ limit time.Duration }

func (e *overtime) Error() string {
	return fmt.Sprintf("it did not end within %s, and was ended", e.limit)
}

// deniedText matches what programs say when the kernel refuses them a file or an address.
var deniedText = regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file system`)

// quoted is what a program said, line by line, or nothing.
func quoted(what, said string) string {
	if said = strings.TrimSpace(said); said == "" {
		return ""
	}
	return "; " + what + ":\n  " + strings.ReplaceAll(said, "\n", "\n  ")
}

// tail keeps the end of what is written to it.
type tail struct {
	kept []byte
	lost bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - mostSaid; over > 0 {
		t.kept, t.lost = append([]byte(nil), t.kept[over:]...), true
	}
	return len(p), nil
}

var escapes = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)`)

// String is the text without what a terminal would obey.
func (t *tail) String() string {
	text := escapes.ReplaceAllString(strings.ToValidUTF8(string(t.kept), "?"), "")
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, text)
	if t.lost {
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest // the first line is cut
		}
		text = "(the beginning is left out)\n" + text
	}
	return text
}
