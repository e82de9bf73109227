package addons

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// readyBudget is how long a program may take until it is ready.
const readyBudget = 90 * time.Second

// Runner runs schedulers and controllers in one cluster.
type Runner struct {
	Clients *infra.Clients
	// Kubeconfig is a file with which the programs reach the cluster, as an administrator.
	Kubeconfig string
	// Dir is for their files and logs.
	Dir   string
	Ports *host.Ports
	Sup   *host.Supervisor
	// Serve makes the API server's connections to Services go where route says; nil if no webhook
	// of the cluster is called.
	Serve func(route simulate.Route) error
	// Only, if set, is the one namespace that the programs' webhooks are for. The API server then
	// dials them at their ports, without a Service, and what a recipe has delivered is left as it
	// is: no definition that exists is changed.
	Only string
	// Webhooks are the ports for them that the API server may dial, one for each program; with
	// Only.
	Webhooks []int

	taken     []int
	names     []string // of its processes
	installed []string // definitions that the cluster lacked; with Only

	mu     sync.Mutex
	routes []route
}

// Start installs the definitions that a program needs, starts it and waits until it is ready: it
// has said so, under /readyz, within 90 s. Reasons: SCHEDULER_FAILED, NO_SPACE.
func (r *Runner) Start(ctx context.Context, s Scheduler) error {
	if err := r.start(ctx, s); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return reason.Wrap(infra.DiskReason(err, reason.SchedulerFailed), fmt.Errorf("start %s (%s): %w", s, s.Path, err))
	}
	return nil
}

func (r *Runner) start(ctx context.Context, s Scheduler) error {
	dir := filepath.Join(r.Dir, s.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	kubeconfig, serverPort, err := r.login(dir)
	if err != nil {
		return err
	}
	prepare := r.launchFramework
	switch {
	case s.Admits():
		prepare = r.launchKueue
	case s.Controls():
		prepare = r.launchController
	}
	l, err := prepare(ctx, s, dir, kubeconfig)
	if err != nil {
		return err
	}
	return r.run(ctx, l, host.ProcessSpec{
		Name: s.String(), Path: s.Path, Dir: dir, Log: filepath.Join(r.Dir, s.Name+".log"), Args: l.args, Env: []string{"KUBECONFIG=" + kubeconfig},
		Death:   reason.SchedulerFailed,
		Sandbox: &sandbox.Profile{Connect: append([]int{serverPort}, l.connect...), Bind: l.bind},
	})
}

// login writes a kubeconfig for a program into its directory, and gives the port of the API server, which its sandbox must let it
// dial.
func (r *Runner) login(dir string) (kubeconfig string, serverPort int, err error) {
	server, err := url.Parse(r.Clients.Config.Host)
	if err != nil {
		return "", 0, err
	}
	if serverPort, err = strconv.Atoi(server.Port()); err != nil {
		return "", 0, fmt.Errorf("the address of the API server, %s: %w", server, err)
	}
	content, err := infra.FlattenKubeconfig(r.Kubeconfig)
	if err != nil {
		return "", 0, err
	}
	kubeconfig = filepath.Join(dir, "kubeconfig.yaml")
	return kubeconfig, serverPort, os.WriteFile(kubeconfig, content, 0o600)
}

// run starts a program and waits until it is ready; one that is not in time is stopped.
func (r *Runner) run(ctx context.Context, l *launch, spec host.ProcessSpec) error {
	process, err := r.Sup.Start(spec)
	if err != nil {
		return err
	}
	r.names = append(r.names, spec.Name)
	if err := l.wait(ctx, spec.Name, readyBudget, process); err != nil {
		process.Stop(0)
		return fmt.Errorf("%w; the last lines of its log:\n%s", err, lastLines(spec.Log))
	}
	return nil
}

func lastLines(log string) string { return strings.Join(host.Tail(log, 8), "\n") }

// launch is how a program is started, and when it is ready.
type launch struct {
	args          []string
	bind, connect []int  // ports that it listens on, and that it dials besides the API server's
	ready         string // the address that answers with 200 once it is ready
	// meanwhile, if set, does what the program waits for; it is called again and again.
	meanwhile func(context.Context) error
}

// launchFramework prepares a program on the scheduler framework, which has kube-scheduler's flags.
func (r *Runner) launchFramework(ctx context.Context, s Scheduler, dir, kubeconfig string) (*launch, error) {
	if s.CRDs != "" {
		names, err := r.Clients.ApplyCRDs(ctx, s.CRDs)
		if err == nil {
			err = r.Clients.WaitCRDs(ctx, names, time.Minute)
		}
		if err != nil {
			return nil, err
		}
	}
	ports, err := r.Ports.Take(1)
	if err != nil {
		return nil, err
	}
	r.taken = append(r.taken, ports...)
	config, err := s.complete(kubeconfig)
	if err != nil {
		return nil, err
	}
	file, port := filepath.Join(dir, "config.yaml"), strconv.Itoa(ports[0])
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	return &launch{args: []string{"--config=" + file, "--bind-address=127.0.0.1", "--secure-port=" + port}, bind: ports, ready: "https://127.0.0.1:" + port + "/readyz"}, nil
}

// wait waits until the program says that it is ready.
func (l *launch) wait(ctx context.Context, name string, budget time.Duration, process *host.Process) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{ // the program makes a self-signed certificate when it starts
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	return wait.For(ctx, name+" to be ready", wait.Options{Budget: budget, Interval: 200 * time.Millisecond}, func(ctx context.Context) wait.Result {
		select {
		case <-process.Done():
			return wait.Never(fmt.Errorf("it ended with exit code %d", process.ExitCode()))
		default:
		}
		if l.meanwhile != nil {
			if err := l.meanwhile(ctx); err != nil {
				return wait.NotYet("%v", err)
			}
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.ready, nil)
		if err != nil {
			return wait.Never(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return wait.NotYet("/readyz: %v", err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			said, _ := io.ReadAll(io.LimitReader(response.Body, 2000)) // a part is enough
			return wait.NotYet("/readyz answers %s: %s", response.Status, strings.TrimSpace(string(said)))
		}
		return wait.Done()
	})
}

// Death is the error for a component of a cluster that has died: SCHEDULER_FAILED if it is one of
// these programs, otherwise the death as it is.
func Death(death *infra.DeathError) error {
	kind, name, ok := strings.Cut(death.Name, " ")
	if !ok || kind != "scheduler" && kind != "controller" {
		return &reason.Error{Reason: reason.ComponentDied, Component: death.Name, Err: death}
	}
	why := death.Reason
	if why == reason.ComponentDied {
		why = reason.SchedulerFailed
	}
	return &reason.Error{Reason: why, Component: name, Err: fmt.Errorf("%s ended unexpectedly (%w); the last lines of its log:\n%s", death.Name, death.Err, strings.Join(death.Tail, "\n"))}
}

// Stop ends the programs, and gives their ports back.
func (r *Runner) Stop() {
	for _, p := range r.Sup.Processes() {
		if slices.Contains(r.names, p.Spec.Name) {
			p.Stop(0) // it has nothing to save
		}
	}
	r.Ports.Release(r.taken...)
	r.taken = nil
}
