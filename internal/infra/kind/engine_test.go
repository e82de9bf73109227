package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// fakeEngine answers docker's commands by their first words, and remembers all of them.
type fakeEngine struct {
	answers map[string]string // by a prefix of the command
	errors  map[string]error
	calls   []string
}

func (f *fakeEngine) engine() *Engine {
	return &Engine{
		Run: func(_ context.Context, args ...string) (string, error) {
			command := strings.Join(args, " ")
			f.calls = append(f.calls, command)
			for prefix, err := range f.errors {
				if strings.HasPrefix(command, prefix) {
					return "", err
				}
			}
			for prefix, answer := range f.answers {
				if strings.HasPrefix(command, prefix) {
					return answer, nil
				}
			}
			return "", nil
		},
		Stream:   func(context.Context, io.Writer, ...string) error { return nil },
		LookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil },
		Free:     func(string) (uint64, error) { return 100 << 30, nil },
		Getenv:   func(string) string { return "" },
		System:   "linux",
	}
}

func (f *fakeEngine) called(prefix string) int {
	n := 0
	for _, c := range f.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

// Each engine that clusters cannot run in is refused with its own message, and only by asking.
func TestCheck(t *testing.T) {
	good := `{"ServerVersion":"29.1.0","OSType":"linux","OperatingSystem":"Debian","SecurityOptions":["name=seccomp,profile=builtin"],"DockerRootDir":"/var/lib/docker"}`
	for name, tc := range map[string]struct {
		info   string
		err    error
		change func(*Engine)
		reason reason.Reason
		want   string
	}{
		"good":           {info: good},
		"by its socket":  {info: good, change: func(e *Engine) { e.Getenv = func(string) string { return "unix:///run/d.sock" } }},
		"rootless":       {info: strings.Replace(good, "name=seccomp", "name=rootless\",\"name=seccomp", 1), reason: reason.EngineUnusable, want: "rootless, which is not supported"},
		"podman's":       {info: `{"host":{"arch":"amd64"},"version":{}}`, reason: reason.EngineUnusable, want: "Podman's"},
		"Docker Desktop": {info: strings.Replace(good, `"Debian"`, `"Docker Desktop"`, 1), reason: reason.EngineUnusable, want: "Docker Desktop's"},
		"Windows":        {info: strings.Replace(good, `"linux"`, `"windows"`, 1), reason: reason.EngineUnusable, want: "windows containers"},
		"no answer":      {err: errors.New("Cannot connect to the Docker daemon at unix:///var/run/docker.sock"), reason: reason.EngineUnusable, want: "start it (sudo systemctl start docker)"},
		"gone":           {err: engineError(errors.New("Cannot connect to the Docker daemon at unix:///var/run/docker.sock")), reason: reason.EngineUnusable, want: "start it (sudo systemctl start docker)"},
		"no permission":  {err: errors.New("dial unix /var/run/docker.sock: connect: Permission denied"), reason: reason.EngineUnusable, want: "sudo usermod -aG docker"},
		"an old program": {info: `{"ServerErrors":["Cannot connect to the Docker daemon"]}`, reason: reason.EngineUnusable, want: "start it"},
		"no JSON":        {info: "Client:", reason: reason.EngineUnusable, want: "read the answer of docker info"},
		"remote":         {info: good, change: func(e *Engine) { e.Getenv = func(string) string { return "tcp://10.0.0.1:2376" } }, reason: reason.EngineUnusable, want: `DOCKER_HOST is "tcp://10.0.0.1:2376"`},
		"not Linux":      {info: good, change: func(e *Engine) { e.System = "darwin" }, reason: reason.EngineUnusable, want: "a Linux machine"},
		"no docker": {info: good, change: func(e *Engine) {
			e.LookPath = func(name string) (string, error) { return "", errors.New("not found") }
		}, reason: reason.EngineUnusable, want: "there is no docker program on the PATH; install it"},
		"podman only": {info: good, change: func(e *Engine) {
			e.LookPath = func(name string) (string, error) {
				if name == "podman" {
					return "/usr/bin/podman", nil
				}
				return "", errors.New("not found")
			}
		}, reason: reason.EngineUnusable, want: "podman is not supported"},
		"nearly full": {info: good, change: func(e *Engine) { e.Free = func(string) (uint64, error) { return 1 << 30, nil } }, reason: reason.NoSpace, want: "needs 4096 MiB in /var/lib/docker, where Docker keeps containers, and 1024 MiB are free"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeEngine{answers: map[string]string{"info": tc.info}, errors: map[string]error{}}
			if tc.err != nil {
				f.errors["info"] = fmt.Errorf("docker info: %w", tc.err)
			}
			e := f.engine()
			if tc.change != nil {
				tc.change(e)
			}
			err := e.Check(t.Context())
			if reason.Of(err) != tc.reason || err != nil && (!strings.Contains(err.Error(), tc.want) || tc.want == "") {
				t.Errorf("got %s %v, want %s %q", reason.Of(err), err, tc.reason, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "run the cell again") {
				t.Errorf("no cell was run: %v", err)
			}
			if len(f.calls) != f.called("info") {
				t.Errorf("it did more than ask: %q", f.calls)
			}
		})
	}
}

func TestFreeBytes(t *testing.T) {
	for _, path := range []string{t.TempDir(), "/no/such/directory"} {
		if free, err := freeBytes(path); err != nil || free == 0 {
			t.Errorf("%s: got %d, %v", path, free, err)
		}
	}
}

// The error of an engine that stopped does not blame the image, cluster or archive of the command.
// Other errors of a command stay as they are.
func TestEngineError(t *testing.T) {
	for text, want := range map[string]reason.Reason{
		"Cannot connect to the Docker daemon at unix:///d.sock. Is the docker daemon running?": reason.ComponentDied,
		"error during connect: Post \"http://%2Fd.sock/v1.41/containers\": EOF":                reason.ComponentDied,
		"Error response from daemon: No such container: x":                                     reason.Internal,
		"write /var/lib/docker/x: no space left on device":                                     reason.Internal,
	} {
		err := engineError(fmt.Errorf("docker save: %w", errors.New(text)))
		if reason.Of(err) != want || !strings.Contains(err.Error(), text) || (want == reason.ComponentDied) != strings.Contains(err.Error(), "start it again") {
			t.Errorf("%s: got %s, %v", text, reason.Of(err), err)
		}
	}
	if engineError(nil) != nil {
		t.Error("no error became one")
	}
	gone := engineError(errors.New("Cannot connect to the Docker daemon"))
	if got := reason.Of(imageError(gone, "copy images: %w", gone)); got != reason.ComponentDied {
		t.Errorf("as an error of images: got %s", got)
	}
	// A cluster that cannot be deleted now is left to the next run.
	p := &fakeProvider{create: func() error { return gone }}
	f := &fakeEngine{errors: map[string]error{}}
	c := testCluster(t, f, p)
	if err := c.Up(t.Context()); reason.Of(err) != reason.ComponentDied {
		t.Errorf("Up: got %s, %v", reason.Of(err), err)
	}
	f.errors["ps"] = gone
	if err := c.Down(t.Context()); reason.Of(err) != reason.ComponentDied || !strings.Contains(err.Error(), "the next run with --platform kind removes it") || strings.Contains(err.Error(), "\n") {
		t.Errorf("Down: got %v", err)
	}
}
