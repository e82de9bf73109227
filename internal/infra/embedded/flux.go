package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/apiproxy"
	"github.com/nvidia/aicr-action/internal/infra/gitops"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// Flux is four of Flux's controllers as host processes.
type Flux struct {
	Stack      *stack.Stack
	Ports      *host.Ports
	Sup        *host.Supervisor
	Clients    *infra.Clients
	Kubeconfig string
	Dir        string
	Logs       string
	// Preloaded, Confine and Policy are as in ArgoCD.
	Preloaded bool
	Confine   *sandbox.Profile
	Policy    *gitops.Policy
	// Env is added to the environment of the processes.
	Env []string
	// Plain leaves out the proxy between the helm-controller and the API server (package apiproxy).
	Plain bool

	proxy *apiProxy
	taken []int
}

// Install applies the CRDs that the cluster does not have yet, and the namespace. Reasons:
// FLUX_INSTALL_FAILED, FLUX_CRD_NOT_ESTABLISHED.
func (f *Flux) Install(ctx context.Context) error {
	crds, err := ensureCRDs(ctx, f.Clients, f.Stack.CRDs(stack.GroupFlux), f.Preloaded)
	if err != nil {
		return reason.New(reason.FluxInstallFailed, "apply Flux's CRDs: %w", err)
	}
	if err := f.Clients.WaitCRDs(ctx, crds, 60*time.Second); err != nil {
		return reason.Wrap(reason.FluxCRDMissing, err)
	}
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": infra.FluxNamespace},
	}}
	if err := f.Clients.Apply(ctx, infra.NamespaceGVR, ns); err != nil {
		return reason.New(reason.FluxInstallFailed, "install Flux: %w", err)
	}
	if err := f.Policy.Apply(ctx, f.Clients); err != nil {
		return reason.Wrap(reason.FluxInstallFailed, err)
	}
	return nil
}

// Start starts the controllers and waits until they are ready, at most 180 s. Reason:
// FLUX_NOT_READY.
func (f *Flux) Start(ctx context.Context) error {
	ports, err := f.Ports.Take(10)
	if err != nil {
		return err
	}
	f.taken = ports
	addr := func(i int) string { return "127.0.0.1:" + strconv.Itoa(ports[i]) }
	storage := func(i int, dir string) []string {
		return []string{"--storage-path=" + filepath.Join(f.Dir, dir), "--storage-addr=" + addr(i), "--storage-adv-addr=" + addr(i)}
	}
	controllers := []struct {
		name  string
		args  []string
		ports int // index of the health port; the metrics port is the next
	}{
		{infra.FluxSourceController, append(storage(0, "source"), "--helm-cache-max-size=50", "--helm-cache-ttl=60m"), 2},
		{infra.FluxKustomizeController, []string{"--requeue-dependency=1s", "--no-remote-bases=true"}, 4},
		{infra.FluxHelmController, []string{"--feature-gates=ExternalArtifact=true", "--requeue-dependency=1s", "--concurrent=8"}, 6},
		{infra.FluxSourceWatcher, storage(1, "watcher"), 8},
	}
	if !f.Plain {
		if f.proxy, err = startAPIProxy(apiproxy.Flux, f.Ports, f.Sup, f.Kubeconfig, f.Logs, reason.FluxNotReady); err != nil {
			return err
		}
	}
	for _, c := range controllers {
		tmp := filepath.Join(f.Dir, c.name, "tmp")
		for _, d := range []string{tmp, filepath.Join(f.Dir, "source"), filepath.Join(f.Dir, "watcher")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return reason.Wrap(infra.DiskReason(err, reason.FluxNotReady), fmt.Errorf("make a directory for Flux: %w", err))
			}
		}
		profile := withPorts(f.Confine, ports)
		if c.name == infra.FluxSourceController || c.name == infra.FluxSourceWatcher {
			profile = withPorts(f.Confine, ports, filepath.Join(f.Dir, "source"), filepath.Join(f.Dir, "watcher"))
		}
		kubeconfig := f.Kubeconfig
		if c.name == infra.FluxHelmController {
			profile, kubeconfig = f.proxy.open(profile), f.proxy.or(kubeconfig)
		}
		_, err := f.Sup.Start(host.ProcessSpec{
			Name: c.name, Path: f.Stack.Bin(c.name), Dir: filepath.Join(f.Dir, c.name), Log: filepath.Join(f.Logs, c.name+".log"),
			Args:    append(c.args, "--health-addr="+addr(c.ports), "--metrics-addr="+addr(c.ports+1), "--events-addr=", "--log-level=info"),
			Sandbox: profile, Memory: host.ControllerLimit,
			Env: append([]string{"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + infra.FluxNamespace, "TMPDIR=" + tmp, "HOME=" + tmp}, f.Env...),
		})
		if err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.FluxNotReady), err)
		}
	}
	for _, c := range controllers {
		if err := waitHTTP(ctx, f.Sup, c.name, "http://"+addr(c.ports)+"/readyz", 180*time.Second); err != nil {
			return reason.Wrap(reason.FluxNotReady, err)
		}
	}
	return reason.Wrap(reason.FluxNotReady, f.Policy.WaitInForce(ctx, f.Clients))
}

// Unchanged of an infra.Controllers.
func (f *Flux) Unchanged(ctx context.Context) error { return f.Policy.Unchanged(ctx, f.Clients) }

// Stop ends the controllers.
func (f *Flux) Stop() {
	for _, name := range []string{infra.FluxKustomizeController, infra.FluxHelmController, infra.FluxSourceWatcher, infra.FluxSourceController} {
		if p := f.Sup.Process(name); p != nil {
			p.Stop(0)
		}
	}
	f.proxy.close()
	f.proxy = nil
	f.Ports.Release(f.taken...)
}
