package refs

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// Impossible fails if an object of a bundle is Kubernetes' own, so that no delivery of it can end well, whether it is
// the first or an upgrade. Reasons: DEPLOY_FAILED, CLUSTER_FAILED.
func Impossible(ctx context.Context, e *bundle.Expectation, components []recipe.Component, kube kubernetes.Interface) error {
	own, err := findBuiltIn(ctx, e, kube)
	if err != nil {
		return err
	}
	c := newChecker(e, components, nil)
	c.problems(own)
	r := c.Report()
	return r.Err()
}
