package lane

import (
	"bytes"
	"context"
	"errors"
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
// which takes 100 ms; for ten charts of a recipe that would add 20 s. Helm's own wait decides about
// all else, and about CRDs that are not established by then.
func (c laneClient) Wait(resources kube.ResourceList, timeout time.Duration) error {
	if established(timeout, resources) {
		return nil
	}
	return c.Client.Wait(resources, timeout)
}

// established waits until CRDs are established, 5 s at most, and reports whether all are: Helm's own
// wait would read the same condition of each once more. One that is established stays so, and is not
// read again: definitions are the largest objects of a bundle. It reports false at once if the first
// of the objects is no CRD.
func established(timeout time.Duration, resources []*resource.Info) bool {
	if len(resources) == 0 {
		return false
	}
	return wait.For(context.Background(), "CRDs to be Established", wait.Options{Budget: min(timeout, 5*time.Second), Interval: 50 * time.Millisecond},
		func(ctx context.Context) wait.Result {
			for ; len(resources) > 0; resources = resources[1:] {
				r := resources[0]
				if r.Mapping.GroupVersionKind.Group != apiextv1.GroupName {
					return wait.Never(errors.New("not the wait for a chart's CRDs"))
				}
				// Of the API server's memory, which may be behind by milliseconds, without a read of etcd.
				got, err := r.Client.Get().Resource(r.Mapping.Resource.Resource).Name(r.Name).Param("resourceVersion", "0").Do(ctx).Get()
				if err != nil {
					return wait.NotYet("%v", err)
				}
				m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(got)
				if err != nil {
					return wait.Never(err)
				}
				if status, _ := infra.Condition(&unstructured.Unstructured{Object: m}, "Established"); status != "True" {
					return wait.NotYet("%s", r.Name)
				}
			}
			return wait.Done()
		}) == nil
}
