package matrix

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// gitlessPlatform is a platform whose registries are no Git servers.
type gitlessPlatform struct{ infra.Platform }

func (gitlessPlatform) ServesGit() error {
	return reason.New(reason.Usage, "clusters here have no Git server")
}

// A Git lane is rejected before a cluster exists on a platform without a Git server, with the lanes
// that can be run instead, and on a machine without git. Other lanes need neither.
func TestPlan_GitServerMissing(t *testing.T) {
	r := unitRunner(t)
	r.Platform = gitlessPlatform{r.Platform}
	_, err := r.Plan("eks-training", deployers(t, bundle.Helm, bundle.FluxGit))
	if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "flux-git: clusters here have no Git server; pass --deployer helm") {
		t.Errorf("no Git server: got %v", err)
	}
	if _, err := r.Plan("eks-training", deployers(t, bundle.Helm)); err != nil {
		t.Error(err)
	}
	r = unitRunner(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := r.Plan("eks-training", deployers(t, bundle.ArgoCDGit)); reason.Of(err) != reason.GitNotReady || !strings.Contains(err.Error(), "install git") {
		t.Errorf("no git: got %v", err)
	}
	if _, err := r.Plan("eks-training", deployers(t, bundle.ArgoCDOCI)); err != nil {
		t.Error(err)
	}
}
