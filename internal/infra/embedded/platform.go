// Package embedded is the platform whose clusters are host processes: etcd, the API server,
// controllers and KWOK, with Argo CD, Flux and a registry beside them. It knows command lines,
// ports, logs and directories. It must not know lanes, the gate or recipes.
package embedded

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/gitserver"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Platform is the platform whose clusters are processes on this machine: the control plane and the
// deployers' controllers, compiled from their Go modules. The registry and the stand-ins are in
// this process. It needs neither Docker nor images.
type Platform struct {
	Paths host.Paths
	Stack *stack.Stack
	// Helmfile has the program of infra.HelmfileProgram. It may be nil where no cell needs that.
	Helmfile *stack.Stack
	// Karpenter has the program of infra.KarpenterProgram, likewise.
	Karpenter *stack.Stack
	Ports     *host.Ports
	// Stages are KWOK stages besides kwokctl's default ones, as YAML documents; Operators are those
	// that play operators.
	Stages    []byte
	Operators []simulate.OperatorStage
	Registry  RegistryPort
	// Programs run for the pods with their images (package podrun), and Real chooses more of them for
	// a bundle; nil for none. Every other pod is simulated.
	Programs []infra.Program
	Real     *programs.Set
	// JobControllers are the programs for StartJobControllers. They are compiled by whoever gives them.
	JobControllers []addons.Scheduler
	// Progress, if set, is told what Needs compiles.
	Progress infra.Progress
	// PlainControllers leaves out the proxies between controllers and the API server (package
	// apiproxy).
	PlainControllers bool
	// Without leaves protections out, for tests that show that each of the others is enough. All
	// are in force by default.
	Without Protections
}

// Protections are what keeps a recipe from making the controllers do what it wants on this machine
// (docs/security.md).
type Protections struct {
	Sandbox, Policy bool
	// Static is the policy in the API server's files that keeps Policy from being changed.
	Static bool
}

// RegistryPort is the port of a cell's registry; Exact if the user asked for it, otherwise another
// one is taken if it is not free.
type RegistryPort struct {
	Port  int
	Exact bool
}

var (
	_ infra.Platform   = (*Platform)(nil)
	_ infra.Foreigner  = (*Platform)(nil)
	_ infra.HelmRunner = (*Platform)(nil)
)

// Name is the platform's on the command line.
const Name = "embedded"

// Limits are those of clusters of processes.
func Limits() infra.Limits {
	return infra.Limits{Cores: 1, Cells: 4, Compiled: true, Lacks: map[infra.Feature]string{
		infra.ImageArchive:  "clusters of processes are made of no images",
		infra.ReusedCluster: "a cluster of processes is as quickly made as reset",
	}}
}

// Kind is Name.
func (p *Platform) Kind() string { return Name }

// Fingerprint is the stack, by the digest of its parts list, with what is compiled for which
// machine. Stages and stand-ins are part of this program. A program that cannot be read gives the
// error: no result is taken for that of another one.
func (p *Platform) Fingerprint() string {
	text := fmt.Sprintf("%s %s sandbox=%t policy=%t static=%t proxies=%t", p.Kind(), p.Stack.Identity(), !p.Without.Sandbox, !p.Without.Policy, !p.Without.Static, !p.PlainControllers)
	if p.Helmfile != nil {
		text += " helmfile=" + p.Helmfile.Identity()
	}
	if p.Karpenter != nil {
		text += " karpenter=" + p.Karpenter.Identity()
	}
	if p.Real != nil {
		text += " " + p.Real.Fingerprint()
	}
	for _, program := range p.Programs {
		if program.Unpacked != nil {
			text += fmt.Sprintf(" %s=%s", program.Image, program.Unpacked.Digest)
			continue
		}
		digest, err := filesys.SHA256(program.Path)
		if err != nil {
			digest = err.Error()
		}
		text += fmt.Sprintf(" %s=%s", program.Image, digest)
	}
	return text
}

// KubeVersion is that of the stack.
func (p *Platform) KubeVersion() string { return p.Stack.KubeVersion() }

// APIs are those of the stack, with its version of Kubernetes.
func (p *Platform) APIs() bundle.APIs { return bundle.APIsOf(p.KubeVersion()) }

// StackGroups are the parts of the stack that clusters with these controllers need, in build order.
func StackGroups(controllers ...infra.ControllerKind) []stack.Group {
	groups := []stack.Group{stack.GroupControlPlane}
	for _, row := range controllerTable() {
		if slices.Contains(controllers, row.kind) {
			groups = append(groups, row.groups...)
		}
	}
	return lists.Unique(groups)
}

// HelmfileGroups are the parts of helmfile's own list that these controllers need.
func HelmfileGroups(controllers ...infra.ControllerKind) []stack.Group {
	if slices.Contains(controllers, infra.HelmfileProgram) {
		return stack.HelmfileGroups()
	}
	return nil
}

// KarpenterGroups are the parts of Karpenter's own list that these controllers need.
func KarpenterGroups(controllers ...infra.ControllerKind) []stack.Group {
	if slices.Contains(controllers, infra.KarpenterProgram) {
		return []stack.Group{stack.GroupKarpenter}
	}
	return nil
}

// crdGroups are the parts of the stack that have the CRDs of these controllers.
func crdGroups(controllers []infra.ControllerKind) []stack.Group {
	return slices.DeleteFunc(StackGroups(controllers...), func(g stack.Group) bool { return !g.HasCRDs() })
}

// Needs compiles what is not there yet. Reasons: STACK_BUILD_FAILED, TOOLCHAIN_MISSING.
func (p *Platform) Needs(ctx context.Context, controllers ...infra.ControllerKind) error {
	if err := p.Stack.Build(ctx, p.Progress, StackGroups(controllers...)...); err != nil {
		return err
	}
	for _, own := range []struct {
		name   string
		list   *stack.Stack
		groups []stack.Group
	}{{"helmfile", p.Helmfile, HelmfileGroups(controllers...)}, {"Karpenter", p.Karpenter, KarpenterGroups(controllers...)}} {
		if len(own.groups) == 0 {
			continue
		}
		if own.list == nil {
			return reason.New(reason.Internal, "this platform was made without %s", own.name)
		}
		if err := own.list.Build(ctx, p.Progress, own.groups...); err != nil {
			return err
		}
	}
	return nil
}

// ForeignPrograms of an infra.Foreigner.
func (p *Platform) ForeignPrograms(controllers ...infra.ControllerKind) []infra.ForeignProgram {
	all := p.Stack.Foreign(StackGroups(controllers...)...)
	if p.Helmfile != nil {
		all = append(all, p.Helmfile.Foreign(HelmfileGroups(controllers...)...)...)
	}
	return all
}

// ServesGit of an infra.Platform: git has to be there, and its part that serves HTTP.
func (p *Platform) ServesGit() error {
	_, err := gitserver.New(context.Background(), "", bundle.GitBranch)
	return reason.Wrap(reason.GitNotReady, err)
}

// Plays reports whether a stand-in here writes the status of a kind.
func (p *Platform) Plays(kind schema.GroupVersionKind) bool {
	return simulate.Plays(p.Operators, kind)
}

// Simulates names the admission webhooks that are not called. No process serves the Service of a
// simulated pod; a result says which they were, since what they would have rejected or changed was
// not seen.
func (p *Platform) Simulates(objects []bundle.Object) []string {
	if p.Real != nil {
		if c, err := p.Real.Choose(objects); err == nil { // the cell ends with the error before it starts
			return c.UncalledWebhooks(objects)
		}
	}
	return simulate.UncalledWebhooks(objects)
}

// Cluster takes the registry's port, so that the address that bundles name is known before anything
// runs.
func (p *Platform) Cluster(spec infra.Spec) (infra.Cluster, error) {
	logs := filepath.Join(spec.Dir, "logs")
	registry, err := NewMemoryRegistry(RegistryOptions{Ports: p.Ports, Port: p.Registry.Port, Exact: p.Registry.Exact, Log: filepath.Join(logs, registryName+".log"), Git: filepath.Join(spec.Dir, "git")})
	if err != nil {
		return nil, err
	}
	sup := host.NewSupervisor()
	c := &cluster{
		platform: p, spec: spec, logs: logs, sup: sup, registry: registry,
		control: NewControlPlane(ControlPlaneOptions{Name: spec.Name, Purpose: spec.Purpose, Paths: p.Paths, Stack: p.Stack, Ports: p.Ports, Sup: sup, Stages: p.Stages, Open: p.Without.Sandbox, Plain: p.PlainControllers, Nodes: len(spec.Nodes), Preload: crdGroups(spec.Controllers), AdmissionPlugins: infra.AdmissionPlugins(spec.Alike()),
			Guarded: len(spec.Controllers) > 0 && !p.Without.Static}),
	}
	c.control.programs = p.Programs
	return c, nil
}

// registryName is the registry among the components of a cluster.
const registryName = "registry"

// Up starts the control plane, and then what needs its API server, side by side.
func (c *cluster) Up(ctx context.Context) error {
	if err := c.openWayOut(); err != nil {
		return err
	}
	if err := c.control.Up(ctx); err != nil {
		return err
	}
	clients, err := infra.NewClients(c.Kubeconfig())
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	c.clients = clients
	if err := c.serve(clients); err != nil {
		return err
	}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return simulate.EnsureNodes(gctx, clients, c.spec.Nodes) })
	group.Go(func() error { return simulate.EnsureStorage(gctx, clients, c.spec.Alike()) })
	group.Go(func() error { return c.registry.Start(gctx) })
	group.Go(func() error { return c.startKarpenter(gctx, clients) })
	if err := group.Wait(); err != nil {
		return err
	}
	c.operators = simulate.NewOperatorStandIns(clients, c.spec.Log, c.platform.Operators, c.Runs, c.real.Kinds...)
	if !c.platform.PlainControllers && len(c.control.preload) == 0 { // Argo CD reads its schema anew for each change of a CRD; Flux applies, which does not wait
		c.operators.SettleCRDs()
	}
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	c.stopWatching = func() { stop(); watching.Wait() }
	watching.Go(func() { c.operators.Run(watch) })
	if c.pods != nil {
		watching.Go(func() { c.pods.Run(watch) })
	}
	return nil
}
