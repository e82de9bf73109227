package programs

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// Awaited are the objects of a bundle of which an operator that runs will report a condition, or that
// it leaves out.
func (c *Choice) Awaited(objects []bundle.Object) []infra.Awaited {
	var all []infra.Awaited
	for _, o := range objects {
		if reason := c.rejects[o.Object.GroupVersionKind().GroupKind()]; reason != "" {
			all = append(all, infra.Awaited{Object: o, Rejects: reason})
		}
		condition := c.conditions[o.Object.GroupVersionKind().GroupKind()]
		paused, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "paused")
		issuer, _, _ := unstructured.NestedString(o.Object.Object, "spec", "issuerRef", "group")
		if condition != "" && !paused && (issuer == "" || issuer == certificatesGroup) { // others' issuers do not run
			all = append(all, infra.Awaited{Object: o, Condition: condition})
		}
	}
	return all
}

const certificatesGroup = "cert-manager.io"

// foreignIssuer names an issuer of cert-manager that asks what is not in the cluster: a server, or a
// Secret that somebody else brings. It would never be ready here.
func foreignIssuer(objects []bundle.Object) string {
	for _, o := range objects {
		gvk := o.Object.GroupVersionKind()
		if gvk.Group != certificatesGroup || gvk.Kind != "Issuer" && gvk.Kind != "ClusterIssuer" {
			continue
		}
		spec, _, _ := unstructured.NestedMap(o.Object.Object, "spec")
		name := fmt.Sprintf("%s %s", gvk.Kind, infra.NamespacedName(o.Object.GetNamespace(), o.Object.GetName()))
		for _, kind := range []string{"acme", "vault", "venafi"} {
			if spec[kind] != nil {
				return name + " asks a server outside of the cluster (spec." + kind + ")"
			}
		}
		secret, found, _ := unstructured.NestedString(spec, "ca", "secretName")
		if found && !makesSecret(objects, secret) {
			return name + " needs Secret " + secret + ", which nothing in the bundle makes"
		}
	}
	return ""
}

// makesSecret reports whether a Secret is in a bundle, or is that of a Certificate in it.
func makesSecret(objects []bundle.Object, name string) bool {
	for _, o := range objects {
		made, _, _ := unstructured.NestedString(o.Object.Object, "spec", "secretName")
		if o.Object.GetKind() == "Secret" && o.Object.GetName() == name || o.Object.GetKind() == "Certificate" && made == name {
			return true
		}
	}
	return false
}
