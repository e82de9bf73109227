package access

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var policyMissing = judge.Check{
	ID: "MX420", Name: "binding-of-no-policy", Needs: judge.Rendered, Kinds: judge.KindsOf(admissionv1.GroupName, "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"),
	Title: "The admission policy of a binding exists",
	Why:   "A policy takes effect where a binding names it; a binding of a policy that does not exist is accepted and does nothing (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).",
	Fix:   "Add the policy, or correct policyName.",
	Says:  "binds %s %s, which the recipe does not have", Then: "unless the cluster has it, nothing is checked or changed",
	Run: func(s *judge.Scope) {
		for _, policy := range []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"} {
			for _, o := range s.Rendered(judge.KindsOf(admissionv1.GroupName, policy+"Binding")...) {
				name, _, _ := unstructured.NestedString(o.Object.Object, "spec", "policyName")
				if s.Find(schema.GroupKind{Group: admissionv1.GroupName, Kind: policy}, "", name) == nil {
					s.Report(o, "spec.policyName", policy, name).Missing(result.Ref{Group: admissionv1.GroupName, Kind: policy, Name: name})
				}
			}
		}
	},
}
