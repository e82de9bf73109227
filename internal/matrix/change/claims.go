package change

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// mostClaims bounds the claims of a StatefulSet that are read.
const mostClaims = 100

// claimsOf are the claims that the controller of StatefulSets makes, with the key of whose each is. No chart
// renders them; they hold the data, and stay when their pod goes.
func claimsOf(e bundle.Expectation) map[lane.Object]string {
	all := map[lane.Object]string{}
	for _, o := range e.Objects {
		if o.Object.GetKind() != "StatefulSet" || o.Object.GetName() == "" {
			continue
		}
		set := lane.Object{GVK: o.Object.GroupVersionKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName()}
		templates, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "volumeClaimTemplates")
		start, _, _ := unstructured.NestedInt64(o.Object.Object, "spec", "ordinals", "start")
		for _, t := range templates {
			template, _ := t.(map[string]any)
			name, _, _ := unstructured.NestedString(template, "metadata", "name")
			for i := range min(replicas(&object{content: o.Object}), mostClaims) {
				claim := lane.Object{GVK: schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, Namespace: set.Namespace, Name: fmt.Sprintf("%s-%s-%d", name, set.Name, int(start)+i), Release: o.Release}
				all[claim] = set.Key()
			}
		}
	}
	return all
}

// goes reports whether Kubernetes deletes a claim that its StatefulSet, which has fewer pods now or is gone,
// needs no more.
func (c *comparison) goes(b *object) bool {
	set, when := c.after.objects[b.claimOf], "whenScaled"
	if set == nil || !set.expected {
		set, when = c.before.objects[b.claimOf], "whenDeleted"
	}
	if set == nil || set.content == nil {
		return false
	}
	policy, _, _ := unstructured.NestedString(set.content.Object, "spec", "persistentVolumeClaimRetentionPolicy", when)
	return policy == "Delete"
}
