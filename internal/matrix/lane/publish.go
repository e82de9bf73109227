package lane

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ApplyObjects applies the objects that start a deployer. Reason: DEPLOY_FAILED.
func ApplyObjects(ctx context.Context, env *Env, objs ...*unstructured.Unstructured) error {
	for _, o := range objs {
		if err := env.Clients.Apply(ctx, infra.ResourceFor(o.GroupVersionKind()), o); err != nil {
			return reason.Wrap(reason.DeployFailed, err)
		}
	}
	return nil
}

// PushURL returns the address at which this process reaches a URL of the controllers.
func (env *Env) PushURL(url string) string {
	if push, pull := env.Registry.GitHosts(); strings.HasPrefix(url, "http://"+pull+"/") {
		return strings.Replace(url, pull, push, 1)
	}
	return strings.Replace(url, env.Registry.PullHost(), env.Registry.PushHost(), 1)
}

// PublishedDigest returns the digest that was published for a controller to pull as repoURL with
// this chart version or tag.
func (env *Env) PublishedDigest(repoURL, version string) (string, error) {
	for _, p := range env.Published {
		if p.Is(env.PushURL(repoURL), version) {
			return p.Digest, nil
		}
	}
	return "", fmt.Errorf("nothing was published as %s with the version %s", repoURL, version)
}
