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
	if c.rendered == nil {
		return c.Client.Build(reader, validate)
	}
	manifest, err := io.ReadAll(reader)
	if err == nil {
		err = c.rendered(manifest)
	}
	if err != nil {
		return nil, err
	}
	return c.Client.Build(bytes.NewReader(manifest), validate)
}

// Wait implements kube.Interface. Helm checks every 2 s whether a chart's CRDs are established,
// which takes 100 ms; for ten charts of a recipe that would add 20 s. Helm's own wait still
// follows, and decides.
func (c laneClient) Wait(resources kube.ResourceList, timeout time.Duration) error {
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
	return c.Client.Wait(resources, timeout)
}
