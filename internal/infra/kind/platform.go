// Package kind is the platform whose clusters are containers, made with kind: one real node, on
// which the registry, KWOK, Argo CD and Flux run as pods, beside the recipe's simulated nodes. It
// knows Docker, images, and how these pods are installed. It must not know lanes, the gate or
// recipes, nor the other platform.
package kind

import (
	"context"
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/gitserver"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Name is the platform's on the command line.
const Name = "kind"

// Limits are those of clusters in containers.
func Limits() infra.Limits {
	return infra.Limits{
		Cores: 4,
		Lacks: map[infra.Feature]string{
			infra.Programs:        "there, pods on nodes of the cluster run in containers",
			infra.OtherKubernetes: "its nodes have the version of their image",
			infra.OtherArgoCD:     "its containers have the version of kwok/manifests",
			infra.OtherFlux:       "its containers have the versions of kwok/manifests",
			infra.SidePrograms:    "second schedulers and controllers are programs of this machine, which run beside a cluster of processes",
			infra.DirectCharts:    "pods do not reach repositories on this machine; use --charts upstream",
			infra.ClustersAhead:   "starting a Kind cluster keeps four cores busy, which the running cells need",
			infra.Deliverers:      "helmfile is a program of this machine, where it does not reach the registry that is a container's",
			infra.Snapshots:       "etcd is in a container, where nothing reads it",
		},
		LacksReused: map[infra.Feature]string{
			infra.KeptClusters:  "the one cluster stays, and the next cell or run takes it",
			infra.ParallelCells: "its cells run one after another",
			infra.ClustersAhead: "all cells run in one cluster",
			infra.Chaos:         "the next cell needs whole nodes",
		},
	}
}

// Platform is the platform whose clusters are made by kind.
type Platform struct {
	Paths  host.Paths
	Ports  *host.Ports
	Engine *Engine
	// NodeImage is what nodes run, and RegistryImage the registry. Archive, if set, is a file that
	// has all images; nothing is pulled then.
	NodeImage, RegistryImage string
	Archive                  string
	// Version is the version of Kubernetes in the node image, e.g. v1.36.1. Bundles are made for
	// it, so a cluster with another is refused.
	Version string
	// Stages are KWOK stages besides the default ones, as YAML documents; Operators are those that
	// play operators.
	Stages    []byte
	Operators []simulate.OperatorStage
	// Port is the host's port of a cell's registry; Exact if the user asked for it, otherwise
	// another one is taken if it is not free.
	Port  int
	Exact bool
	// GitPort is the port of a cell's Git server that is tried first; 0 is the usual one.
	GitPort int
	// Reuse, if set, is the name of the one cluster that all cells use, one after another. It is
	// made where it does not exist, and stays.
	Reuse string
	// HostJobs may run on the real node, in a container. Their images are copied into it.
	HostJobs []HostJob
	// Progress, if set, is told about images.
	Progress infra.Progress
	// Provider makes clusters; nil is kind's, with Docker.
	Provider Provider

	installed installed
}

// HostJob are the Jobs of a namespace that are called Name, a dash and one more word, and whose
// containers have this image.
type HostJob struct{ Namespace, Name, Image string }

// Provider is what of kind's provider is used.
type Provider interface {
	Create(name string, options ...kindcluster.CreateOption) error
	Delete(name, kubeconfig string) error
	ListInternalNodes(name string) ([]nodes.Node, error)
	CollectLogs(name, dir string) error
}

var (
	_ infra.Platform = (*Platform)(nil)
	_ Provider       = (*kindcluster.Provider)(nil)
)

// Kind is Name.
func (p *Platform) Kind() string { return Name }

// Fingerprint is the images. Manifests and settings are part of this program.
func (p *Platform) Fingerprint() string {
	images, err := p.Images(controllerKinds()...)
	return fmt.Sprint(Name, images, err)
}

// ServesGit of an infra.Platform: git has to be on this machine, and its part that serves HTTP.
func (p *Platform) ServesGit() error {
	_, err := gitserver.New(context.Background(), "", bundle.GitBranch)
	return reason.Wrap(reason.GitNotReady, err)
}

// KubeVersion is that of the node image.
func (p *Platform) KubeVersion() string { return p.Version }

// APIs are those of the stack, whose version of Kubernetes the node image has.
func (p *Platform) APIs() bundle.APIs { return bundle.StackAPIs() }

// Needs refuses an engine that clusters cannot run in, removes what killed runs left, and makes
// sure that the images are there. Reasons: ENGINE_UNUSABLE, NO_SPACE, IMAGE_MISSING.
func (p *Platform) Needs(ctx context.Context, controllers ...infra.ControllerKind) error {
	if slices.Contains(controllers, infra.KarpenterProgram) {
		return reason.New(reason.Usage, "a node profile of these recipes has groups (spec.groups), whose nodes are made by %s, which runs beside clusters of processes: take profiles without groups (--profiles), or leave out --platform", infra.KarpenterProgram)
	}
	images, err := p.Images(controllers...)
	if err != nil {
		return err
	}
	needed := neededBytes
	if p.Reuse != "" && newState(p.Paths, p.Reuse).kept() {
		needed = neededReused
	}
	if err := p.Engine.check(ctx, needed); err != nil {
		return err
	}
	if err := p.sweep(ctx); err != nil {
		return err
	}
	return p.Engine.EnsureImages(ctx, p.Progress, p.Archive, images)
}

// Plays reports whether a stand-in here writes the status of a kind.
func (p *Platform) Plays(kind schema.GroupVersionKind) bool { return simulate.Plays(p.Operators, kind) }

// Simulates names the admission webhooks. The pods behind them are on simulated nodes, so the API
// server calls none of them.
func (p *Platform) Simulates(objects []bundle.Object) []string {
	return simulate.UncalledWebhooks(objects)
}

// provider is kind's. Its own log goes to the cell's.
func (p *Platform) provider(log kindLogger) Provider {
	if p.Provider != nil {
		return p.Provider
	}
	return kindcluster.NewProvider(kindcluster.ProviderWithDocker(), kindcluster.ProviderWithLogger(log))
}

// maxName is how long a cluster's name may be: its node's, NAME-control-plane, is a host name.
const maxName = 63 - len("-control-plane")

// Cluster takes the host's ports, so that the address that bundles are pushed to is known before
// anything runs. Reasons: USAGE, PORT_TAKEN.
func (p *Platform) Cluster(spec infra.Spec) (infra.Cluster, error) {
	if p.Reuse != "" {
		spec.Name = p.Reuse
	}
	if len(spec.Name) > maxName {
		return nil, reason.New(reason.Usage, "the name of Kind cluster %s has %d characters, and its node's has room for %d: set KWOK_CLUSTER to a shorter prefix", spec.Name, len(spec.Name), maxName)
	}
	if p.Reuse != "" {
		known, err := p.reusable()
		if err != nil {
			return nil, err
		}
		if known != nil {
			c := p.describe(spec, known.APIPort, known.RegistryPort)
			c.record = known
			return c, nil
		}
	}
	port := p.Port
	err := p.Ports.TakeExact(port)
	if err != nil && p.Exact {
		return nil, fmt.Errorf("give the registry of a Kind cluster the port that KWOK_REGISTRY_HOST_PORT names: %w. Another Kind cluster may have it: docker ps --filter publish=%d", err, port)
	}
	if err != nil {
		free, err := p.Ports.Take(1)
		if err != nil {
			return nil, err
		}
		port = free[0]
	}
	api, err := p.Ports.Take(1)
	if err != nil {
		p.Ports.Release(port)
		return nil, err
	}
	c := p.describe(spec, api[0], port)
	c.taken = []int{api[0], port}
	return c, nil
}

func (p *Platform) describe(spec infra.Spec, apiPort, registryPort int) *cluster {
	c := &cluster{
		platform: p, spec: spec, state: newState(p.Paths, spec.Name), apiPort: apiPort,
		provider: p.provider(kindLogger{spec.Log}), died: make(chan *infra.DeathError, 1), stop: func() {},
	}
	c.registry = &registry{cluster: c, port: registryPort}
	c.git.cluster = c
	return c
}

// config is kind's configuration of a cluster.
func (c *cluster) config(ctx context.Context) (*v1alpha4.Cluster, error) {
	conf, err := readConfig()
	if err != nil {
		return nil, err
	}
	conf.Name = c.spec.Name
	enableAdmission(conf, infra.AdmissionPlugins(c.spec.Nodes))
	conf.Networking.APIServerPort = int32(c.apiPort)
	node := &conf.Nodes[0]
	node.Image = c.platform.NodeImage
	if !c.platform.Engine.has(ctx, node.Image) {
		node.Image = untilDigest(node.Image) // from an archive
	}
	node.ExtraPortMappings[0].HostPort = int32(c.registry.port)
	node.ExtraMounts[0].HostPath = c.state.mount()
	return conf, nil
}

// sweep removes the clusters of runs that were killed.
func (p *Platform) sweep(ctx context.Context) error {
	entries, err := os.ReadDir(stateRoot(p.Paths))
	if err != nil {
		return nil // there were never any
	}
	for _, e := range entries {
		s := newState(p.Paths, e.Name())
		if s.kept() { // until the user has deleted its container
			if containers, err := p.Engine.Nodes(ctx, s.name); err != nil || len(containers) > 0 {
				continue
			}
		} else if !s.stale() {
			continue
		}
		task := begin(p.Progress, "Removing what is left of Kind cluster "+s.name)
		err := s.remove(ctx, p.Engine, p.provider(kindLogger{}))
		task.End("", err)
		if err != nil {
			return reason.Wrap(reason.ClusterFailed, fmt.Errorf("remove what is left of Kind cluster %s: %w", s.name, err))
		}
	}
	return nil
}
