package rendering

// scopes.go says which kinds are cluster-scoped, as far as a rendering can know it:
// Kubernetes' own, and those of the CRDs beside it. It must not know charts or clusters.

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle/apis"
)

// clusterScoped reports whether a kind of Kubernetes' own is cluster-scoped. A rendering has no
// server to ask.
func clusterScoped(gk schema.GroupKind) bool {
	switch gk.Group {
	case "":
		return slices.Contains([]string{"Namespace", "Node", "PersistentVolume", "ComponentStatus"}, gk.Kind)
	case "rbac.authorization.k8s.io":
		return slices.Contains([]string{"ClusterRole", "ClusterRoleBinding"}, gk.Kind)
	case "storage.k8s.io":
		return slices.Contains([]string{"StorageClass", "VolumeAttachment", "CSIDriver", "CSINode", "VolumeAttributesClass"}, gk.Kind)
	case "resource.k8s.io":
		return slices.Contains([]string{"DeviceClass", "ResourceSlice", "DeviceTaintRule"}, gk.Kind)
	case "networking.k8s.io":
		return slices.Contains([]string{"IngressClass", "IPAddress", "ServiceCIDR"}, gk.Kind)
	case "certificates.k8s.io":
		return slices.Contains([]string{"CertificateSigningRequest", "ClusterTrustBundle"}, gk.Kind)
	case "apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io", "scheduling.k8s.io", "node.k8s.io",
		"flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io", "internal.apiserver.k8s.io":
		return true
	}
	return false
}

// CustomScopes reads the scopes of custom resources from the CustomResourceDefinitions of a bundle.
type CustomScopes map[schema.GroupKind]string

// Add takes the kind that an object defines, if it is a definition.
func (s CustomScopes) Add(obj *unstructured.Unstructured) {
	gk := obj.GroupVersionKind().GroupKind()
	if gk.Group != "apiextensions.k8s.io" || gk.Kind != "CustomResourceDefinition" {
		return
	}
	scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
	s[apis.DefinedBy(obj)] = scope
}

// FillNamespace does what a client does with an object without a namespace: it goes to the
// release's, unless its kind is cluster-scoped. A custom resource whose definition is not in the
// bundle is taken for a namespaced one.
func (s CustomScopes) FillNamespace(obj *unstructured.Unstructured, namespace string) {
	gk := obj.GroupVersionKind().GroupKind()
	if clusterScoped(gk) || s[gk] == "Cluster" {
		obj.SetNamespace("")
		return
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
}
