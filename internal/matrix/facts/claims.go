package facts

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// Claim is a volume claim, or the template of several.
type Claim struct {
	ClaimTemplate
	// Object is the claim, or the StatefulSet that makes it. Path is the field of the claim's spec.
	Object *bundle.Object
	Path   string
}

// Claims lists the claims that were rendered, and those that StatefulSets make.
func (x *Index) Claims() (all []Claim) {
	for _, c := range ofObjects(x.Expectation) {
		o, path := x.Find(schema.GroupKind{Group: c.From.Group, Kind: c.From.Kind}, c.From.Namespace, c.From.Name), "spec"
		if c.From.Kind == "StatefulSet" {
			set := As[appsv1.StatefulSet](x, o)
			i := slices.IndexFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == c.Name })
			path = fmt.Sprintf("spec.volumeClaimTemplates[%d].spec", i)
		}
		all = append(all, Claim{c, o, path})
	}
	return all
}
