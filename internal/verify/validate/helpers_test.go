package validate

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// noKube and noDynamic are clients that panic if a check calls them.
type noKube struct{ kubernetes.Interface }

type noDynamic struct{}

func (noDynamic) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	panic("no cluster may be asked")
}

// outcome runs one check of the table.
func outcome(t *testing.T, name string, in Inputs) Outcome {
	t.Helper()
	c, ok := Lookup(name)
	if !ok {
		t.Fatalf("there is no check %s", name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return c.Run(ctx, in)
}
