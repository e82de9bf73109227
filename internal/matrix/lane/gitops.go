package lane

import (
	"context"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle/oci"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/reason"
)

// GitOps is what lanes with controllers have in common: controllers of one kind, which pull the bundle as one OCI artifact, and a sync
// deadline. What such a lane adds is its root objects, how its objects report, and what it leaves.
type GitOps struct {
	Kind    infra.ControllerKind
	running infra.Controllers
}

// Controllers is the lane's one kind.
func (g *GitOps) Controllers() []infra.ControllerKind { return []infra.ControllerKind{g.Kind} }

// Install installs the controllers on the cell's cluster and starts them.
func (g *GitOps) Install(ctx context.Context, env *Env) error {
	controllers, err := env.Cluster.Controllers(g.Kind, infra.ControllerOptions{Health: env.Health})
	if err != nil {
		return err
	}
	g.running = controllers
	if err := controllers.Install(ctx); err != nil {
		return err
	}
	return controllers.Start(ctx)
}

// Publish pushes the bundle as one OCI artifact.
func (g *GitOps) Publish(ctx context.Context, env *Env) ([]oci.Published, error) {
	pushed, err := oci.PublishBundle(ctx, env.Bundle, env.PushURL(env.Input.RepoURL)+":"+env.Input.TargetRevision, true)
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "push the bundle: %w", err)
	}
	return []oci.Published{pushed}, nil
}

// Budget is that of the controllers' kind.
func (g *GitOps) Budget(b Budgets) (grace, sync time.Duration) { return b.Of(g.Kind) }

// TimeoutReason is a sync timeout, which counts as a strike.
func (g *GitOps) TimeoutReason() reason.Reason { return reason.SyncTimeout }

// Stop ends the controllers, if they were installed.
func (g *GitOps) Stop() {
	if g.running != nil {
		g.running.Stop()
	}
}
