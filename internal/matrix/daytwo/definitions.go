package daytwo

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// Definitions does what hook Jobs of a chart do at an upgrade, since their pods are simulated, and
// what a script of the bundle does before one, since that is not run: it brings the
// CustomResourceDefinitions up to date that are in the chart's crds/, which Helm leaves as they are, and creates
// those that are new. It says which, and what the API server rejects, which the comparison then finds.
func (b Bundles) Definitions(ctx context.Context, env *lane.Env) (notes []string, err error) {
	for _, r := range b.Now.Expectation.Releases {
		if namespaceOf(b.Before, r.Name) == "" {
			continue
		}
		i := slices.IndexFunc(b.Now.Installs, func(in bundle.Install) bool { return in.Release.Name == r.Name && in.Chart != nil })
		if i < 0 {
			continue
		}
		crds, err := rendering.CRDs(b.Now.Installs[i].Chart, b.Now.Installs[i].Values)
		if err != nil {
			return notes, err
		}
		crds = slices.DeleteFunc(crds, func(o rendering.Object) bool { return o.Definition == "" })
		wrote := func(does, as string, some []rendering.Object, write definitionWriter) {
			n, err := eachDefinition(ctx, env, some, write)
			if n > 0 {
				notes = append(notes, fmt.Sprintf("%s: in its place, %d from its chart's crds/ were written%s", does, n, as))
			}
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s; those of its chart's crds/ could not be written in its place: %v", does, err))
			}
		}
		if script := r.Given.CRDScript; script != "" {
			wrote(fmt.Sprintf("%s, which is not run, applies the CustomResourceDefinitions of release %s before an upgrade", script, r.Name), "", crds, applied)
			continue
		}
		for _, job := range r.DefinitionJobs {
			wrote(fmt.Sprintf("Job %s of release %s, a hook of the upgrade, may write CustomResourceDefinitions", job.Name, r.Name), " (not verified: what it really does)", writtenBy(job, crds), func(ctx context.Context, client dynamic.ResourceInterface, next *unstructured.Unstructured) (bool, error) {
				return updated(ctx, client, next, job.Creates)
			})
		}
	}
	return notes, ctx.Err()
}

// writtenBy are the definitions that a Job may write. Where it names no file that the chart has, that is not
// known of any, so that it may be each.
func writtenBy(job rendering.DefinitionJob, crds []rendering.Object) []rendering.Object {
	named := slices.DeleteFunc(slices.Clone(crds), func(o rendering.Object) bool { return !job.Writes(o.Template) })
	if len(named) == 0 {
		return crds
	}
	return named
}

// definitionWriter writes one definition, if there is a reason to.
type definitionWriter func(context.Context, dynamic.ResourceInterface, *unstructured.Unstructured) (bool, error)

// eachDefinition returns how many definitions were written.
func eachDefinition(ctx context.Context, env *lane.Env, crds []rendering.Object, write definitionWriter) (n int, err error) {
	for _, crd := range crds {
		var next unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(crd.Definition), &next.Object); err != nil {
			return n, err
		}
		wrote, err := write(ctx, env.Clients.Dynamic.Resource(infra.CRDResource), &next)
		if err != nil {
			return n, err
		}
		if wrote {
			n++
		}
	}
	return n, nil
}

// applied does what kubectl apply --server-side --force-conflicts does.
func applied(ctx context.Context, client dynamic.ResourceInterface, next *unstructured.Unstructured) (bool, error) {
	_, err := client.Apply(ctx, next.GetName(), next, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	return err == nil, err
}

// updated replaces a definition that is in the cluster. One that is not is created, or left out.
func updated(ctx context.Context, client dynamic.ResourceInterface, next *unstructured.Unstructured, create bool) (bool, error) {
	live, err := client.Get(ctx, next.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if create {
			_, err = client.Create(ctx, next, metav1.CreateOptions{})
			return err == nil, err
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	next.SetResourceVersion(live.GetResourceVersion())
	_, err = client.Update(ctx, next, metav1.UpdateOptions{})
	return err == nil, err
}
