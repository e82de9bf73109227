package matrix

import (
	"bytes"
	"context"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// foreignPlatform is a second platform, as small as one can be: its one cluster was started by
// someone else, and all that it has of it is a kubeconfig. The registry is a test server, which the
// controllers know by another name than this program does.
type foreignPlatform struct {
	programs   *embedded.Platform // the deployers' controllers are started as on the embedded platform
	kubeconfig string
}

var _ infra.Platform = (*foreignPlatform)(nil)

func (p *foreignPlatform) Kind() string        { return "foreign" }
func (p *foreignPlatform) KubeVersion() string { return p.programs.KubeVersion() }
func (p *foreignPlatform) APIs() bundle.APIs   { return p.programs.APIs() }
func (p *foreignPlatform) Needs(ctx context.Context, kinds ...infra.ControllerKind) error {
	return p.programs.Needs(ctx, kinds...)
}
func (p *foreignPlatform) Simulates([]bundle.Object) []string {
	return []string{"said by the foreign platform"}
}
func (p *foreignPlatform) Plays(schema.GroupVersionKind) bool { return false }
func (p *foreignPlatform) Fingerprint() string                { return "foreign" }
func (p *foreignPlatform) ServesGit() error                   { return nil }

func (p *foreignPlatform) Cluster(spec infra.Spec) (infra.Cluster, error) {
	server := httptest.NewServer(ociregistry.New(ociregistry.Logger(stdlog.New(io.Discard, "", 0))))
	return &foreignCluster{platform: p, spec: spec, registry: foreignRegistry{server}, sup: host.NewSupervisor()}, nil
}

type foreignRegistry struct{ server *httptest.Server }

func (r foreignRegistry) port() string {
	_, port, _ := net.SplitHostPort(r.server.Listener.Addr().String())
	return port
}
func (r foreignRegistry) PushHost() string              { return "localhost:" + r.port() }
func (r foreignRegistry) PullHost() string              { return "127.0.0.1:" + r.port() }
func (r foreignRegistry) GitHosts() (push, pull string) { return r.PushHost(), r.PullHost() }
func (r foreignRegistry) Start(context.Context) error   { return nil }
func (r foreignRegistry) Stop()                         {}

type foreignCluster struct {
	lanetest.Cluster // for what it does not have
	platform         *foreignPlatform
	spec             infra.Spec
	registry         foreignRegistry
	sup              *host.Supervisor
	clients          *infra.Clients
}

func (c *foreignCluster) Name() string             { return c.spec.Name }
func (c *foreignCluster) Kubeconfig() string       { return c.platform.kubeconfig }
func (c *foreignCluster) Clients() *infra.Clients  { return c.clients }
func (c *foreignCluster) Registry() infra.Registry { return c.registry }
func (c *foreignCluster) logs() string             { return filepath.Join(c.spec.Dir, "foreign-logs") }

func (c *foreignCluster) Died() <-chan *infra.DeathError { return c.sup.Died() }

func (c *foreignCluster) Up(ctx context.Context) (err error) {
	if c.clients, err = infra.NewClients(c.Kubeconfig()); err != nil {
		return err
	}
	if err := simulate.EnsureNodes(ctx, c.clients, c.spec.Nodes); err != nil {
		return err
	}
	return simulate.EnsureStorage(ctx, c.clients, nil)
}

func (c *foreignCluster) Controllers(kind infra.ControllerKind, o infra.ControllerOptions) (infra.Controllers, error) {
	programs := c.platform.programs
	switch kind {
	case infra.ArgoCDControllers:
		return &embedded.ArgoCD{
			Stack: programs.Stack, Ports: programs.Ports, Sup: c.sup, Clients: c.clients, Kubeconfig: c.Kubeconfig(),
			Dir: filepath.Join(c.spec.Dir, "argo"), Logs: c.logs(), RegistryHost: c.registry.PullHost(), Health: o.Health,
		}, nil
	case infra.FluxControllers:
		return &embedded.Flux{
			Stack: programs.Stack, Ports: programs.Ports, Sup: c.sup, Clients: c.clients, Kubeconfig: c.Kubeconfig(),
			Dir: filepath.Join(c.spec.Dir, "flux"), Logs: c.logs(),
		}, nil
	}
	return nil, fmt.Errorf("no controllers of kind %s", kind)
}

func (c *foreignCluster) Tail(context.Context, string, int) ([]byte, error) {
	return nil, fmt.Errorf("its logs are with whoever started it")
}

func (c *foreignCluster) CollectLogs(_ context.Context, dir string) error {
	return os.WriteFile(filepath.Join(dir, "foreign.log"), []byte("collected by the foreign platform\n"), 0o644)
}

func (c *foreignCluster) Down(context.Context) error {
	c.sup.Close(0)
	c.registry.server.Close()
	return nil
}

// TestLanesOnAnotherPlatform: the lanes do not notice on which platform they are. One passes on a
// cluster that another program started, which still exists afterwards.
func TestLanesOnAnotherPlatform(t *testing.T) {
	t.Parallel()
	onAnotherPlatform(t, bundle.FluxOCI)
}

func onAnotherPlatform(t *testing.T, name string) {
	t.Helper()
	base := stackRunner(t)
	infratest.Slots(t, 1)
	runner := *base
	programs := embeddedOf(base)
	sup := host.NewSupervisor()
	t.Cleanup(func() { sup.Close(0) })
	theirs := embedded.NewControlPlane(embedded.ControlPlaneOptions{
		Name: "foreign-" + runner.RunID + "-" + name, Paths: programs.Paths, Stack: programs.Stack, Ports: programs.Ports, Sup: sup, Stages: programs.Stages,
	})
	t.Cleanup(func() {
		if err := theirs.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := theirs.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	runner.Platform = &foreignPlatform{programs, theirs.Kubeconfig()}
	runner.Dir = t.TempDir()
	runner.Artifacts, runner.Progress = filepath.Join(runner.Dir, "artifacts"), testProgress{t}
	var log bytes.Buffer
	runner.Log = &log
	newTinyRecipe().use(t, &runner)
	res := runner.Run(t.Context(), plansOf(t, &runner, "tiny", deployers(t, name)...)[0])
	if res.Status != result.Passed || res.Pods != 3 || res.Cluster != "foreign" || strings.Join(res.StandIns, ",") != "said by the foreign platform" {
		t.Errorf("got %s %s with %d pods on %s, stand-ins %q: %s\n%s", res.Status, res.Reason, res.Pods, res.Cluster, res.StandIns, res.Cause, strings.Join(res.Details, "\n"))
	}
	testkit.WantText(t, "the logs", testkit.ReadFile(t, res.Artifacts, "logs/foreign.log"), "collected by the foreign platform")
	clients, err := infra.NewClients(theirs.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if nodes, err := clients.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil || len(nodes.Items) != 6 {
		t.Errorf("the cluster is not as it was: %v", err)
	}
}
