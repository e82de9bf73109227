package operators

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// computeDomain is the kind of which NVIDIA's DRA driver makes the template of claims that pods of a
// domain name. Its daemons follow when a node prepares such a claim, which no simulated node does.
func computeDomain() standIn {
	return standIn{
		GVK:        schema.GroupVersionKind{Group: "resource.nvidia.com", Version: "v1beta1", Kind: "ComputeDomain"},
		Reason:     "NVIDIA's DRA driver would make the ResourceClaimTemplate of it that its pods name",
		synthesize: channelTemplate,
	}
}

// channelTemplate makes a template for a claim of the default channel.
func channelTemplate(cr *unstructured.Unstructured, _ string) []*unstructured.Unstructured {
	name, _, _ := unstructured.NestedString(cr.Object, "spec", "channel", "resourceClaimTemplate", "name")
	if name == "" {
		return nil
	}
	mode, _, _ := unstructured.NestedString(cr.Object, "spec", "channel", "allocationMode")
	if mode == "" {
		mode = "Single"
	}
	parameters := map[string]any{"apiVersion": cr.GetAPIVersion(), "kind": "ComputeDomainChannelConfig", "domainID": string(cr.GetUID()), "allocationMode": mode}
	return []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": map[string]any{"name": name, "namespace": cr.GetNamespace()},
		"spec": map[string]any{"spec": map[string]any{"devices": map[string]any{
			"requests": []any{map[string]any{"name": "channel", "exactly": map[string]any{"deviceClassName": "compute-domain-default-channel.nvidia.com"}}},
			"config":   []any{map[string]any{"requests": []any{"channel"}, "opaque": map[string]any{"driver": "compute-domain.nvidia.com", "parameters": parameters}}},
		}}},
	}}}
}
