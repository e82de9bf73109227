package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// cluster is a cell's Kind cluster, with its registry, stand-ins and the deployers' controllers.
type cluster struct {
	platform *Platform
	spec     infra.Spec
	state    *state
	apiPort  int
	taken    []int // ports that were taken for it
	provider Provider
	registry *registry
	git      gitServer

	node       nodes.Node
	clients    *infra.Clients
	operators  *simulate.OperatorStandIns
	apis       *simulate.APIServiceStandIn
	schedulers []string
	early      []*early
	endCopies  func()        // of early; nil before there are any
	created    chan struct{} // closed when kind's Create has returned; nil before it was called
	died       chan *infra.DeathError
	stop       func() // ends the watches and the operators' stand-ins
	kept       bool
	record     *record   // of a cluster that is reused, once there is something to reuse
	resetAt    time.Time // when it was put back to what it was; zero if it was made for this cell
}

var _ infra.Cluster = (*cluster)(nil)

func (c *cluster) Name() string                   { return c.spec.Name }
func (c *cluster) Kubeconfig() string             { return c.state.kubeconfig() }
func (c *cluster) Clients() *infra.Clients        { return c.clients }
func (c *cluster) Registry() infra.Registry       { return c.registry }
func (c *cluster) Died() <-chan *infra.DeathError { return c.died }
func (c *cluster) PlaySchedulers(names []string)  { c.schedulers = slices.Clone(names) }
func (c *cluster) Runs(*corev1.Container) bool    { return false } // pods of a recipe are simulated here
func (c *cluster) Complaints(string) []string {
	if c.operators == nil {
		return nil
	}
	return c.operators.Complaints()
}
func (c *cluster) RunOperators(context.Context, []bundle.Object) (infra.Operators, error) {
	return infra.Operators{}, nil // infra.Programs is a feature that it lacks
}
func (c *cluster) fail(r reason.Reason, err error) error {
	return reason.Wrap(infra.DiskReason(err, r), err)
}

// Sandbox, Proxies and Processes of an infra.Cluster: its processes are in containers.
func (c *cluster) Sandbox() []string                     { return nil }
func (c *cluster) Proxies(infra.ControllerKind) []string { return nil }
func (c *cluster) Processes() []result.ProcessUse        { return nil }

// Snapshot of an infra.Cluster.
func (c *cluster) Snapshot(context.Context, string, clusterstate.About) error {
	return fmt.Errorf("the state of Kind cluster %s is not saved: its etcd is in a container, where nothing reads it", c.Name())
}

// StartJobControllers of an infra.Cluster.
func (c *cluster) StartJobControllers(context.Context, string, []string) (*infra.JobControllers, error) {
	return nil, reason.New(reason.Internal, "the platform %s runs no controllers of users' jobs", Name)
}

// StandIns of an infra.Cluster.
func (c *cluster) StandIns() []string {
	return simulate.StandInLines(c.schedulers, c.operators, c.apis)
}

// Up makes the cluster, or takes up the one to reuse, and then, side by side, what needs its API
// server.
func (c *cluster) Up(ctx context.Context) error {
	if c.record != nil {
		return c.takeUp(ctx)
	}
	if err := c.refuseForeign(ctx); err != nil {
		return err
	}
	if err := c.state.make(); err != nil {
		return c.fail(reason.ClusterFailed, fmt.Errorf("prepare Kind cluster %s: %w", c.Name(), err))
	}
	if err := c.prepareNode(); err != nil {
		return err
	}
	if err := c.create(ctx); err != nil {
		return err
	}
	return c.serve(ctx, c.furnish)
}

// prepareNode writes what the node reads, and answers on the socket in its directory.
func (c *cluster) prepareNode() error {
	if err := c.state.writeNodeFiles(c.schedulers); err != nil {
		return c.fail(reason.ClusterFailed, fmt.Errorf("prepare Kind cluster %s: %w", c.Name(), err))
	}
	var err error
	// The API server dials its node's kubelet this way, too: for logs, and for kubectl exec.
	if c.apis, err = simulate.StartAPIServiceStandIn(filepath.Join(c.state.mount(), socketName), func(address string) (string, bool, error) { return address, strings.HasSuffix(address, ":10250"), nil }); err != nil {
		return c.fail(reason.ClusterFailed, err)
	}
	return nil
}

// serve watches the node, calls furnish once the API server is ready, and starts the operator
// stand-ins.
func (c *cluster) serve(ctx context.Context, furnish func(context.Context) error) error {
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { defer close(ended); c.watchNode(watch, c.node.String()) }()
	c.stop = func() { stop(); <-ended }
	if err := c.waitControlPlane(ctx); err != nil {
		return err
	}
	if err := furnish(ctx); err != nil {
		return err
	}
	c.operators = simulate.NewOperatorStandIns(c.clients, c.spec.Log, c.platform.Operators, nil)
	stands := make(chan struct{})
	go func() { defer close(stands); c.operators.Run(watch) }()
	pods := make(chan struct{})
	go func() { defer close(pods); c.watchPods(watch) }()
	c.stop = func() { stop(); <-ended; <-stands; <-pods }
	return nil
}

// refuseForeign: a cluster of this name that is there already is someone else's.
func (c *cluster) refuseForeign(ctx context.Context) error {
	there, err := c.platform.Engine.Nodes(ctx, c.Name())
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	if len(there) > 0 {
		return reason.New(reason.ClusterFailed, "make Kind cluster %s: there is one of that name, and it is not this run's: delete it (kind delete cluster --name %s), or set KWOK_CLUSTER to another prefix", c.Name(), c.Name())
	}
	return nil
}

// create has kind make the cluster. kind cannot be cancelled: an ended context is an error at once,
// and Down waits for kind.
func (c *cluster) create(ctx context.Context) error {
	conf, err := c.config(ctx)
	if err != nil {
		return reason.Wrap(reason.Internal, err)
	}
	c.created = make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer close(c.created)
		failed <- c.provider.Create(c.Name(), kindcluster.CreateWithV1Alpha4Config(conf), kindcluster.CreateWithKubeconfigPath(c.Kubeconfig()),
			kindcluster.CreateWithRetain(true)) // its logs are debug artifacts; Down deletes it
	}()
	if err := c.copyEarly(ctx); err != nil {
		return reason.Wrap(reason.Internal, err)
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err != nil {
		return createError(err, c.Name(), c.registry.port)
	}
	if c.node, err = c.findNode(); err != nil {
		return err
	}
	if err := tuneKubeconfig(c.Kubeconfig()); err != nil {
		return c.fail(reason.ClusterFailed, err)
	}
	if c.clients, err = infra.NewClients(c.Kubeconfig()); err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	return nil
}

// findNode asks kind for the cluster's one node.
func (c *cluster) findNode() (nodes.Node, error) {
	list, err := c.provider.ListInternalNodes(c.Name())
	if err != nil {
		return nil, reason.Wrap(reason.ClusterFailed, fmt.Errorf("find the node of Kind cluster %s: %w", c.Name(), kindError(err)))
	}
	if len(list) != 1 {
		return nil, reason.New(reason.ClusterFailed, "find the node of Kind cluster %s: it has %d, want 1", c.Name(), len(list))
	}
	return list[0], nil
}

// tuneKubeconfig takes compression off: the node is on this machine.
func tuneKubeconfig(path string) error {
	cfg, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return err
	}
	for _, cluster := range cfg.Clusters {
		cluster.DisableCompression = true
	}
	return clientcmd.WriteToFile(*cfg, path)
}

// waitControlPlane waits until the API server is ready, since kind's own wait can return before,
// and checks that its version is the one that bundles are made for.
func (c *cluster) waitControlPlane(ctx context.Context) error {
	err := wait.For(ctx, "the API server of Kind cluster "+c.Name(), wait.Options{Budget: 120 * time.Second, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
		body, err := c.clients.Discovery.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err != nil || string(body) != "ok" {
			return wait.NotYet("/readyz: %q %v", body, err)
		}
		v, err := c.clients.Discovery.ServerVersion()
		if err != nil {
			return wait.NotYet("/version: %v", err)
		}
		if v.GitVersion != c.platform.Version {
			return wait.Never(reason.New(reason.ClusterFailed, "the node image %s has Kubernetes %s, and bundles are made for %s: use an image of that version (AICR_ACTION_KIND_NODE_IMAGE, or kind.nodeImage in .settings.yaml)", c.platform.NodeImage, v.GitVersion, c.platform.Version))
		}
		return wait.Done()
	})
	return reason.Wrap(reason.ClusterFailed, err)
}

// Keep leaves the cluster running, pods and all, with the files beside its kubeconfig.
func (c *cluster) Keep(_ context.Context, files map[string][]byte) error {
	c.endStandIns()
	c.kept = true
	errs := []error{c.state.keep()}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(c.state.dir, name), content, 0o600); err != nil {
			errs = append(errs, fmt.Errorf("leave %s with cluster %s: %w", name, c.Name(), err))
		}
	}
	return errors.Join(errs...)
}

func (c *cluster) endStandIns() {
	c.stop()
	c.stop = func() {}
	c.stopCopies()
	c.git.stop()
	if c.apis != nil {
		c.apis.Close()
	}
}

// Down deletes the cluster, if this run made it.
func (c *cluster) Down(ctx context.Context) error {
	c.endStandIns()
	defer c.platform.Ports.Release(c.taken...)
	if c.state.lock == nil { // it never came so far as to own its directory
		return nil
	}
	if c.kept || c.record != nil { // it stays: for the user, or for the next cell
		return c.state.lock.Unlock()
	}
	if c.created != nil {
		<-c.created
	}
	err := c.state.remove(ctx, c.platform.Engine, c.provider)
	if reason.Of(err) == reason.ComponentDied {
		return reason.New(reason.ComponentDied, "Kind cluster %s stays for now, because the Docker engine does not answer: the next run with --platform kind removes it", c.Name())
	}
	return err
}
