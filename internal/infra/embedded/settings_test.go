package embedded

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kwok/pkg/consts"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
)

// Each flag of a component is in the table of settings, or says only where something is: kwokctl
// gives flags of its own, e.g. those that take the priority and fairness of requests off.
func TestSettingsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/contributing/internals.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "## Settings that differ from the defaults\n")
	table, _, ended := strings.Cut(table, "\n## ")
	if !found || !ended {
		t.Fatal("internals.md has no table of settings")
	}
	// places are addresses, files, and what a kubeadm cluster has too.
	places := []string{
		"advertise-address", "advertise-client-urls", "allow-privileged", "authorization-mode", "bind-address", "client-ca-file", "data-dir", "etcd-prefix", "etcd-servers",
		"authentication-kubeconfig", "authorization-kubeconfig", "authorization-always-allow-paths", "config", "controllers", "initial-advertise-peer-urls", "initial-cluster",
		"kubeconfig", "listen-client-urls", "listen-peer-urls", "log-level", "name", "node-monitor-period", "proxy-client-cert-file", "proxy-client-key-file", "root-ca-file", "secure-port",
		"service-account-issuer", "service-account-key-file", "service-account-private-key-file", "service-account-signing-key-file", "tls-cert-file", "tls-private-key-file",
		"use-service-account-credentials", "v",
	}
	c, _ := fakeCluster(t, host.Paths{Root: t.TempDir()}, "x", nil)
	c.guarded, c.programs = true, []infra.Program{{Image: "a"}}
	if err := c.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range []string{consts.ComponentEtcd, consts.ComponentKubeApiserver, consts.ComponentKubeControllerManager, consts.ComponentKubeScheduler} {
		component, err := c.rt.GetComponent(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range component.Args {
			flag, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			seen++
			if !slices.Contains(places, flag) && !strings.Contains(table, flag+"`") {
				t.Errorf("%s has %s, which is not in the table of settings of docs/contributing/internals.md", name, arg)
			}
		}
	}
	if seen < 30 {
		t.Errorf("got %d flags, want those of four components", seen)
	}
}
