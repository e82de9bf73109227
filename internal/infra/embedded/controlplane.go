package embedded

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/consts"
	kwokruntime "sigs.k8s.io/kwok/pkg/kwokctl/runtime"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// ControlPlane is a control plane of host processes: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kwok.
//
// kwokctl's binary runtime makes the kubeconfig and each component's command line. The processes
// are started here and not by kwokctl, because kwokctl's outlive a killed parent, and because its
// choice of free ports races (see Ports).
type ControlPlane struct {
	name    string
	purpose string
	dir     string // kwokctl's work directory, and everything else of this cluster
	stack   *stack.Stack
	ports   *host.Ports
	sup     *host.Supervisor
	// stages are KWOK stages besides kwokctl's default ones, as YAML documents; one of the same
	// name takes the place of a default one.
	stages []byte
	detach bool
	replay *clusterstate.Snapshot
	open   bool // without a sandbox
	plain  bool // with the waits that upstream has
	// schedulers are the names of schedulers that kube-scheduler simulates.
	schedulers []string
	webhooks   bool
	// programs are those of the pods that run; KWOK leaves them alone.
	programs []infra.Program
	writes   *writesLog // of what accounts write; nil without programs
	// uncalled is a policy by which the API server calls no webhook of a simulated pod, for a
	// cluster with webhooks.
	uncalled []byte
	nodes    int // that it will have, as far as that is known
	// admission are the admission plug-ins besides Kubernetes' defaults.
	admission []string
	// preload are the parts of the stack whose CRDs the cluster has from the start.
	preload []stack.Group

	guarded bool

	taken []int
	// beside are the components of startAdmitting, and released are ports besides those that are
	// taken, which are given back with them.
	beside   []string
	released []int

	// token is the administrator's, once its PKI is written.
	token string
	// authority is that of the stand-ins for conversion webhooks.
	authority *simulate.Authority

	rt    kwokruntime.Runtime
	state *State
}

// ControlPlaneOptions of NewControlPlane.
type ControlPlaneOptions struct {
	Name string
	// Purpose is what `matrix cluster status` says that the cluster is for, e.g. the cell.
	Purpose string
	Paths   host.Paths
	Stack   *stack.Stack
	Ports   *host.Ports
	Sup     *host.Supervisor
	Stages  []byte
	// Detach: the cluster is meant to outlive this program from the start (`matrix cluster up`).
	Detach bool
	// Replay, if set, is the state that the cluster starts with. Such a cluster is for inspection:
	// it has no controller, no scheduler and no kwok, so that no object changes.
	Replay *clusterstate.Snapshot
	// Open starts the processes without a sandbox: for tests of the other protections.
	Open bool
	// Plain keeps the waits that upstream's programs have (--plain-controllers).
	Plain bool
	// Schedulers are the names of schedulers that kube-scheduler simulates.
	Schedulers []string
	// Nodes is how many nodes the cluster will have, 0 if that is not known: the controllers of a
	// large one do more at a time.
	Nodes int
	// Preload are the parts of the stack whose CRDs it has from the start, Established.
	Preload []stack.Group
	// Webhooks lets the API server call admission webhooks. The caller serves them with
	// ServeServices.
	Webhooks bool
	// AdmissionPlugins are those that run besides Kubernetes' defaults.
	AdmissionPlugins []string
	// Guarded keeps the admission policies of package gitops from being changed.
	Guarded bool
}

// NewControlPlane describes a cluster of host processes; Up makes it.
func NewControlPlane(o ControlPlaneOptions) *ControlPlane {
	return &ControlPlane{
		name: o.Name, purpose: o.Purpose, dir: filepath.Join(o.Paths.Clusters(), o.Name), stack: o.Stack, ports: o.Ports, sup: o.Sup, stages: o.Stages, detach: o.Detach,
		replay: o.Replay, open: o.Open, plain: o.Plain, schedulers: o.Schedulers, webhooks: o.Webhooks, nodes: o.Nodes, preload: o.Preload, guarded: o.Guarded, admission: o.AdmissionPlugins,
	}
}

// Name of the cluster; its directory and its processes are named after it.
func (c *ControlPlane) Name() string { return c.name }

// Kubeconfig is the path of an admin kubeconfig; the file exists once Start has returned.
func (c *ControlPlane) Kubeconfig() string {
	return filepath.Join(c.dir, kwokruntime.InHostKubeconfigName)
}

func (c *ControlPlane) log(component string) string {
	return filepath.Join(c.dir, "logs", component+".log")
}

// Logs are the log files of the components that were started, by the name of the component.
func (c *ControlPlane) Logs() map[string]string {
	logs := map[string]string{}
	for _, name := range append(c.components(), c.beside...) {
		logs[name] = c.log(name)
	}
	return logs
}

func (c *ControlPlane) components() []string {
	return append([]string{consts.ComponentEtcd, consts.ComponentKubeApiserver}, c.controllers()...)
}

// controllers are the components that wait for the API server.
func (c *ControlPlane) controllers() []string {
	if c.replay != nil {
		return nil
	}
	return []string{consts.ComponentKubeControllerManager, consts.ComponentKubeScheduler, consts.ComponentKwokController}
}

// Up starts the cluster. It fails if a directory of that name exists, since that is another run's
// cluster.
func (c *ControlPlane) Up(ctx context.Context) error {
	if err := c.install(ctx); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), fmt.Errorf("prepare cluster %s: %w", c.name, err))
	}
	if err := c.start(ctx, consts.ComponentEtcd); err != nil {
		return err
	}
	if err := c.load(ctx); err != nil {
		return err
	}
	if err := c.start(ctx, consts.ComponentKubeApiserver); err != nil {
		return err
	}
	if err := c.waitReady(ctx); err != nil {
		return err
	}
	return c.start(ctx, c.controllers()...)
}

func (c *ControlPlane) start(ctx context.Context, names ...string) error {
	for _, name := range names {
		comp, err := c.rt.GetComponent(ctx, name)
		if err != nil {
			return reason.Wrap(reason.ClusterFailed, fmt.Errorf("find component %s of cluster %s: %w", name, c.name, err))
		}
		p, err := c.sup.Start(host.ProcessSpec{
			Name: name, Path: comp.Binary, Args: comp.Args, Env: c.environment(name, comp.Envs), Dir: c.dir, Log: c.log(name), Detach: c.detach, Sandbox: c.profile(name),
		})
		if err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), err)
		}
		if err := c.state.addProcess(name, p.PID); err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), err)
		}
	}
	return nil
}

// profile returns what a component may do: talk to the other components. The API server also dials
// the stand-ins of aggregated APIs, through a Unix socket in the cluster's directory.
func (c *ControlPlane) profile(component string) *sandbox.Profile {
	if c.open {
		return nil
	}
	return &sandbox.Profile{Connect: c.taken, Bind: c.taken, Unix: component == consts.ComponentKubeApiserver}
}

func (c *ControlPlane) waitReady(ctx context.Context) error {
	return c.waitServer(ctx, c.Kubeconfig(), consts.ComponentEtcd, consts.ComponentKubeApiserver)
}

// waitServer waits until an API server is ready, whose etcd and whose own component have these
// names.
func (c *ControlPlane) waitServer(ctx context.Context, kubeconfig, etcd, server string) error {
	clients, err := infra.NewClients(kubeconfig)
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	err = wait.For(ctx, "the API server of cluster "+c.name, wait.Options{Budget: 60 * time.Second, Interval: 100 * time.Millisecond},
		func(ctx context.Context) wait.Result {
			for _, name := range []string{etcd, server} {
				if c.sup.Process(name) == nil {
					return wait.Never(c.startupDeath(name))
				}
			}
			body, err := clients.Discovery.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
			if err != nil {
				return wait.NotYet("/readyz: %v", err)
			}
			if string(body) != "ok" {
				return wait.NotYet("/readyz says %s", strconv.Quote(string(body)))
			}
			return wait.Done()
		})
	if wait.IsTimeout(err) {
		err = fmt.Errorf("%w\nlast lines of %s:\n%s", err, c.log(server), joinTail(c.log(server)))
	}
	return reason.Wrap(reason.ClusterFailed, err)
}

func (c *ControlPlane) startupDeath(name string) error {
	return &reason.Error{Reason: host.DeathReason(c.log(name), reason.ClusterFailed), Component: name,
		Err: fmt.Errorf("%s of cluster %s ended during start-up; last lines of %s:\n%s", name, c.name, c.log(name), joinTail(c.log(name)))}
}

// Keep ends the processes, which would die with this program, and starts them again detached from
// it: same state, same address.
func (c *ControlPlane) Keep(ctx context.Context) error {
	if c.detach {
		return nil
	}
	for i := len(c.components()) - 1; i >= 0; i-- {
		if p := c.sup.Process(c.components()[i]); p != nil {
			p.Stop(10 * time.Second)
		}
	}
	c.detach = true
	if err := c.state.disown(); err != nil {
		return err
	}
	c.state.Processes = nil
	if err := c.start(ctx, consts.ComponentEtcd, consts.ComponentKubeApiserver); err != nil {
		return err
	}
	if err := c.waitReady(ctx); err != nil {
		return err
	}
	if err := c.dropNodeLeases(ctx); err != nil {
		return err
	}
	if err := c.start(ctx, c.controllers()...); err != nil {
		return err
	}
	return c.waitListening(ctx)
}

// dropNodeLeases removes the leases by which the kwok that was stopped held its nodes. The next one
// has another identity, which no flag sets, and would leave the pods on these nodes Pending until
// the leases run out, 40 s later.
func (c *ControlPlane) dropNodeLeases(ctx context.Context) error {
	clients, err := infra.NewClients(c.Kubeconfig())
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	if err := clients.Kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return reason.Wrap(reason.ClusterFailed, fmt.Errorf("keep cluster %s: remove the leases of its nodes: %w", c.name, err))
	}
	return nil
}

// waitListening waits until the controller manager and the scheduler have their ports: this
// program's locks on the ports end with it, and another run would take one that nothing listens on
// yet.
func (c *ControlPlane) waitListening(ctx context.Context) error {
	if c.replay != nil {
		return nil // it has neither
	}
	dialer := net.Dialer{Timeout: time.Second}
	err := wait.For(ctx, "the controllers of cluster "+c.name, wait.Options{Budget: 60 * time.Second, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
		for _, port := range c.taken[3:5] {
			conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				return wait.NotYet("%v", err)
			}
			_ = conn.Close()
		}
		return wait.Done()
	})
	return reason.Wrap(reason.ClusterFailed, err)
}

// end ends these of its processes that run, the last first.
func (c *ControlPlane) end(components []string) {
	for _, name := range slices.Backward(components) {
		if p := c.sup.Process(name); p != nil {
			p.Stop(0) // nothing in a throwaway cluster is worth a slow goodbye
		}
	}
}

// Down ends the cluster's processes and removes its directory.
func (c *ControlPlane) Down(context.Context) error {
	c.end(c.components())
	c.ports.Release(append(c.taken, c.released...)...)
	if c.state == nil {
		return nil // never came so far as to own the directory
	}
	if err := filesys.RemoveTree(c.dir); err != nil {
		return fmt.Errorf("remove cluster %s: %w", c.name, err)
	}
	return c.state.disown()
}
