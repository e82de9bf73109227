package workflows

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// maxApplied is the largest file of --apply, in bytes; CRDs are long.
const maxApplied = 16 << 20

// applyFiles applies the objects of files in order, CRDs and namespaces of each first, and waits
// for CRDs.
func applyFiles(ctx context.Context, c *infra.Clients, files []string) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Discovery))
	for _, file := range files {
		raw, err := filesys.File(file, maxApplied)
		if err != nil {
			return cli.Usagef("--apply: %w", err)
		}
		objects, err := infra.DecodeObjects(raw)
		if err != nil {
			return cli.Usagef("--apply %s: %w", file, err)
		}
		var first, rest []*unstructured.Unstructured
		var crds []string
		for _, o := range objects {
			switch o.GroupVersionKind().GroupKind().String() {
			case "CustomResourceDefinition.apiextensions.k8s.io":
				crds = append(crds, o.GetName())
				first = append(first, o)
			case "Namespace":
				first = append(first, o)
			default:
				rest = append(rest, o)
			}
		}
		for _, group := range [][]*unstructured.Unstructured{first, rest} {
			for _, o := range group {
				if err := applyOne(ctx, c, mapper, o); err != nil {
					return reason.New(reason.WorkflowFailed, "--apply %s: %w", file, err)
				}
			}
			if err := c.WaitCRDs(ctx, crds, time.Minute); err != nil {
				return reason.New(reason.WorkflowFailed, "--apply %s: %w", file, err)
			}
			mapper.Reset()
		}
	}
	return nil
}

func applyOne(ctx context.Context, c *infra.Clients, mapper meta.RESTMapper, o *unstructured.Unstructured) error {
	gvk := o.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Errorf("find the API of %s %s: %w", gvk.Kind, o.GetName(), err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	return c.Apply(ctx, mapping.Resource, o)
}
