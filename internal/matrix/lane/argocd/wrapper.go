package argocd

import (
	"context"
	"errors"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helminstall"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// helmLane is argocd-helm-oci: a wrapper chart, pulled from the registry by Helm and then by Argo
// CD, renders the Applications.
type helmLane struct{ *appLane }

// NewHelm returns the lane argocd-helm-oci, for one cell.
func NewHelm(d bundle.Deployer) lane.Lane {
	l := helmLane{newAppLane(d)}
	l.localPath = func(release string) string { return "local/" + release }
	return l
}

var _ lane.Lane = helmLane{}

func (helmLane) Publish(ctx context.Context, env *lane.Env) ([]publish.Published, error) {
	wrapper, err := env.Bundle.Chart("")
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "read the wrapper chart: %w", err)
	}
	pushed, err := publish.PushChart(ctx, wrapper, strings.TrimSuffix(env.PushURL(env.Input.RepoURL), "/"+wrapper.Name()), publish.Own())
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "push the wrapper chart: %w", err)
	}
	return []publish.Published{pushed}, nil
}

// ReadBack adds the release of the wrapper chart.
func (l helmLane) ReadBack(ctx context.Context, env *lane.Env) (lane.Record, error) {
	rec, err := l.appLane.ReadBack(ctx, env)
	if err != nil {
		return rec, err
	}
	wrapper, err := env.Bundle.Chart("")
	if err != nil {
		return rec, err
	}
	release := bundle.WrapperRelease(bundle.RecipeName(env.Input.Recipe))
	rec.Want = append(rec.Want, lane.HelmDelivery(infra.ArgoCDNamespace, release, wrapper.Name(), env.Input.TargetRevision, string(helmrelease.StatusDeployed)))
	return rec, nil
}

// Deploy is `helm upgrade --install <recipe>-stack oci://…/aicr/<recipe> --version TAG -n argocd
// --plain-http --set repoURL=… --set targetRevision=TAG`.
func (helmLane) Deploy(ctx context.Context, env *lane.Env) error {
	values := map[string]any{"repoURL": env.Input.RepoURL, "targetRevision": env.Input.TargetRevision}
	if f := env.Bundle.Foreign; f != nil && f.Values != nil {
		values = f.Values
	}
	installer := helminstall.New(env, true)
	defer installer.Close()
	pull := &helminstall.Pull{Ref: env.PushURL(env.Input.RepoURL), Version: env.Input.TargetRevision}
	err := installer.Install(ctx, helminstall.Release{
		Name: bundle.WrapperRelease(bundle.RecipeName(env.Input.Recipe)), Namespace: infra.ArgoCDNamespace, Pull: pull, Values: values,
	})
	if err == nil {
		return notify(ctx, env)
	}
	what := "install the wrapper chart"
	if failed := (*helminstall.Error)(nil); errors.As(err, &failed) {
		switch failed.Step {
		case helminstall.Pulling:
			what = "helm pull " + pull.Ref + " --version " + pull.Version
		case helminstall.Loading:
			what = "load the wrapper chart"
		}
	}
	return reason.New(reason.DeployFailed, "%s: %w", what, err)
}
