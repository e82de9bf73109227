package programs

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// rejecter is an operator, by its image, and the reason of the event by which it says that it leaves
// an object out.
type rejecter struct{ reason, image string }

// Awaited are the objects of a bundle of which an operator that runs will report a condition, or that
// it leaves out.
func (c *Choice) Awaited(objects []bundle.Object) []infra.Awaited {
	var all []infra.Awaited
	for _, o := range objects {
		if by := c.rejects[o.Object.GroupVersionKind().GroupKind()]; by.reason != "" {
			all = append(all, infra.Awaited{Object: o, Rejects: by.reason, Operator: by.image})
		}
		condition := c.conditions[o.Object.GroupVersionKind().GroupKind()]
		paused, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "paused")
		issuer, _, _ := unstructured.NestedString(o.Object.Object, "spec", "issuerRef", "group")
		if condition != "" && !paused && !inactive(o.Object, objects) && (issuer == "" || issuer == certificatesGroup) { // others' issuers do not run
			all = append(all, infra.Awaited{Object: o, Condition: condition})
		}
	}
	return all
}

const queuesGroup = "kueue.x-k8s.io"

// inactive reports whether a queue is not to admit anything, by the recipe's word: it is stopped, or what it admits from
// is. One with an AdmissionCheck waits for whoever does the check, who may not run here.
func inactive(queue *unstructured.Unstructured, objects []bundle.Object) bool {
	if queue.GroupVersionKind().Group != queuesGroup {
		return false
	}
	spec, _, _ := unstructured.NestedMap(queue.Object, "spec")
	if stop := spec["stopPolicy"]; stop != nil && stop != "None" || spec["admissionChecks"] != nil || spec["admissionChecksStrategy"] != nil {
		return true
	}
	return queue.GetKind() == "LocalQueue" && slices.ContainsFunc(objects, func(o bundle.Object) bool {
		return o.Object.GetKind() == "ClusterQueue" && o.Object.GetName() == spec["clusterQueue"] && inactive(o.Object, objects)
	})
}

const certificatesGroup = "cert-manager.io"

// foreignIssuer names an issuer of cert-manager that asks what is not in the cluster: a server, or a
// Secret that something which does not run here may make. It would never be ready here. A Secret that
// nothing makes is a fault of the recipe, and not of this run.
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
			if by := mentions(objects, o.Ref(), secret); by != "" {
				return name + " needs Secret " + secret + ", which only " + by + " may make, at run time"
			}
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

// mentions names an object of a bundle that has a text in some field, other than the given one and
// the Certificates; empty if none has.
func mentions(objects []bundle.Object, not result.Ref, text string) string {
	for _, o := range objects {
		if o.Ref() == not || o.Object.GetKind() == "Certificate" {
			continue
		}
		raw, err := o.Object.MarshalJSON()
		if err == nil && manifestline.Mentions(string(raw), text) {
			return o.Ref().String()
		}
	}
	return ""
}
