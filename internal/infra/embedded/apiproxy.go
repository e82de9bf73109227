package embedded

import (
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/apiproxy"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// apiProxy is the proxy between one controller and the API server. Nil is none
// (--plain-controllers).
type apiProxy struct {
	proxy      *apiproxy.Proxy
	kubeconfig string
	port       int
	free       func()
}

// startAPIProxy starts the proxy of a controller, and writes a kubeconfig for it beside the
// cluster's. The controller's command line still names the cluster. If the proxy stops without
// being closed, the supervisor reports it like the death of a process.
func startAPIProxy(controller apiproxy.Controller, ports *host.Ports, sup *host.Supervisor, kubeconfig, logs string, failed reason.Reason) (*apiProxy, error) {
	name := proxyName(controller)
	path := filepath.Join(logs, name+".log")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, reason.Wrap(infra.DiskReason(err, failed), err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, reason.Wrap(infra.DiskReason(err, failed), err)
	}
	taken, err := ports.Take(1)
	if err != nil {
		_ = log.Close() // it is empty
		return nil, err
	}
	p := &apiProxy{kubeconfig: filepath.Join(filepath.Dir(kubeconfig), name+".kubeconfig"), port: taken[0]}
	p.free = func() {
		_ = log.Close()             // it has a line for people each, and no more comes
		_ = os.Remove(p.kubeconfig) // the proxy at its address has stopped
		ports.Release(taken...)
	}
	dir := filepath.Dir(kubeconfig)
	p.proxy, err = apiproxy.Start(apiproxy.Options{
		For: controller, Kubeconfig: kubeconfig, Output: p.kubeconfig, Certificate: pkiFileIn(dir, "admin.crt"), Key: pkiFileIn(dir, "admin.key"), Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)), Log: log,
		Died: func(err error) {
			sup.Report(&infra.DeathError{Name: name, Err: err, Reason: host.DeathReason(path, reason.ComponentDied), Log: path})
		},
	})
	if err != nil {
		p.free()
		return nil, reason.Wrap(infra.DiskReason(err, failed), err)
	}
	return p, nil
}

// proxyName is the component's name in logs and reports.
func proxyName(controller apiproxy.Controller) string { return string(controller) + "-api-proxy" }

// or is the kubeconfig for the controller: the proxy's, or the cluster's own without a proxy.
func (p *apiProxy) or(kubeconfig string) string {
	if p == nil {
		return kubeconfig
	}
	return p.kubeconfig
}

// open lets a process connect to the proxy.
func (p *apiProxy) open(profile *sandbox.Profile) *sandbox.Profile {
	if p == nil || profile == nil {
		return profile
	}
	all := *profile
	all.Connect = append(all.Connect[:len(all.Connect):len(all.Connect)], p.port)
	all.Read = append(all.Read[:len(all.Read):len(all.Read)], p.kubeconfig)
	return &all
}

// Proxies says how the controllers reach the API server, for the result.
func (c *cluster) Proxies(kind infra.ControllerKind) []string {
	var name apiproxy.Controller
	var does string
	switch kind {
	case infra.ArgoCDControllers:
		name, does = apiproxy.ArgoCD, "OpenAPI documents are sent when they have changed"
	case infra.FluxControllers:
		name, does = apiproxy.Flux, "reads of objects that are not ready are answered when they are, after 4 s at most"
	default:
		return nil // there is no proxy for it
	}
	if c.platform.PlainControllers {
		return []string{string(name) + ": directly to the API server (--plain-controllers)"}
	}
	return []string{string(name) + ": to the API server through a proxy: " + does}
}

func (a *ArgoCD) apiProxy() *apiProxy { return a.proxy }
func (f *Flux) apiProxy() *apiProxy   { return f.proxy }

func (p *apiProxy) close() {
	if p == nil {
		return
	}
	p.proxy.Close()
	p.free()
}
