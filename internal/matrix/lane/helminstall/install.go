// Package helminstall installs releases with Helm in a process of its own, one for each cell. A
// template is an untrusted program. At installation it sees the live cluster, and may do there what
// it did not do when the bundle was rendered: never end, or take all memory. Helm can neither
// interrupt one nor limit its resources. The process has the limits of package charts/render. It
// reads only the kubeconfig, reaches the API server and, if it pulls a chart, the registry, and is
// killed with its cell.
//
// It knows releases. It must not know lanes, recipes, or what an error means.
package helminstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/confined"
	"github.com/nvidia/aicr-action/internal/util/reexec"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// Release is a release to install or, if it exists, to upgrade, as `helm upgrade --install` does.
type Release struct {
	Name, Namespace string
	// Chart is the chart, or Pull says where Helm pulls it from. The chart is not changed.
	Chart  *chart.Chart
	Pull   *Pull
	Values map[string]any

	CreateNamespace, SkipSchemaValidation bool
	// Again means that a try before this one failed. Its revision is forgotten, so that the release
	// is what it would have been at once: hooks of an installation run, and no revision is left over
	// that a rollback would meet.
	Again bool
	// ForceConflicts is --force-conflicts of Helm 4: a field that another manager has set to something
	// else is taken over, and a warning of the API server's client says so. Helm 3 has no such flag.
	ForceConflicts bool
}

// Pull is a chart in an OCI registry that speaks plain HTTP.
type Pull struct{ Ref, Version string }

// Step is what Helm was doing.
type Step string

// The steps.
const (
	Pulling    Step = "pull"
	Loading    Step = "load"
	installing Step = "install"
)

// Error is Helm's error, or the limit that the process exceeded. Its reason is the cause's, if that
// has one.
type Error struct {
	Step Step
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// limitError is a release that exceeded a limit during its installation.
type limitError struct{ What string }

func (e *limitError) Error() string {
	return e.What + " when it is installed; without a cluster it rendered within the limits. Look for a template that never ends or repeats itself, " +
		"depending on what lookup, .Capabilities or .Release say"
}

// Limits returns the limits of the process. Time and CPU apply to rendering alone, since hooks may
// take minutes. The largest charts of the recipe set take 2 s of CPU time.
func Limits() render.Limits {
	l := render.Default()
	l.CPU = 20 * time.Second
	return l
}

// Installer installs releases, one after another. It starts its process at first use. Call Close.
type Installer struct {
	// Limits are Limits() if they are zero.
	Limits render.Limits
	// Helm is the major version that delivers, 3 or 4; 0 is 3.
	Helm int

	kubeconfig, apiServer, registry, dir string
	log                                  func(string)
	warnings                             *infra.Warnings

	mu      sync.Mutex
	process *process
}

// New returns the installer of a cell. pulls means that it pulls charts from the cell's registry.
func New(env *lane.Env, pulls bool) *Installer {
	i := &Installer{
		kubeconfig: env.Cluster.Kubeconfig(), apiServer: env.Clients.Config.Host, dir: filepath.Join(env.Dir, "helm"),
		log: func(line string) { env.Log.Debug("helm: " + line) }, warnings: env.Clients.Warnings,
	}
	if pulls {
		i.registry = "http://" + env.Registry.PushHost()
	}
	return i
}

// Install installs a release. Errors are an *Error, ctx's, or that of a process that cannot be
// started. The process is killed when ctx ends.
func (i *Installer) Install(ctx context.Context, r Release) error { return i.request(ctx, encode(r)) }

// Uninstall removes a release, as `helm uninstall --ignore-not-found` does. Errors are as of
// Install.
func (i *Installer) Uninstall(ctx context.Context, name, namespace string) error {
	return i.request(ctx, wireRelease{Name: name, Namespace: namespace, Uninstall: true})
}

// RollBack rolls a release back to what it was some revisions ago, as `helm rollback` does with one.
// Errors are as of Install.
func (i *Installer) RollBack(ctx context.Context, name, namespace string, revisions int) error {
	return i.request(ctx, wireRelease{Name: name, Namespace: namespace, Rollback: revisions})
}

func (i *Installer) request(ctx context.Context, req wireRelease) error {
	req.Helm = i.Helm
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if i.process == nil {
		p, err := i.start()
		if err != nil {
			return fmt.Errorf("start the process in which Helm installs: %w", err)
		}
		i.process = p
	}
	stop := context.AfterFunc(ctx, i.process.kill)
	err := i.process.install(req, i.log, i.warnings)
	if stop(); ctx.Err() != nil {
		i.close()
		return ctx.Err()
	}
	if limit := (*limitError)(nil); i.process.gone() || errors.As(err, &limit) {
		i.close()
	}
	return err
}

// Close stops the process, if there is one.
func (i *Installer) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.close()
}

func (i *Installer) close() {
	if i.process != nil {
		i.process.kill()
		_ = i.process.wait() // it was killed
		i.process = nil
	}
}

// start starts the process with the files and ports that it needs. It creates the process's
// directories, since that may not create any beside its own.
func (i *Installer) start() (*process, error) {
	kubeconfig, err := filepath.Abs(i.kubeconfig)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(i.dir)
	if err != nil {
		return nil, err
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	read, err := infra.KubeconfigFiles(kubeconfig)
	if err != nil {
		return nil, err
	}
	s := settings{Kubeconfig: kubeconfig, Dir: dir, Limits: i.Limits, Profile: sandbox.Profile{ReadWrite: []string{dir}, Read: append(read, kubeconfig)}}
	if s.Limits == (render.Limits{}) {
		s.Limits = Limits()
	}
	for _, address := range []string{i.apiServer, i.registry} {
		if address == "" {
			continue
		}
		port, err := portOf(address)
		if err != nil {
			return nil, err
		}
		s.Profile.Connect = append(s.Profile.Connect, port)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	cmd, err := reexec.Process(command, string(text))
	if err != nil {
		return nil, err
	}
	cmd.Env = append(render.Environment(), "NO_PROXY=127.0.0.1,localhost,::1", "HOME="+dir, "TMPDIR="+tmp)
	cmd.Dir = dir
	return startProcess(cmd)
}

// portOf returns the port of an address, or its scheme's if it names none.
func portOf(address string) (int, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme
	}
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return 0, fmt.Errorf("find the port of %s: %w", strconv.Quote(address), err)
	}
	return n, nil
}

// process is the process that installs, with its pipes. Closing them ends it too, even if this
// program is killed.
type process struct {
	*confined.Process

	mu    sync.Mutex
	ended bool
	err   error
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	render.Register()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // a remaining process of the group has the pipe too
	p, err := confined.Start(cmd, render.Subject)
	if err != nil {
		return nil, err
	}
	return &process{Process: p}, nil
}

// install requests a release and passes on its events, up to its end. The process may have ended
// then.
func (p *process) install(req wireRelease, log func(string), warnings *infra.Warnings) error {
	err := p.Send(req)
	for err == nil {
		var said wireEvent
		if err = p.Receive(&said); err != nil {
			break
		}
		if said.Log != "" {
			log(said.Log)
		}
		if said.Warning != nil {
			warnings.Add(*said.Warning)
		}
		if said.End != nil {
			return said.End.error()
		}
	}
	p.kill()
	err = p.Ended("the process in which Helm installs", err, p.wait())
	if limit := (*confined.LimitError)(nil); errors.As(err, &limit) {
		err = &limitError{What: limit.What}
	}
	return &Error{installing, err}
}

// kill kills the process and its group, unless it has been waited for: its number may have been
// reused then.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // it may have ended
	}
}

// wait waits for the end of a process that was killed, or that is about to exit.
func (p *process) wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.err, p.ended = p.Wait(), true
	}
	return p.err
}

func (p *process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// error returns nil for a success.
func (e *wireEnd) error() error {
	switch {
	case e.Limit != "":
		return &Error{e.Step, &limitError{What: e.Limit}}
	case e.Err == "":
		return nil
	case e.Reason != "":
		return &Error{e.Step, &reason.Error{Reason: e.Reason, Component: e.Component, Err: errors.New(e.Err)}}
	}
	return &Error{e.Step, errors.New(e.Err)}
}
