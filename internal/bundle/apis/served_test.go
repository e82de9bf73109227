package apis

import (
	"fmt"
	"path"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Each kind that Kubernetes has removed a version of is known in today's, and what is no version of it
// is not.
func TestServedAs(t *testing.T) {
	for asked, want := range map[string]string{
		"policy/v1beta1/PodDisruptionBudget": "policy/v1", "autoscaling/v2beta2/HorizontalPodAutoscaler": "autoscaling/v2", "batch/v1beta1/CronJob": "batch/v1",
		"extensions/v1beta1/Ingress": "networking.k8s.io/v1", "extensions/v1beta1/Deployment": "apps/v1", "apps/v1beta2/StatefulSet": "apps/v1",
		"flowcontrol.apiserver.k8s.io/v1beta3/FlowSchema": "flowcontrol.apiserver.k8s.io/v1", "rbac.authorization.k8s.io/v1beta1/ClusterRole": "rbac.authorization.k8s.io/v1",
		"storage.k8s.io/v1beta1/CSIDriver": "storage.k8s.io/v1", "networking.k8s.io/v1beta1/Ingress": "networking.k8s.io/v1", "coordination.k8s.io/v1beta1/Lease": "coordination.k8s.io/v1",
		"policy/v1beta1/PodSecurityPolicy": "", "example.com/v1/Deployment": "", "example.com/v1/Thing": "example.com/v2",
	} {
		gvk := schema.FromAPIVersionAndKind(path.Dir(asked), path.Base(asked))
		all := append([]API{{"example.com/v2alpha1/Thing", true}, {"example.com/v2/Thing", true}}, Stack().Server...)
		if got := ServedAs(all, gvk.GroupKind()); got != want {
			t.Errorf("%s: got %q, want %q", asked, got, want)
		}
	}
}

func TestUnserved(t *testing.T) {
	const one = `resource mapping not found for name: "web" namespace: "" from "": no matches for kind "PodDisruptionBudget" in version "policy/v1beta1"`
	for message, want := range map[string]string{
		one: "[policy/v1beta1, Kind=PodDisruptionBudget]",
		"[" + one + "\nensure CRDs are installed first, " + one + `, no matches for kind "Ingress" in version "extensions/v1beta1"`:                                               "[policy/v1beta1, Kind=PodDisruptionBudget extensions/v1beta1, Kind=Ingress]",
		`The Kubernetes API could not find version "v1beta1" of policy/PodDisruptionBudget for requested resource b/web. Version "v1" of policy/PodDisruptionBudget is installed`: "[policy/v1beta1, Kind=PodDisruptionBudget]",
		`no matches for kind "Thing" in version "v1"`:                                                        "[/v1, Kind=Thing]",
		`The Kubernetes API could not find policy/PodSecurityPolicy for requested resource b/web. Make sure`: "[policy/, Kind=PodSecurityPolicy]",
		`pods "web" not found`: "[]",
	} {
		if got := fmt.Sprint(Unserved(message)); got != want {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}
