package embedded

import (
	"os"
	"path/filepath"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// The API server dials Services (aggregated APIs; webhooks, were they on) through a proxy on a Unix
// socket. Pods are simulated, so a dial to a Service leads nowhere and costs its whole timeout;
// behind the socket the stand-in of APIService answers instead (see apiservice.go). When nobody
// listens on the socket the dial fails at once.

// socketName is short: a Unix socket's path has room for about 100 bytes.
const socketName = "egress.sock"

func (c *ControlPlane) egressConfig() string { return filepath.Join(c.dir, "egress.yaml") }

// EgressSocket is where the API server of the cluster in dir dials Services.
func EgressSocket(dir string) string { return filepath.Join(dir, socketName) }

func (c *ControlPlane) writeEgressConfig() error {
	config, err := simulate.EgressConfig(EgressSocket(c.dir))
	if err != nil {
		return err
	}
	return os.WriteFile(c.egressConfig(), config, 0o600)
}

// ServeAPIs answers for the servers of aggregated APIs in this process until the stand-in is
// closed.
func (c *ControlPlane) ServeAPIs() (*simulate.APIServiceStandIn, error) { return c.ServeServices(nil) }

// ServeServices is ServeAPIs for a cluster with Services that are there, e.g. those of webhooks:
// route says where.
func (c *ControlPlane) ServeServices(route simulate.Route) (*simulate.APIServiceStandIn, error) {
	return simulate.StartAPIServiceStandIn(EgressSocket(c.dir), route)
}
