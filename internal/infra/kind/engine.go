package kind

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Engine is the Docker engine, by its command line program, which kind itself uses.
type Engine struct {
	// Run runs docker with these arguments and returns its standard output. Stream is the same for
	// much output.
	Run    func(ctx context.Context, args ...string) (string, error)
	Stream func(ctx context.Context, out io.Writer, args ...string) error
	// LookPath finds a program, Free says how many bytes are free where a path is, Getenv reads the
	// environment.
	LookPath func(string) (string, error)
	Free     func(path string) (uint64, error)
	Getenv   func(string) string
	// System is Go's name of the operating system.
	System string
}

// NewEngine is the engine that the docker program of this machine talks to.
func NewEngine(getenv func(string) string) *Engine {
	return &Engine{
		Run: func(ctx context.Context, args ...string) (string, error) {
			out, err := host.RunCommand(ctx, "", nil, "docker", args...)
			return out, engineError(err)
		},
		Stream: stream, LookPath: exec.LookPath, Free: freeBytes, Getenv: getenv, System: runtime.GOOS,
	}
}

// engineError names the error of a command of docker's that found no engine, so that it is not
// taken for a fault of what the command was for. Reason: COMPONENT_DIED.
func engineError(err error) error {
	if err == nil {
		return nil
	}
	text := strings.ToLower(err.Error())
	for _, part := range []string{"cannot connect to the docker daemon", "error during connect", "is the docker daemon running"} {
		if strings.Contains(text, part) {
			return reason.Wrap(reason.ComponentDied, &goneError{err})
		}
	}
	return err
}

// goneError is the error of a command that found no engine.
type goneError struct{ err error }

func (e *goneError) Error() string {
	return fmt.Sprintf("the Docker engine no longer answers: %v\n%s", e.err, engineHelp)
}
func (e *goneError) Unwrap() error { return e.err }

// engineHelp is what to do about an engine that ended.
const engineHelp = "see why it ended (journalctl -u docker), start it again (sudo systemctl start docker), and run the cell again: that removes what is left of its cluster"

// address is the address at which the docker program expects the engine, for people.
func (e *Engine) address() string { return cmp.Or(e.Getenv("DOCKER_HOST"), "the default socket") }

func stream(ctx context.Context, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.Env = out, &stderr, os.Environ()
	if err := cmd.Run(); err != nil {
		return engineError(fmt.Errorf("docker %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String())))
	}
	return nil
}

func freeBytes(path string) (uint64, error) {
	var s syscall.Statfs_t
	for {
		err := syscall.Statfs(path, &s)
		if err == nil {
			return s.Bavail * uint64(s.Bsize), nil
		}
		up := filepath.Dir(path)
		if up == path {
			return 0, err
		}
		path = up // a directory that does not exist yet, or that only root may read
	}
}

// neededBytes is what a cluster takes of Docker's disk: the images in the engine and once more in
// the node, and what the cell writes.
const neededBytes uint64 = 4 << 30

// neededReused is the same of a cluster that is reused: it has its images.
const neededReused uint64 = 512 << 20

// engineInfo is what `docker info` says, as far as it matters.
type engineInfo struct {
	ServerVersion   string
	OperatingSystem string
	OSType          string
	SecurityOptions []string
	DockerRootDir   string
	ServerErrors    []string
	Host            json.RawMessage `json:"host"` // Podman's
}

// Check refuses an engine that clusters cannot run in, before anything is made. Reasons:
// ENGINE_UNUSABLE, NO_SPACE.
func (e *Engine) Check(ctx context.Context) error { return e.check(ctx, neededBytes) }

// Usable is Check for what needs no space, e.g. for removing a cluster.
func (e *Engine) Usable(ctx context.Context) error { return e.check(ctx, 0) }

// check refuses an engine with fewer free bytes than needed, too.
func (e *Engine) check(ctx context.Context, needed uint64) error {
	unusable := func(format string, args ...any) error {
		return reason.New(reason.EngineUnusable, format+". Without Docker, use --platform embedded", args...)
	}
	if e.System != "linux" {
		return unusable("--platform kind needs a Docker engine on a Linux machine: the API server reaches this program through a socket, which does not work across the virtual machine that Docker has on %s", e.System)
	}
	if _, err := e.LookPath("docker"); err != nil {
		if _, err := e.LookPath("podman"); err == nil {
			return unusable("--platform kind needs Docker: there is no docker program on the PATH, and podman is not supported")
		}
		return unusable("--platform kind needs Docker: there is no docker program on the PATH; install it (https://docs.docker.com/engine/install)")
	}
	address := e.Getenv("DOCKER_HOST")
	if address != "" && !strings.HasPrefix(address, "unix://") {
		return unusable("--platform kind needs an engine on this machine, and DOCKER_HOST is %q: want a unix:// address", address)
	}
	address = e.address()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := e.Run(ctx, "info", "--format", "{{json .}}")
	var info engineInfo
	if decoded := json.Unmarshal([]byte(out), &info); err == nil && decoded != nil {
		err = fmt.Errorf("read the answer of docker info: %w", decoded)
	}
	var gone *goneError
	if errors.As(err, &gone) {
		err = gone.err // no command was started
	}
	if err == nil && len(info.ServerErrors) > 0 { // older programs exit with 0
		err = errors.New(strings.Join(info.ServerErrors, "; "))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return unusable("the Docker engine of %s has not answered for 30 s: %w", address, err)
	case err != nil && strings.Contains(strings.ToLower(err.Error()), "permission denied"):
		return unusable("this user may not use the Docker engine of %s: join the group docker (sudo usermod -aG docker USER) and log in again: %w", address, err)
	case err != nil:
		return unusable("the Docker engine of %s does not answer: start it (sudo systemctl start docker), or set DOCKER_HOST: %w", address, err)
	case len(info.Host) > 0 || info.ServerVersion == "":
		return unusable("the docker program is Podman's, which is not supported: install Docker")
	case info.OSType != "" && info.OSType != "linux":
		return unusable("the Docker engine runs %s containers; want linux", info.OSType)
	case strings.Contains(info.OperatingSystem, "Docker Desktop"):
		return unusable("the engine is Docker Desktop's, in a virtual machine, where the API server cannot reach this program: use Docker Engine")
	}
	for _, option := range info.SecurityOptions {
		if strings.Contains(option, "name=rootless") {
			return unusable("the Docker engine is rootless, which is not supported: the API server in its own user namespace cannot reach this program's socket. Use the system's engine (DOCKER_HOST=unix:///var/run/docker.sock)")
		}
	}
	if info.DockerRootDir == "" || needed == 0 {
		return nil
	}
	free, err := e.Free(info.DockerRootDir)
	if err != nil {
		return unusable("find out how much space is left in %s: %w", info.DockerRootDir, err)
	}
	if free < needed {
		return reason.New(reason.NoSpace, "a Kind cluster needs %d MiB in %s, where Docker keeps containers, and %d MiB are free: remove what you do not need (docker image ls, docker ps -a)", needed>>20, info.DockerRootDir, free>>20)
	}
	return nil
}

// Nodes are the containers of the Kind cluster of that name, also of one that this program did not
// create.
func (e *Engine) Nodes(ctx context.Context, cluster string) ([]string, error) {
	out, err := e.Run(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+clusterLabel+"="+cluster)
	if err != nil {
		return nil, fmt.Errorf("look for a Kind cluster named %s: %w", cluster, err)
	}
	return strings.Fields(out), nil
}

// clusterLabel is kind's, on its containers.
const clusterLabel = "io.x-k8s.kind.cluster"

// Owns reports whether a container has this directory mounted, as the nodes have that were made for
// it: kind takes no labels.
func (e *Engine) Owns(ctx context.Context, container, dir string) (bool, error) {
	out, err := e.Run(ctx, "inspect", "--format", "{{range .Mounts}}{{println .Source}}{{end}}", container)
	if err != nil {
		return false, fmt.Errorf("look at container %s: %w", container, err)
	}
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == dir {
			return true, nil
		}
	}
	return false, nil
}
