package podrun

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/nvidia/aicr-action/internal/infra"
)

// young is how old a definition is, at most, for which a program waits. A kubelet pulls an image
// first, so that a program sees the kinds of definitions that were created with it; here it would
// start before the API server serves them, and e.g. prometheus-operator leaves a kind out for ever
// that is not served when it starts.
const young = 30 * time.Second

// definitions knows which kinds of a cluster are served.
type definitions struct {
	metadata  metadata.Interface
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	served    map[types.UID]bool // guarded by Runner.mu
}

// awaitKinds says which kind is not served yet, although its definition was just created; nil if
// there is none. For a definition that the API server does not accept no program waits longer than
// young.
func (r *Runner) awaitKinds(ctx context.Context) error {
	all, err := r.kinds.metadata.Resource(infra.CRDResource).List(ctx, metav1.ListOptions{}) // without their specs, which are large
	if err != nil {
		return fmt.Errorf("list the definitions of kinds: %w", err)
	}
	for i := range all.Items {
		d := &all.Items[i]
		r.mu.Lock()
		known := r.kinds.served[d.UID]
		r.mu.Unlock()
		if known || time.Since(d.CreationTimestamp.Time) > young {
			continue
		}
		if err := r.isServed(ctx, d.Name); err != nil {
			return fmt.Errorf("the definition %s was just created, and the API server does not serve its kind yet: %w", d.Name, err)
		}
		r.mu.Lock()
		r.kinds.served[d.UID] = true
		r.mu.Unlock()
	}
	return nil
}

// isServed is nil if all versions of a definition are served that are to be.
func (r *Runner) isServed(ctx context.Context, name string) error {
	d, err := r.kinds.dynamic.Resource(infra.CRDResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if on, _ := version["served"].(bool); !on {
			continue
		}
		in := schema.GroupVersion{Group: group, Version: fmt.Sprint(version["name"])}.String()
		list, err := r.kinds.discovery.ServerResourcesForGroupVersion(in)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == plural }) {
			return fmt.Errorf("%s is not in %s", plural, in)
		}
	}
	return nil
}
