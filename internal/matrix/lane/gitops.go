package lane

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// GitOps is what lanes with controllers have in common: controllers of one kind, which pull the
// bundle as one OCI artifact or from a Git repository, and a sync deadline. Such a lane adds its root objects, how its
// objects report, and its debug artifacts.
type GitOps struct {
	Kind infra.ControllerKind
	// With are kinds that are started after Kind.
	With []infra.ControllerKind
	// Root returns the name of the object that delivers a bundle's others, where its controllers
	// accept no other of its kind; nil: they do.
	Root    func(env *Env) string
	running []infra.Controllers
}

// Controllers returns the lane's kinds, in their start order.
func (g *GitOps) Controllers() []infra.ControllerKind {
	return append([]infra.ControllerKind{g.Kind}, g.With...)
}

// Install installs the controllers on the cell's cluster and starts them.
func (g *GitOps) Install(ctx context.Context, env *Env) error { return g.InstallWith(ctx, env, nil) }

// InstallWith is Install with the lane's settings.
func (g *GitOps) InstallWith(ctx context.Context, env *Env, settings []*unstructured.Unstructured) error {
	root := ""
	if g.Root != nil {
		root = g.Root(env)
	}
	repository := ""
	if bundle.ByGit(env.Cell.Deployer) {
		repository = env.Input.RepoURL
	}
	for _, kind := range g.Controllers() {
		controllers, err := env.Cluster.Controllers(kind, infra.ControllerOptions{Health: env.Health, Objects: settings, Root: root, Git: repository})
		if err != nil {
			return err
		}
		g.running = append(g.running, controllers)
		if err := controllers.Install(ctx); err != nil {
			return err
		}
		if err := controllers.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Publish pushes the bundle as one OCI artifact, or as one commit.
func (g *GitOps) Publish(ctx context.Context, env *Env) ([]publish.Published, error) {
	if bundle.ByGit(env.Cell.Deployer) {
		push := publish.PublishGit
		if env.Before != nil {
			push = publish.PublishNext
		}
		pushed, err := push(ctx, env.Bundle, env.PushURL(env.Input.RepoURL), env.Input.TargetRevision, env.Dir)
		if err != nil {
			return nil, reason.New(reason.PublishFailed, "push the bundle: %w", err)
		}
		return []publish.Published{pushed}, nil
	}
	pushed, err := publish.PublishBundle(ctx, env.Bundle, env.PushURL(env.Input.RepoURL)+":"+env.Input.TargetRevision, publish.Own())
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "push the bundle: %w", err)
	}
	return []publish.Published{pushed}, nil
}

// Budget is that of the controllers' kind.
func (g *GitOps) Budget(b Budgets) (grace, sync time.Duration) { return b.Of(g.Kind) }

// TimeoutReason is a sync timeout, which counts as a strike.
func (g *GitOps) TimeoutReason() reason.Reason { return reason.SyncTimeout }

// Unchanged asks each of the controllers.
func (g *GitOps) Unchanged(ctx context.Context) error {
	for _, c := range g.running {
		if err := c.Unchanged(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops the controllers that were installed, in reverse order.
func (g *GitOps) Stop() {
	for _, c := range slices.Backward(g.running) {
		c.Stop()
	}
}
