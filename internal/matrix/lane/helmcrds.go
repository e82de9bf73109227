package lane

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

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

// established waits until CRDs are established, 5 s at most, and reports whether all are. It asks for
// the kinds of their groups, of which the API server lists those that are established
// (apiextensions-apiserver, customresource_discovery_controller.go): one small document for all
// definitions of a group, where Helm's own wait reads each of them, the largest objects of a bundle.
// It reports false at once if the first of the objects is no CRD.
func established(timeout time.Duration, resources []*resource.Info) bool {
	var missing []servedKind
	for _, r := range resources {
		kind, ok := servedOf(r)
		if !ok {
			return false
		}
		missing = append(missing, kind)
	}
	if len(missing) == 0 {
		return false
	}
	return wait.For(context.Background(), "CRDs to be Established", wait.Options{Budget: min(timeout, 5*time.Second), Interval: 50 * time.Millisecond},
		func(ctx context.Context) wait.Result {
			listed := map[string]bool{}
			for i, kind := range missing {
				if i == 0 || kind.path != missing[i-1].path {
					var list metav1.APIResourceList
					raw, err := kind.client.Get().AbsPath(kind.path).Do(ctx).Raw()
					if err == nil {
						err = json.Unmarshal(raw, &list)
					}
					if err != nil {
						missing = missing[i:]
						return wait.NotYet("%v", err)
					}
					for _, r := range list.APIResources {
						listed[kind.path+"/"+r.Name] = true
					}
				}
				if !listed[kind.path+"/"+kind.plural] {
					missing = missing[i:]
					return wait.NotYet("%s", kind.plural)
				}
			}
			return wait.Done()
		}) == nil
}

// servedKind is what a definition will have served: a resource of the kinds at a path.
type servedKind struct {
	client       resource.RESTClient
	path, plural string
}

// servedOf is false of what is no definition, or of one that no version serves.
func servedOf(r *resource.Info) (servedKind, bool) {
	if r.Mapping.GroupVersionKind.Group != apiextv1.GroupName {
		return servedKind{}, false
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Object)
	if err != nil {
		return servedKind{}, false
	}
	versions, _, _ := unstructured.NestedSlice(m, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); name != "" && version["served"] == true {
			group, _, _ := unstructured.NestedString(m, "spec", "group")
			plural, _, _ := unstructured.NestedString(m, "spec", "names", "plural")
			return servedKind{r.Client, "/apis/" + group + "/" + name, plural}, group != "" && plural != ""
		}
	}
	return servedKind{}, false
}
