package embedded

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

// wayOut is how a cell's controllers reach the chart repositories of infra.Egress: a proxy for
// these hosts in this process, whose port the sandbox opens. Programs dial this machine without a
// proxy, so the ports of repositories on it are opened themselves. Nil is no way out.
type wayOut struct {
	egress infra.Egress
	local  []int // the ports of hosts on this machine
	proxy  *egress.Proxy
	port   int
	free   func()
}

// openWayOut starts the proxy, if the cell has hosts for it. Reason: CLUSTER_FAILED.
func (c *cluster) openWayOut() error {
	if c.spec.Egress == nil {
		return nil
	}
	w := &wayOut{egress: *c.spec.Egress}
	var far []string
	for _, h := range w.egress.Hosts {
		_, text, err := net.SplitHostPort(h)
		port, err2 := strconv.Atoi(text)
		if err := errors.Join(err, err2); err != nil {
			return reason.New(reason.ClusterFailed, "open a way to chart repositories: %w", err)
		}
		if egress.Loopback(h) {
			w.local = append(w.local, port)
		} else {
			far = append(far, h)
		}
	}
	c.wayOut = w
	if len(far) == 0 {
		return nil
	}
	ports, err := c.platform.Ports.Take(1)
	if err != nil {
		return err
	}
	w.port = ports[0]
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), err)
	}
	log, err := os.Create(filepath.Join(c.logs, "chart-proxy.log"))
	if err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), err)
	}
	w.free = func() {
		_ = log.Close() // it has a line for people each, and no more comes
		c.platform.Ports.Release(w.port)
	}
	w.proxy, err = egress.Start(net.JoinHostPort("127.0.0.1", strconv.Itoa(w.port)), far, os.Getenv, w.egress.Guard, log)
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	return nil
}

func (w *wayOut) close() {
	if w == nil {
		return
	}
	if w.proxy != nil {
		w.proxy.Close()
	}
	if w.free != nil {
		w.free()
	}
}

// ports are those that the sandbox opens.
func (w *wayOut) ports() []int {
	if w == nil {
		return nil
	}
	if w.proxy == nil {
		return w.local
	}
	return append(slices.Clone(w.local), w.port)
}

// environment takes the place of the proxy that refuses.
func (w *wayOut) environment() []string {
	if w == nil || w.proxy == nil {
		return nil
	}
	return []string{"HTTP_PROXY=" + w.proxy.URL(), "HTTPS_PROXY=" + w.proxy.URL()}
}

func (w *wayOut) repositories() []string {
	if w == nil {
		return nil
	}
	return w.egress.Repositories
}

// plainRegistries are the hosts of OCI repositories on this machine, which speak plain HTTP.
func (w *wayOut) plainRegistries() []string {
	var hosts []string
	for _, r := range w.repositories() {
		u, err := url.Parse(r)
		if err == nil && u.Scheme == "oci" && egress.Loopback(u.Host) && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	return hosts
}
