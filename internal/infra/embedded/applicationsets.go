package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// applicationSets is Argo CD's applicationset-controller as a host process: the program of Argo CD,
// under its other name.
type applicationSets struct {
	Stack      *stack.Stack
	Ports      *host.Ports
	Sup        *host.Supervisor
	Kubeconfig string
	// Dir gets its private directories; Logs its log file.
	Dir  string
	Logs string
	// Confine is as in ArgoCD. It needs the API server only: a list and the Secrets of clusters are
	// all that a bundle generates from.
	Confine *sandbox.Profile

	taken []int
}

var _ infra.Controllers = (*applicationSets)(nil)

// Install does nothing: its CRD comes with those of Argo CD.
func (*applicationSets) Install(context.Context) error { return nil }

// Start starts the process and waits until it is ready, at most 120 s. Reason: ARGOCD_NOT_READY.
func (a *applicationSets) Start(ctx context.Context) error {
	ports, err := a.Ports.Take(3)
	if err != nil {
		return err
	}
	a.taken = ports
	address := func(i int) string { return "127.0.0.1:" + strconv.Itoa(ports[i]) }
	env := []string{"ARGOCD_BINARY_NAME=" + infra.ArgoCDApplicationSets, "KUBECONFIG=" + a.Kubeconfig}
	for variable, sub := range map[string]string{"TMPDIR": "tmp", "HOME": "home", "ARGOCD_TLS_DATA_PATH": "tls", "ARGOCD_SSH_DATA_PATH": "ssh"} {
		dir := filepath.Join(a.Dir, sub)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.ArgoCDNotReady), fmt.Errorf("make a directory for Argo CD: %w", err))
		}
		env = append(env, variable+"="+dir)
	}
	if _, err := a.Sup.Start(host.ProcessSpec{
		Sandbox: withPorts(a.Confine, ports), Name: infra.ArgoCDApplicationSets, Path: a.Stack.Bin("argocd"), Dir: a.Dir,
		Log: filepath.Join(a.Logs, infra.ArgoCDApplicationSets+".log"), Env: env,
		Args: []string{
			"--kubeconfig", a.Kubeconfig, "--namespace", infra.ArgoCDNamespace, "--metrics-addr", address(0), "--probe-addr", address(1), "--webhook-addr", address(2),
			// RollingSync, which waits for a wave's health, is off by default; generators that ask
			// hosts of source code are on.
			"--enable-progressive-syncs", "--enable-scm-providers=false",
		},
	}); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.ArgoCDNotReady), err)
	}
	// It has no health check at its address for probes.
	return reason.Wrap(reason.ArgoCDNotReady, waitHTTP(ctx, a.Sup, infra.ArgoCDApplicationSets, "http://"+address(0)+"/metrics", 120*time.Second))
}

// Unchanged is nil: the policy is Argo CD's.
func (*applicationSets) Unchanged(context.Context) error { return nil }

// Stop ends the process.
func (a *applicationSets) Stop() {
	if p := a.Sup.Process(infra.ArgoCDApplicationSets); p != nil {
		p.Stop(0)
	}
	a.Ports.Release(a.taken...)
}
