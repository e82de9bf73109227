package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/gitops"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/podrun"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// cluster is a cell's cluster: a control plane, with a registry, stand-ins and the deployers'
// controllers.
type cluster struct {
	platform *Platform
	spec     infra.Spec
	logs     string // a file per process
	sup      *host.Supervisor
	control  *ControlPlane
	registry *MemoryRegistry

	clients   *infra.Clients
	operators *simulate.OperatorStandIns
	apis      *simulate.APIServiceStandIn
	pods      *podrun.Runner
	real      programs.Choice // what runs for the bundle
	// stopWatching ends the operators' stand-ins and the pods that run; they must not see their API
	// server go.
	stopWatching func()
	kept         bool
	wayOut       *wayOut
	// proxied are the controllers that were made last.
	proxied interface{ apiProxy() *apiProxy }
	jobs    *addons.Runner // nil without controllers of jobs
	nodes   *addons.Runner // of Karpenter; nil without groups of nodes
}

var _ infra.Cluster = (*cluster)(nil)

func (c *cluster) Name() string             { return c.spec.Name }
func (c *cluster) Kubeconfig() string       { return c.control.Kubeconfig() }
func (c *cluster) Clients() *infra.Clients  { return c.clients }
func (c *cluster) Registry() infra.Registry { return c.registry }

// controllerRow is a kind of controllers that clusters here can have: the parts of the stack that
// it needs, and how it is made; nil if another one runs it.
type controllerRow struct {
	kind   infra.ControllerKind
	groups []stack.Group
	make   func(c *cluster, o infra.ControllerOptions) infra.Controllers
}

func controllerTable() []controllerRow {
	return []controllerRow{
		{infra.ArgoCDControllers, []stack.Group{stack.GroupHelm, stack.GroupArgoCD}, newArgoCD}, // the repo-server runs helm
		{infra.FluxControllers, []stack.Group{stack.GroupFlux}, newFlux},
		{infra.ApplicationSetControllers, []stack.Group{stack.GroupArgoCD}, newApplicationSets},
		{infra.HelmfileProgram, []stack.Group{stack.GroupHelm}, newHelmfile}, // and Platform.Helmfile
		{infra.Helm4Program, []stack.Group{stack.GroupHelm4}, nil},           // helmfile runs it
	}
}

func newArgoCD(c *cluster, o infra.ControllerOptions) infra.Controllers {
	a := &ArgoCD{
		Stack: c.platform.Stack, Ports: c.platform.Ports, Sup: c.sup, Clients: c.clients, Kubeconfig: c.Kubeconfig(), Preloaded: c.control.hasPreloaded(stack.GroupArgoCD),
		Dir: filepath.Join(c.spec.Dir, "argocd"), Logs: c.logs, RegistryHost: c.registry.PullHost(), Health: o.Health, Settings: o.Objects, Git: o.Git != "",
		Confine: c.confine(), Policy: c.policy(gitops.ArgoCDPolicy(c.registry.PullHost(), o.Git, c.wayOut.repositories()...)), Env: c.wayOut.environment(), PlainRegistries: c.wayOut.plainRegistries(), Plain: c.platform.PlainControllers,
	}
	c.proxied = a
	return a
}

func newApplicationSets(c *cluster, _ infra.ControllerOptions) infra.Controllers {
	return &applicationSets{
		Stack: c.platform.Stack, Ports: c.platform.Ports, Sup: c.sup, Kubeconfig: c.Kubeconfig(), Dir: filepath.Join(c.spec.Dir, "applicationsets"), Logs: c.logs,
		Confine: c.confine(),
	}
}

func newHelmfile(c *cluster, _ infra.ControllerOptions) infra.Controllers {
	return &helmfile{
		Path: c.platform.Helmfile.Bin(infra.HelmfileProcess), Stack: c.platform.Stack, Sup: c.sup, Kubeconfig: c.Kubeconfig(),
		Dir: filepath.Join(c.spec.Dir, "helmfile"), Logs: c.logs, Confine: c.confine(), Env: c.wayOut.environment(),
	}
}

func newFlux(c *cluster, o infra.ControllerOptions) infra.Controllers {
	f := &Flux{
		Stack: c.platform.Stack, Ports: c.platform.Ports, Sup: c.sup, Clients: c.clients, Kubeconfig: c.Kubeconfig(), Preloaded: c.control.hasPreloaded(stack.GroupFlux),
		Dir: filepath.Join(c.spec.Dir, "flux"), Logs: c.logs,
		Confine: c.confine(), Policy: c.policy(gitops.FluxPolicy(c.registry.PullHost(), o.Root, o.Git, c.wayOut.repositories()...)), Env: c.wayOut.environment(), Plain: c.platform.PlainControllers,
	}
	c.proxied = f
	return f
}

func (c *cluster) Controllers(kind infra.ControllerKind, o infra.ControllerOptions) (infra.Controllers, error) {
	for _, row := range controllerTable() {
		if row.kind == kind && row.make != nil {
			return row.make(c, o), nil
		}
	}
	return nil, reason.New(reason.Internal, "the platform %s has no controllers of kind %s", c.platform.Kind(), kind)
}

// StandIns of an infra.Cluster.
func (c *cluster) StandIns() []string {
	lines := simulate.StandInLines(c.control.schedulers, c.operators, c.apis)
	if c.pods != nil {
		lines = append(append(lines, c.pods.Used()...), c.pods.Answered()...)
	}
	return lines
}

// Unused says which of the user's programs no pod needed.
func (c *cluster) Unused() []infra.Unneeded {
	if c.pods == nil {
		return nil
	}
	return c.pods.Unused(c.platform.Programs)
}

// PlaySchedulers of an infra.Cluster.
func (c *cluster) PlaySchedulers(names []string) { c.control.schedulers = slices.Clone(names) }

// RunOperators of an infra.Cluster.
func (c *cluster) RunOperators(ctx context.Context, objects []bundle.Object) (infra.Operators, error) {
	if c.platform.Real == nil {
		return infra.Operators{}, nil
	}
	real, err := c.platform.Real.Choose(objects)
	if err == nil {
		err = c.platform.Real.Build(ctx, real)
	}
	if err != nil {
		return infra.Operators{}, err
	}
	c.real, c.control.programs = *real, real.Programs
	c.control.webhooks = real.ServesWebhooks(objects)
	if c.control.webhooks {
		c.control.uncalled, err = real.UncalledPolicy()
	}
	return infra.Operators{Lines: real.Lines, Awaited: real.Awaited(objects), Jobs: real.Jobs}, err
}

// serve answers the API server for what is behind Services: pods that run, and stand-ins for the
// rest.
func (c *cluster) serve(clients *infra.Clients) (err error) {
	var route simulate.Route
	if len(c.control.programs) > 0 {
		c.pods, err = podrun.New(podrun.Options{
			Clients: clients, Sup: c.sup, Programs: c.control.programs, Ports: c.platform.Ports, Dir: filepath.Join(c.spec.Dir, "pods"), Logs: c.logs, Log: c.spec.Log, Sandbox: c.confinePods(),
		})
		if err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), err)
		}
		route = c.pods.Route
	}
	if c.apis, err = c.control.ServeServices(route); err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	c.apis.ServeConversions(c.control.authority, clients)
	if c.pods != nil {
		c.apis.ServeKubelet(c.pods.Kubelet())
	}
	return nil
}

// Complaints of an infra.Cluster.
func (c *cluster) Complaints(cause string) []string {
	var all []string
	if c.pods != nil {
		all = c.pods.Complaints(cause)
	}
	if c.operators != nil {
		all = append(all, c.operators.Complaints()...)
	}
	return all
}

var _ infra.Contested = (*cluster)(nil)

// Contested of an infra.Contested.
func (c *cluster) Contested() ([]infra.Contest, error) {
	if c.control.writes == nil {
		return nil, nil
	}
	return c.control.writes.Contested()
}

// Denied says what accounts may not do; see infra.Denial.
func (c *cluster) Denied() []infra.Denial {
	if c.control.writes == nil {
		return nil
	}
	all, err := c.control.writes.Denied()
	if err != nil {
		c.spec.Log.Warn("read what accounts may not do", "err", err)
	}
	return all
}

// Runs of an infra.Cluster.
func (c *cluster) Runs(container *corev1.Container) bool {
	return slices.ContainsFunc(c.control.programs, func(p infra.Program) bool { return p.Of(container) })
}

func (c *cluster) Died() <-chan *infra.DeathError { return c.sup.Died() }

// Processes of an infra.Cluster.
func (c *cluster) Processes() []result.ProcessUse { return c.sup.Uses() }

// PID is the process of a component, 0 if it does not run: for a test that ends it.
func (c *cluster) PID(component string) int {
	if p := c.sup.Process(component); p != nil {
		return p.PID
	}
	return 0
}

func (c *cluster) Snapshot(ctx context.Context, path string, about clusterstate.About) error {
	return c.control.Snapshot(ctx, path, about)
}

func (c *cluster) Tail(_ context.Context, component string, lines int) ([]byte, error) {
	log := filepath.Join(c.logs, component+".log")
	if slices.Contains(c.control.components(), component) {
		log = c.control.log(component)
	}
	return infra.LastLines(log, lines)
}

func (c *cluster) CollectLogs(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(c.logs, "*.log"))
	if err != nil {
		return err
	}
	logs := map[string]string{}
	for _, f := range append(files, c.jobLogs()...) {
		logs[filepath.Base(f)] = f
	}
	for component, f := range c.control.Logs() {
		logs[component+".log"] = f
	}
	return infra.CopyLogs(ctx, dir, logs)
}

// Keep leaves the control plane running, with the files beside its kubeconfig.
func (c *cluster) Keep(ctx context.Context, files map[string][]byte) error {
	errs := []error{c.leaveNodes(ctx)}
	c.endJobs()
	c.endStandIns()
	c.kept = true
	errs = append(errs, c.control.Keep(ctx))
	for name, content := range files {
		if err := os.WriteFile(attachment(c.Kubeconfig(), name), content, 0o600); err != nil {
			errs = append(errs, fmt.Errorf("leave %s with cluster %s: %w", name, c.Name(), err))
		}
	}
	return errors.Join(errs...)
}

func attachment(kubeconfig, name string) string { return filepath.Join(filepath.Dir(kubeconfig), name) }

// Attachment reads a file that Keep left with the cluster of a kubeconfig. An error that is
// fs.ErrNotExist means that it left none.
func Attachment(kubeconfig, name string) ([]byte, error) {
	raw, err := os.ReadFile(attachment(kubeconfig, name))
	if err != nil {
		return nil, fmt.Errorf("read what was left with the cluster of %s: %w", kubeconfig, err)
	}
	return raw, nil
}

func (c *cluster) endStandIns() {
	if c.stopWatching != nil {
		c.stopWatching()
		c.stopWatching = nil
	}
	if c.apis != nil {
		c.apis.Close()
	}
}

// Down ends what was started, the last started first.
func (c *cluster) Down(ctx context.Context) error {
	c.endKarpenter()
	c.endJobs()
	c.endStandIns()
	var err error
	if !c.kept {
		err = c.control.Down(ctx)
	}
	c.registry.Close()
	c.sup.Close(0)
	c.wayOut.close()
	return err
}
