// Package embeddedtest starts clusters of the embedded platform for tests of what runs on them.
// infratest cannot: the platform's own tests import it.
package embeddedtest

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// Start makes a cluster with these nodes, which goes with the test. The platform's stack, paths,
// ports and stages are filled in; the controllers are those that will be started on it. A test that
// fails logs what the pods that ran have printed. It returns the cluster and its directory.
func Start(t *testing.T, p *embedded.Platform, nodes []*corev1.Node, controllers ...infra.ControllerKind) (infra.Cluster, string) {
	t.Helper()
	paths := infratest.Cache(t)
	p.Paths, p.Stack, p.Ports, p.Stages = paths, infratest.Stack(t, paths), host.NewPorts(paths.Ports()), infratest.Stages(t)
	p.Registry = embedded.RegistryPort{Port: embedded.DefaultRegistryPort}
	if err := p.Needs(t.Context(), controllers...); err != nil {
		t.Fatal(err)
	}
	dir := infratest.ShortTempDir(t)
	c, err := p.Cluster(infra.Spec{Name: fmt.Sprintf("test-%d", os.Getpid()), Nodes: nodes, Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Controllers: controllers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(dir, "logs", "pod-*.log"))
			for _, log := range logs {
				data, err := os.ReadFile(log)
				t.Logf("%s: %v\n%s", filepath.Base(log), err, data)
			}
		}
		if err := c.Down(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, dir
}
