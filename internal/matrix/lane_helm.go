package matrix

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// helmLane installs the releases one after another in deploymentOrder with Helm's SDK, without waiting for readiness: what the
// bundle's deploy.sh does (a test runs that too).
type helmLane struct {
	d bundle.Deployer
	inOrder
}

func newHelmLane(d bundle.Deployer) Lane { return &helmLane{d: d} }

var _ Lane = (*helmLane)(nil)

// hookTimeout is Helm's own default for `helm upgrade --install`: how long it waits for a hook.
const hookTimeout = 5 * time.Minute

func (l *helmLane) Deployer() bundle.Deployer { return l.d }

// Deploy starts installing.
func (l *helmLane) Deploy(ctx context.Context, env *Env) error {
	installs := map[string]bundle.Install{}
	var releases []bundle.Release
	for _, in := range env.Bundle.Installs {
		installs[in.Release.Name] = in
		releases = append(releases, in.Release)
	}
	l.start(ctx, releases, func(ctx context.Context, r bundle.Release) error {
		if err := installRelease(ctx, env, installs[r.Name]); err != nil {
			return fmt.Errorf("install chart %s %s: %s", r.Chart, r.ChartVersion, helmError(err))
		}
		return nil
	}, "deployed")
	return nil
}

// errorList is the head that Helm puts before the errors of several objects, or of one.
var errorList = regexp.MustCompile(`\d+ errors? occurred:\s*\n\s*\* `)

// helmError begins with what the API server said: the first line of a failure is what a person reads (faults F37).
func helmError(err error) string {
	lines := strings.Split(strings.TrimSpace(errorList.ReplaceAllString(err.Error(), "")), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimSpace(l), "* ")
	}
	return strings.Join(lines, "\n")
}

// installRelease is `helm upgrade --install` of a release that does not exist yet, which a fresh cluster guarantees.
func installRelease(ctx context.Context, env *Env, in bundle.Install) error {
	cfg, err := helmConfig(ctx, env, in.Release.Namespace)
	if err != nil {
		return err
	}
	install := action.NewInstall(cfg)
	install.ReleaseName = in.Release.Name
	install.Namespace = in.Release.Namespace
	install.CreateNamespace = true
	install.Timeout = hookTimeout
	_, err = install.RunWithContext(ctx, bundle.CloneChart(in.Chart), in.Values)
	return err
}
