package daytwo

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// Definitions does what a hook Job of a chart does at an upgrade, since its pods are simulated, and
// what a script of the bundle does before one, since that is not run: it brings the
// CustomResourceDefinitions up to date that are in the chart's crds/, which Helm leaves as they are. It
// says which, and what the API server rejects, which the comparison then finds.
func (b Bundles) Definitions(ctx context.Context, env *lane.Env) (notes []string, err error) {
	for _, r := range b.Now.Expectation.Releases {
		script := r.Given.CRDScript
		if r.DefinitionJob == "" && script == "" || namespaceOf(b.Before, r.Name) == "" {
			continue
		}
		does, as := fmt.Sprintf("Job %s of release %s, a hook of the upgrade, may write CustomResourceDefinitions", r.DefinitionJob, r.Name), " (not verified: what it really does)"
		if script != "" {
			does, as = fmt.Sprintf("%s, which is not run, applies the CustomResourceDefinitions of release %s before an upgrade", script, r.Name), ""
		}
		n := 0
		for _, in := range b.Now.Installs {
			if in.Release.Name != r.Name || in.Chart == nil {
				continue
			}
			if n, err = writeDefinitions(ctx, env, in, script != ""); err != nil {
				notes = append(notes, fmt.Sprintf("%s; those of its chart's crds/ could not be written in its place: %v", does, err))
			}
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%s: in its place, %d from its chart's crds/ were written%s", does, n, as))
		}
	}
	return notes, ctx.Err()
}

// writeDefinitions writes the definitions of a chart's crds/ that are in the cluster, and all of them
// if it applies them as kubectl does. It returns how many there are.
func writeDefinitions(ctx context.Context, env *lane.Env, in bundle.Install, apply bool) (n int, err error) {
	crds, err := rendering.CRDs(in.Chart, in.Values)
	if err != nil {
		return 0, err
	}
	client := env.Clients.Dynamic.Resource(infra.CRDResource)
	for _, crd := range crds {
		if crd.Definition == "" {
			continue
		}
		var next unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(crd.Definition), &next.Object); err != nil {
			return n, err
		}
		if apply {
			if _, err := client.Apply(ctx, next.GetName(), &next, metav1.ApplyOptions{FieldManager: "kubectl", Force: true}); err != nil {
				return n, err
			}
			n++
			continue
		}
		live, err := client.Get(ctx, next.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return n, err
		}
		next.SetResourceVersion(live.GetResourceVersion())
		if _, err := client.Update(ctx, &next, metav1.UpdateOptions{}); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
