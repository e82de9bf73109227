package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// A process of a stack has nothing of the job's environment: a controller that a recipe can make
// run a program must not have tokens.
func TestEnvironment_NoJobVariables(t *testing.T) {
	for _, name := range []string{"GITHUB_TOKEN", "GITHUB_ENV", "ACTIONS_RUNTIME_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "HTTPS_PROXY", "NO_PROXY"} {
		t.Setenv(name, "of-the-job")
	}
	t.Setenv("RUNNER_TRACKING_ID", "github_1")
	t.Setenv("GOGC", "77")
	t.Setenv("GOMEMLIMIT", "")
	s := supervisor(t)
	spec := shell(t, "child", "/usr/bin/env > got.part; /bin/mv got.part got; exec /bin/sleep 100")
	spec.Env = []string{"KUBECONFIG=own", "LANG=own"}
	start(t, s, spec)
	got := waitFile(t, filepath.Join(spec.Dir, "got"))
	if strings.Contains(got, "of-the-job") {
		t.Errorf("the process has variables of the job:\n%s", got)
	}
	var names []string
	for line := range strings.Lines(got) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	allowed := append([]string{"PATH", "HOME", "TMPDIR", "GOROOT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "KUBECONFIG", "PWD", "OLDPWD", "SHLVL", "_"}, inherited...)
	for _, n := range names {
		if !slices.Contains(allowed, n) {
			t.Errorf("the process has %s", n)
		}
	}
	for _, want := range []string{"RUNNER_TRACKING_ID=github_1", "GOGC=77", "GOMEMLIMIT=1600MiB", "HOME=" + spec.Dir, "TMPDIR=" + spec.Dir + "/tmp", "KUBECONFIG=own", "LANG=own", "PATH=/bin\n", "HTTPS_PROXY=http://127.0.0.1:1"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if _, err := os.Stat(filepath.Join(spec.Dir, "tmp")); err != nil {
		t.Errorf("TMPDIR: %v", err)
	}
}

// A process that must not find the user's files has a HOME even if its directory is not said.
func TestEnvironment_NoDirectory(t *testing.T) {
	dir := t.TempDir()
	env, err := baseEnv(ProcessSpec{Name: "x", Path: "/bin/x", Log: filepath.Join(dir, "x.log")}, os.LookupEnv)
	if err != nil || !slices.Contains(env, "HOME="+dir) {
		t.Errorf("got %q, %v", env, err)
	}
}

// A pod keeps what its image says of Go.
func TestEnvironment_Pod(t *testing.T) {
	dir := t.TempDir()
	for _, pod := range []bool{false, true} {
		env, err := baseEnv(ProcessSpec{Name: "x", Path: "/bin/x", Dir: dir, Alone: pod}, os.LookupEnv)
		if err != nil || slices.Contains(env, "GOROOT="+dir) == pod {
			t.Errorf("pod %t: got %q, %v", pod, env, err)
		}
	}
}

// waitFile waits until a process has written a file, and reads it.
func waitFile(t *testing.T, path string) string {
	t.Helper()
	var text []byte
	testkit.Eventually(t, path+" to be written", time.Minute, func() wait.Result {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
	return string(text)
}
