package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// A reused cluster is one cluster for all cells, of this run and of later ones. The parts that are
// expensive to start stay: the node, its images, KWOK, the registry and the deployers' controllers.
// All that a cell leaves behind is in etcd. So the data of etcd is reset to its state before the
// first recipe, and no object has to be found and deleted.

// record is what is known of a cluster that is reused, in its directory.
type record struct {
	Created      time.Time `json:"created"`
	APIPort      int       `json:"apiPort"`
	RegistryPort int       `json:"registryPort"`
	// Fingerprint is of everything that the harness installs; Controllers are those that are
	// installed.
	Fingerprint string                 `json:"fingerprint"`
	Controllers []infra.ControllerKind `json:"controllers"`
}

const recordFile = "reuse.json"

func (s *state) record() (*record, error) {
	raw, err := os.ReadFile(filepath.Join(s.dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &record{}
	if err == nil {
		err = json.Unmarshal(raw, r)
	}
	if err != nil {
		return nil, reason.New(reason.ClusterFailed, "read what is known of Kind cluster %s, which is to be reused: %w. Remove it: matrix cluster down --name %s", s.name, err, s.name)
	}
	return r, nil
}

func (s *state) write(r *record) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, recordFile), append(raw, '\n'), 0o600)
}

// reusable is the record of the cluster to reuse, nil if it is still to be made. Reasons:
// CLUSTER_FAILED, PORT_TAKEN.
func (p *Platform) reusable() (*record, error) {
	s := newState(p.Paths, p.Reuse)
	if !s.kept() {
		return nil, nil
	}
	r, err := s.record()
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, reason.New(reason.ClusterFailed, "reuse Kind cluster %s: a run with --keep left it, with a recipe in it. Remove it (matrix cluster down --name %s), or set KWOK_CLUSTER to another name", p.Reuse, p.Reuse)
	}
	want, err := p.read()
	if err != nil {
		return nil, reason.Wrap(reason.Internal, err)
	}
	if r.Fingerprint != want.digest {
		return nil, reason.New(reason.ClusterFailed, "reuse Kind cluster %s: another version of this program made it, or its images were others. Remove it (matrix cluster down --name %s), and the next run creates it again", p.Reuse, p.Reuse)
	}
	if p.Exact && r.RegistryPort != p.Port {
		return nil, reason.New(reason.PortTaken, "reuse Kind cluster %s: its registry has port %d for good, and KWOK_REGISTRY_HOST_PORT is %d. Unset it, or remove the cluster (matrix cluster down --name %s)", p.Reuse, r.RegistryPort, p.Port, p.Reuse)
	}
	return r, nil
}

// takeUp makes a cluster that is there ready for another cell.
func (c *cluster) takeUp(ctx context.Context) error {
	refuse := func(format string, args ...any) error {
		return reason.Wrap(reason.ClusterFailed, fmt.Errorf("reuse Kind cluster %s: "+format, append([]any{c.Name()}, args...)...))
	}
	if err := c.state.take(); err != nil {
		return refuse("%w", err)
	}
	found, err := c.platform.Engine.Nodes(ctx, c.Name())
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	if len(found) != 1 {
		return refuse("it has %d containers, want 1. Remove what is left of it: matrix cluster down --name %s", len(found), c.Name())
	}
	ours, err := c.platform.Engine.Owns(ctx, found[0], c.state.mount())
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	if !ours {
		return refuse("container %.12s is not of the cluster that this program made. Set KWOK_CLUSTER to another name", found[0])
	}
	running, err := c.platform.Engine.Run(ctx, "inspect", "--format", "{{.State.Running}}", found[0])
	if err != nil {
		return refuse("look at its container: %w", err)
	}
	if strings.TrimSpace(running) != "true" {
		return refuse("its container %.12s does not run. Remove it: matrix cluster down --name %s", found[0], c.Name())
	}
	if err := c.prepareNode(); err != nil {
		return err
	}
	if c.node, err = c.findNode(); err != nil {
		return err
	}
	if c.resetAt, err = c.platform.Engine.reset(ctx, c.node.String()); err != nil {
		return c.fail(reason.ClusterFailed, fmt.Errorf("put Kind cluster %s back to what it was: %w. If that lasts, remove it: matrix cluster down --name %s", c.Name(), err, c.Name()))
	}
	if c.clients, err = infra.NewClients(c.Kubeconfig()); err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	return c.serve(ctx, c.refurnish)
}

// refurnish waits for what is installed, and gives the cluster the nodes of this cell.
func (c *cluster) refurnish(ctx context.Context) error {
	if err := c.waitRestarted(ctx); err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	nodes := c.clients.Kube.CoreV1().Nodes()
	old, err := nodes.List(ctx, metav1.ListOptions{LabelSelector: simulatedLabel})
	if err != nil {
		return reason.Wrap(reason.NodesFailed, fmt.Errorf("list the nodes of the cell before: %w", err))
	}
	for _, n := range old.Items {
		if err := nodes.Delete(ctx, n.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return reason.Wrap(reason.NodesFailed, fmt.Errorf("delete a node of the cell before: %w", err))
		}
	}
	if err := simulate.EnsureNodes(ctx, c.clients, c.nodes()); err != nil {
		return err
	}
	return c.registry.Start(ctx)
}

// waitRestarted waits until each pod on the real node has been started again and is ready: what the
// API server says of them at first is from before.
func (c *cluster) waitRestarted(ctx context.Context) error {
	since := c.resetAt.Truncate(time.Second)
	return wait.For(ctx, "the pods of Kind cluster "+c.Name()+" to start again", wait.Options{Budget: 180 * time.Second, Interval: 250 * time.Millisecond}, func(ctx context.Context) wait.Result {
		list, err := c.clients.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + c.node.String()})
		if err != nil {
			return wait.NotYet("list pods: %v", err)
		}
		for _, p := range list.Items {
			for _, s := range p.Status.ContainerStatuses {
				if s.State.Running == nil || s.State.Running.StartedAt.Time.Before(since) || !s.Ready {
					return wait.NotYet("pod %s/%s is not ready again", p.Namespace, p.Name)
				}
			}
		}
		if len(list.Items) == 0 {
			return wait.NotYet("there are no pods")
		}
		return wait.Done()
	})
}

// remember saves the state of a cluster that is reused, which has these controllers by now. No
// recipe is in it.
func (c *cluster) remember(ctx context.Context, installed ...infra.ControllerKind) error {
	if !c.reused() {
		return nil
	}
	have, err := c.platform.read()
	if err != nil {
		return reason.Wrap(reason.Internal, err)
	}
	if err := c.platform.Engine.save(ctx, c.node.String()); err != nil {
		return c.fail(reason.ClusterFailed, fmt.Errorf("save the state of Kind cluster %s: %w", c.Name(), err))
	}
	if c.record == nil {
		c.record = &record{Created: time.Now().UTC(), APIPort: c.apiPort, RegistryPort: c.registry.port, Fingerprint: have.digest}
	}
	c.record.Controllers = append(c.record.Controllers, installed...)
	if err := errors.Join(c.state.write(c.record), c.state.keep()); err != nil {
		return c.fail(reason.ClusterFailed, fmt.Errorf("note down what Kind cluster %s has: %w", c.Name(), err))
	}
	return nil
}

// reused reports whether the cluster is one that all cells use.
func (c *cluster) reused() bool { return c.platform.Reuse != "" }

// has reports whether all these controllers are installed already.
func (c *cluster) has(kinds ...infra.ControllerKind) bool {
	for _, kind := range kinds {
		if c.record == nil || !slices.Contains(c.record.Controllers, kind) {
			return false
		}
	}
	return true
}
