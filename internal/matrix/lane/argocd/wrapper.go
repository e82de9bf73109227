package argocd

import (
	"context"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/oci"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// helmLane is argocd-helm-oci: a wrapper chart, pulled from the registry by Helm and then by Argo CD, renders the Applications.
type helmLane struct{ *appLane }

// NewHelm is the lane argocd-helm-oci, for one cell.
func NewHelm(d bundle.Deployer) lane.Lane {
	l := helmLane{newAppLane(d)}
	l.localPath = func(release string) string { return "local/" + release }
	return l
}

var _ lane.Lane = helmLane{}

func (helmLane) Publish(ctx context.Context, env *lane.Env) ([]oci.Published, error) {
	wrapper, err := env.Bundle.Chart("")
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "read the wrapper chart: %w", err)
	}
	pushed, err := oci.PushChart(ctx, wrapper, strings.TrimSuffix(env.PushURL(env.Input.RepoURL), "/"+wrapper.Name()), true)
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "push the wrapper chart: %w", err)
	}
	return []oci.Published{pushed}, nil
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

// Deploy is `helm upgrade --install <recipe>-stack oci://…/aicr/<recipe> --version TAG -n argocd --plain-http --set repoURL=… --set
// targetRevision=TAG`.
func (helmLane) Deploy(ctx context.Context, env *lane.Env) error {
	cfg, err := lane.HelmConfig(ctx, env, infra.ArgoCDNamespace)
	if err != nil {
		return reason.Wrap(reason.DeployFailed, err)
	}
	name := bundle.RecipeName(env.Input.Recipe)
	install := action.NewInstall(cfg)
	install.ReleaseName = bundle.WrapperRelease(name)
	install.Namespace = infra.ArgoCDNamespace
	install.Version = env.Input.TargetRevision
	install.PlainHTTP = true
	install.Timeout = lane.HookTimeout
	settings := cli.New()
	settings.RepositoryCache = filepath.Join(env.Dir, "helm", "cache")
	settings.RepositoryConfig = filepath.Join(env.Dir, "helm", "repositories.yaml")
	ref := env.PushURL(env.Input.RepoURL)
	path, err := install.LocateChart(ref, settings)
	if err != nil {
		return reason.New(reason.DeployFailed, "helm pull %s --version %s: %w", ref, install.Version, err)
	}
	wrapper, err := loader.Load(path)
	if err != nil {
		return reason.New(reason.DeployFailed, "load the wrapper chart: %w", err)
	}
	values := env.Bundle.Values
	if values == nil {
		values = map[string]any{"repoURL": env.Input.RepoURL, "targetRevision": env.Input.TargetRevision}
	}
	if _, err := install.RunWithContext(ctx, wrapper, values); err != nil {
		return reason.New(reason.DeployFailed, "install the wrapper chart: %w", err)
	}
	return nil
}
