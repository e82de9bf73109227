package lane

import (
	"bytes"
	"context"
	"io"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// laneClient is Helm's client. It polls CRDs more often, and passes on what was rendered.
type laneClient struct {
	*kube.Client
	rendered func(manifest []byte) error // nil: not passed on
}

// Build implements kube.Interface.
func (c laneClient) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	manifest, err := passOn(reader, c.rendered)
	if err != nil {
		return nil, err
	}
	return c.Client.Build(manifest, validate)
}

// passOn reads what is to become objects, and gives it to rendered first, unless that is nil.
func passOn(reader io.Reader, rendered func(manifest []byte) error) (io.Reader, error) {
	if rendered == nil {
		return reader, nil
	}
	manifest, err := io.ReadAll(reader)
	if err == nil {
		err = rendered(manifest)
	}
	return bytes.NewReader(manifest), err
}

// Wait implements kube.Interface. Helm checks every 2 s whether a chart's CRDs are established,
// which takes 100 ms; for ten charts of a recipe that would add 20 s. Helm's own wait still
// follows, and decides.
func (c laneClient) Wait(resources kube.ResourceList, timeout time.Duration) error {
	established(timeout, resources)
	return c.Client.Wait(resources, timeout)
}

// established waits until CRDs are established, 5 s at most, if the first of the objects is one.
func established(timeout time.Duration, resources []*resource.Info) {
	_ = wait.For(context.Background(), "CRDs to be Established", wait.Options{Budget: min(timeout, 5*time.Second), Interval: 50 * time.Millisecond},
		func(context.Context) wait.Result {
			for _, r := range resources {
				if r.Mapping.GroupVersionKind.Group != apiextv1.GroupName {
					return wait.Done() // not the wait for a chart's CRDs
				}
				if err := r.Get(); err != nil {
					return wait.NotYet("%v", err)
				}
				m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Object)
				if err != nil {
					return wait.Done()
				}
				if status, _ := infra.Condition(&unstructured.Unstructured{Object: m}, "Established"); status != "True" {
					return wait.NotYet("%s", r.Name)
				}
			}
			return wait.Done()
		}) // what it says does not count
}
