package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
)

// createWait is how long the API server keeps a request waiting that creates an object of a CRD
// which is Established for less than that time (apiextensions-apiserver, customresource_handler.go):
// another API server of the same cluster might not serve it yet. Here there is no other one.
const createWait = 2 * time.Second

// settle sets the time of a CRD's condition Established back, so that nothing waits that creates
// objects of it. Helm's release of an operator makes its custom resource right after the CRD.
func settle(ctx context.Context, c *infra.Clients, crd *unstructured.Unstructured, now time.Time) error {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for i, raw := range conditions {
		condition, _ := raw.(map[string]any)
		if condition["type"] != "Established" || condition["status"] != "True" {
			continue
		}
		at, err := time.Parse(time.RFC3339, fmt.Sprint(condition["lastTransitionTime"]))
		if err != nil || now.Sub(at) >= createWait {
			return nil // it may be what an earlier call of this function left
		}
		// The test refuses conditions that came in another order meanwhile.
		path := fmt.Sprintf("/status/conditions/%d/", i)
		patch, err := json.Marshal([]map[string]any{
			{"op": "test", "path": path + "type", "value": "Established"},
			{"op": "replace", "path": path + "lastTransitionTime", "value": metav1.NewTime(at.Add(-createWait)).UTC().Format(time.RFC3339)},
		})
		if err != nil {
			return err
		}
		_, err = c.Dynamic.Resource(infra.CRDResource).Patch(ctx, crd.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
	return nil
}
