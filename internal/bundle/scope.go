package bundle

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterScoped reports whether a kind of Kubernetes' own is cluster-scoped. A rendering has no server to ask.
func clusterScoped(gk schema.GroupKind) bool {
	switch gk.Group {
	case "":
		return oneOf(gk.Kind, "Namespace", "Node", "PersistentVolume", "ComponentStatus")
	case "rbac.authorization.k8s.io":
		return oneOf(gk.Kind, "ClusterRole", "ClusterRoleBinding")
	case "storage.k8s.io":
		return oneOf(gk.Kind, "StorageClass", "VolumeAttachment", "CSIDriver", "CSINode", "VolumeAttributesClass")
	case "resource.k8s.io":
		return oneOf(gk.Kind, "DeviceClass", "ResourceSlice", "DeviceTaintRule")
	case "networking.k8s.io":
		return oneOf(gk.Kind, "IngressClass", "IPAddress", "ServiceCIDR")
	case "certificates.k8s.io":
		return oneOf(gk.Kind, "CertificateSigningRequest", "ClusterTrustBundle")
	case "apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io", "scheduling.k8s.io", "node.k8s.io",
		"flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io", "internal.apiserver.k8s.io":
		return true
	}
	return false
}

func oneOf(s string, list ...string) bool {
	for _, v := range list {
		if s == v {
			return true
		}
	}
	return false
}

// customScopes reads the scopes of custom resources from the CustomResourceDefinitions of a bundle.
type customScopes map[schema.GroupKind]string

func (s customScopes) add(obj *unstructured.Unstructured) {
	gk := obj.GroupVersionKind().GroupKind()
	if gk.Group != "apiextensions.k8s.io" || gk.Kind != "CustomResourceDefinition" {
		return
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
	s[schema.GroupKind{Group: group, Kind: kind}] = scope
}

// fillNamespace does what a client does with an object without a namespace: it goes to the release's, unless its kind is
// cluster-scoped. A custom resource whose definition is not in the bundle is taken for a namespaced one.
func (s customScopes) fillNamespace(obj *unstructured.Unstructured, namespace string) {
	gk := obj.GroupVersionKind().GroupKind()
	if clusterScoped(gk) || s[gk] == "Cluster" {
		obj.SetNamespace("")
		return
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
}
