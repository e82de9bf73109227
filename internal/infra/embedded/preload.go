package embedded

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// crdPrefix is where the API server keeps CRDs in etcd.
const crdPrefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/"

// preloadedCRDs are CRDs that are written into etcd before the API server of a cell starts, as if
// they had been applied before, and were Established. Applying the 1.4 MB of Argo CD's
// ApplicationSet to a running API server costs a patch, an update by each controller of CRDs that
// writes a condition, and an event for each watch. This was a third of the CPU time of a small
// cell. The served schema is the same, byte by byte (TestPreloadedCRDs).
type preloadedCRDs struct {
	names   []string
	records []clusterstate.Record
}

// preloads are those of the directories that were read: all cells of a run have the same.
var preloads sync.Map // directory: func() (*preloadedCRDs, error)

// preloadedIn reads the CRDs in a directory of the stack, the first time that it is asked for them.
func preloadedIn(dir string) (*preloadedCRDs, error) {
	once, _ := preloads.LoadOrStore(dir, sync.OnceValues(func() (*preloadedCRDs, error) { return readPreloadedCRDs(dir) }))
	return once.(func() (*preloadedCRDs, error))()
}

func readPreloadedCRDs(dir string) (*preloadedCRDs, error) {
	objects, err := infra.ReadObjects(dir)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	// As the API server itself encodes them, which prefers v1beta1 because it is shorter.
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(apiextv1beta1.SchemeGroupVersion, apiextv1.SchemeGroupVersion)
	p := &preloadedCRDs{}
	for _, o := range objects {
		if o.GroupVersionKind() != apiextv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
			return nil, fmt.Errorf("read the CRDs in %s: %s %s is no CRD", dir, o.GetKind(), o.GetName())
		}
		crd := &apiextv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crd); err != nil {
			return nil, fmt.Errorf("read the CRD %s in %s: %w", o.GetName(), dir, err)
		}
		scheme.Default(crd)
		establish(crd)
		value, err := runtime.Encode(codec, crd)
		if err != nil {
			return nil, fmt.Errorf("encode the CRD %s in %s: %w", o.GetName(), dir, err)
		}
		p.names = append(p.names, crd.Name)
		p.records = append(p.records, clusterstate.Record{Key: crdPrefix + crd.Name, Value: value})
	}
	return p, nil
}

// establish gives a CRD what the API server and its controllers write when it is created.
func establish(crd *apiextv1.CustomResourceDefinition) {
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	crd.UID, crd.Generation, crd.CreationTimestamp = uuid.NewUUID(), 1, now
	crd.Status = apiextv1.CustomResourceDefinitionStatus{
		AcceptedNames: crd.Spec.Names,
		Conditions: []apiextv1.CustomResourceDefinitionCondition{
			{Type: apiextv1.NamesAccepted, Status: apiextv1.ConditionTrue, LastTransitionTime: now, Reason: "NoConflicts", Message: "no conflicts found"},
			{Type: apiextv1.Established, Status: apiextv1.ConditionTrue, LastTransitionTime: now, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"},
		},
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
		}
	}
}

// preloadRecords are the CRDs that the cluster has from the start.
func (c *ControlPlane) preloadRecords() ([]clusterstate.Record, error) {
	var all []clusterstate.Record
	for _, group := range c.preload {
		p, err := preloadedIn(c.stack.CRDs(group))
		if err != nil {
			return nil, err
		}
		all = append(all, p.records...)
	}
	return all, nil
}

// hasPreloaded reports whether the cluster has the CRDs of a part of the stack from the start.
func (c *ControlPlane) hasPreloaded(group stack.Group) bool {
	return slices.Contains(c.preload, group)
}

// ensureCRDs applies the CRDs in a directory of the stack, unless the cluster was started with
// them; it returns their names.
func ensureCRDs(ctx context.Context, clients *infra.Clients, dir string, preloaded bool) ([]string, error) {
	if !preloaded {
		return clients.ApplyCRDs(ctx, dir)
	}
	p, err := preloadedIn(dir)
	if err != nil {
		return nil, err
	}
	return p.names, nil
}
