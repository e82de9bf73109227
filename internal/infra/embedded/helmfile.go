package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// helmfile is helmfile, which runs helm, as a host process that ends when the bundle is delivered.
type helmfile struct {
	// Path is helmfile. Of Stack is the helm that it runs.
	Path       string
	Stack      *stack.Stack
	Sup        *host.Supervisor
	Kubeconfig string
	// Dir gets its private directories; Logs its log file.
	Dir  string
	Logs string
	// Confine is what it may do besides its own directory: read the kubeconfig, dial the API server
	// and the registry. nil starts it without a sandbox.
	Confine *sandbox.Profile
	// Env is added to its environment.
	Env []string
}

var _ infra.Deliverer = (*helmfile)(nil)

// Install does nothing: no CRD and no configuration is its own.
func (*helmfile) Install(context.Context) error { return nil }

// Start does nothing: Deliver starts it.
func (*helmfile) Start(context.Context) error { return nil }

// Unchanged is nil: it is gone when the gate has passed, and reads nothing that a recipe configures.
func (*helmfile) Unchanged(context.Context) error { return nil }

// HelmVersion of an infra.HelmRunner.
func (p *Platform) HelmVersion(major int) string {
	all, name := p.Stack.Versions(), helmPart(major).Name
	v := all[slices.IndexFunc(all, func(v stack.PartVersion) bool { return v.Name == name })]
	if v.Pulled != nil && v.Pulled.Shared != "" { // whose own version nothing says
		return "of the image of " + v.Pulled.Shared
	}
	return v.Version
}

// helmPart is the program of a major version of Helm; 3 unless it is 4.
func helmPart(major int) stack.Part {
	if major == 4 {
		return stack.GroupHelm4.Parts()[0]
	}
	return stack.GroupHelm.Parts()[0]
}

// mostSaid is the largest log that Deliver returns, in bytes: a hundred times that of 20 releases. A
// warning may be anywhere in it.
const mostSaid = 16 << 20

// Deliver runs `helmfile apply` in a copy of a bundle, as helmfile writes beside what it reads.
// Releases that are not installed yet are not compared first, which only helm-diff could: on a new
// cluster that is all of them. Again, it runs `helmfile sync`, which upgrades each release without
// comparing it, and `helmfile destroy` for a removal. Reasons: NO_SPACE, DEPLOY_FAILED.
func (h *helmfile) Deliver(ctx context.Context, dir string, what infra.Delivery, helm int) (string, error) {
	verb := []string{"apply", "--skip-diff-on-install", "--suppress-secrets"}
	if what != infra.FirstDelivery {
		verb = map[infra.Delivery][]string{infra.SecondDelivery: {"sync"}, infra.Removal: {"destroy"}}[what]
		if err := os.RemoveAll(filepath.Join(h.Dir, "bundle")); err != nil {
			return "", fmt.Errorf("remove helmfile's copy of the bundle: %w", err)
		}
	}
	work, log := filepath.Join(h.Dir, "bundle"), filepath.Join(h.Logs, infra.HelmfileProcess+".log")
	if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
		return "", reason.Wrap(infra.DiskReason(err, reason.Internal), fmt.Errorf("copy the bundle for helmfile: %w", err))
	}
	program := h.Stack.Bin(helmPart(helm).Name)
	profile := running(h.Confine, filepath.Dir(program))
	p, err := h.Sup.Start(host.ProcessSpec{
		Name: infra.HelmfileProcess, Path: h.Path, Dir: h.Dir, WorkDir: work, Log: log, Ends: true, Sandbox: profile, Memory: host.RenderLimit,
		Args: append([]string{"--helm-binary", program, "--kubeconfig", h.Kubeconfig, "--no-color", "--log-level", "debug"}, verb...),
		Env: append([]string{
			"KUBECONFIG=" + h.Kubeconfig, "HELMFILE_UPGRADE_NOTICE_DISABLED=true", "HELMFILE_DISABLE_INSECURE_FEATURES=true", "HELMFILE_DISABLE_HOOKS=true",
			"HELMFILE_CACHE_HOME=" + filepath.Join(h.Dir, "cache"),
		}, h.Env...),
	})
	if err != nil {
		return "", reason.Wrap(infra.DiskReason(err, reason.DeployFailed), err)
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(0)
		return "", ctx.Err()
	}
	said, err := filesys.File(log, mostSaid)
	if err != nil {
		return "", fmt.Errorf("read what helmfile printed: %w", err)
	}
	if code := p.ExitCode(); code != 0 {
		return string(said), fmt.Errorf("helmfile ended with exit code %d", code)
	}
	return string(said), nil
}

// Stop kills it, if it still runs, and every helm of its.
func (h *helmfile) Stop() {
	if p := h.Sup.Process(infra.HelmfileProcess); p != nil {
		p.Stop(0)
	}
}
