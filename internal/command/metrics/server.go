package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// metricsPath is where the metrics are.
const metricsPath = "/metrics"

// metricsServer serves one registry until it is closed.
type metricsServer struct {
	server *http.Server
	addr   net.Addr
	ended  chan error
}

// metricsListen opens an address for the metrics of a registry. A port alone ("9090" or ":9090") is one of
// the loopback address, since the metrics name recipes and nodes; port 0 is any free one. Reason of
// an error: USAGE.
func metricsListen(address string, registry *prometheus.Registry) (*metricsServer, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil && !strings.Contains(address, ":") {
		host, port, err = "", address, nil
	}
	if err != nil || port == "" {
		return nil, reason.New(reason.Usage, "--metrics %q: want a port, e.g. 9090, or an address and a port, e.g. 0.0.0.0:9090", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, reason.New(reason.Usage, "--metrics %s: another program listens on %s; choose another port, or 0 for any that is free", address, net.JoinHostPort(host, port))
	case err != nil:
		return nil, reason.New(reason.Usage, "--metrics %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	s := &metricsServer{server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, addr: listener.Addr(), ended: make(chan error, 1)}
	go func() { s.ended <- s.server.Serve(listener) }()
	return s, nil
}

// URL is where a Prometheus reads the metrics.
func (s *metricsServer) URL() string { return "http://" + s.addr.String() + metricsPath }

// Close stops the server, and gives current requests 5 seconds to finish. It returns the error of a
// server that stopped by itself before. It may be called on a nil server.
func (s *metricsServer) Close() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close() // a reader that does not go away
	}
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the metrics at %s: %w", s.URL(), err)
	}
	return nil
}
