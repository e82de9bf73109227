package operators_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle/operators"
)

// TestComputeDomain: the template that pods of a domain name claims the default channel for it.
func TestComputeDomain(t *testing.T) {
	cr := parse(t, "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: d, namespace: ns, uid: u-1}\nspec: {channel: {resourceClaimTemplate: {name: channel}}}\n")
	made := operators.Synthesize(cr, "")
	if len(made) != 1 {
		t.Fatalf("got %d objects, want a template", len(made))
	}
	var got resourcev1.ResourceClaimTemplate
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(made[0].Object, &got, true); err != nil {
		t.Fatalf("the template is not valid: %v", err)
	}
	claim := got.Spec.Spec.Devices
	if got.Namespace != "ns" || got.Name != "channel" || claim.Requests[0].Exactly.DeviceClassName != "compute-domain-default-channel.nvidia.com" {
		t.Errorf("got %s/%s %+v", got.Namespace, got.Name, claim.Requests)
	}
	if want := `{"allocationMode":"Single","apiVersion":"resource.nvidia.com/v1beta1","domainID":"u-1","kind":"ComputeDomainChannelConfig"}`; string(claim.Config[0].Opaque.Parameters.Raw) != want {
		t.Errorf("got  %s\nwant %s", claim.Config[0].Opaque.Parameters.Raw, want)
	}
	if got := operators.Synthesize(parse(t, "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: d}\nspec: {}\n"), ""); got != nil {
		t.Errorf("got %v of a domain without a template's name", got)
	}
}
