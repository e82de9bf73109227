package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The API server dials Services (of aggregated APIs, and of webhooks if they are on) through a
// proxy on a Unix socket. Pods are simulated, so a connection to a Service would wait for its whole
// timeout. The stand-in for APIServices listens on the socket and answers instead (see
// apiservice.go). Without a listener on the socket the connection fails at once.

// socketName is short: a Unix socket's path has room for about 100 bytes.
const socketName = "egress.sock"

func (c *ControlPlane) egressConfig() string { return filepath.Join(c.dir, "egress.yaml") }

// longestSocket is how many bytes the path of a Unix socket may have.
func longestSocket() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// CheckCache rejects a cache whose path is so long that the sockets of a run's clusters, with this
// prefix and for so many cells, have no room in theirs. Reason: USAGE.
func CheckCache(paths host.Paths, prefix string, cells int) error {
	over := len(EgressSocket(filepath.Join(paths.Clusters(), fmt.Sprintf("%s-00000000-%d", prefix, cells)))) - longestSocket()
	if over <= 0 {
		return nil
	}
	return reason.New(reason.Usage, "the cache's path %s has %d bytes, and sockets in it leave room for %d: set %s to a shorter one", paths.Root, len(paths.Root), len(paths.Root)-over, host.CacheEnv)
}

// EgressSocket is where the API server of the cluster in dir dials Services.
func EgressSocket(dir string) string { return filepath.Join(dir, socketName) }

func (c *ControlPlane) writeEgressConfig() error {
	config, err := simulate.EgressConfig(EgressSocket(c.dir))
	if err != nil {
		return err
	}
	if c.authority, err = simulate.NewAuthority(); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(c.egressConfig(), config, 0o600), os.WriteFile(c.authorityFile(), c.authority.PEM(), 0o600))
}

// authorityFile has what the API server trusts of what it dials for Services, if the object that
// names a Service has no caBundle.
func (c *ControlPlane) authorityFile() string { return filepath.Join(c.dir, "services-ca.pem") }

// ServeAPIs stands in for the servers of aggregated APIs in this process until the stand-in is
// closed.
func (c *ControlPlane) ServeAPIs() (*simulate.APIServiceStandIn, error) { return c.ServeServices(nil) }

// ServeServices is ServeAPIs for a cluster with Services that a process serves, e.g. those of
// webhooks: route returns their addresses.
func (c *ControlPlane) ServeServices(route simulate.Route) (*simulate.APIServiceStandIn, error) {
	return simulate.StartAPIServiceStandIn(EgressSocket(c.dir), route)
}

// Authority is what the API server trusts of the stand-ins for webhooks that convert.
func (c *cluster) Authority() []byte { return c.control.authority.PEM() }
