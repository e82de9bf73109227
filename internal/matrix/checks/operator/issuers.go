package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// certManager is cert-manager's API group. Its definitions come with the recipe, and so nothing else can have made an
// issuer before.
const certManager = "cert-manager.io"

var certificates = judge.KindsOf(certManager, "Certificate")

// field is a text in the spec of an object.
func field(o *bundle.Object, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object.Object, append([]string{"spec"}, path...)...)
	return text
}

// certificateSecret is the Secret that cert-manager makes for a Certificate.
func certificateSecret(o *bundle.Object) string {
	return infra.NamespacedName(o.Object.GetNamespace(), field(o, "secretName"))
}

// lacksSecret reports whether nothing in the recipe makes the Secret of that name for a resource, or may. That of a
// ClusterIssuer is in a namespace that is an argument of cert-manager.
func lacksSecret(s *judge.Scope, o *bundle.Object, name string) bool {
	return name != "" && !slices.ContainsFunc(s.Rendered(), func(other *bundle.Object) bool {
		in := o.Object.GetKind() == "ClusterIssuer" || other.Object.GetNamespace() == o.Object.GetNamespace()
		return in && (other.Object.GetKind() == facts.NeedSecret && other.Object.GetName() == name || facts.MakesSecret(other, name) || other.Ref() != o.Ref() && s.SeemsToMake(other, facts.NeedSecret, name))
	})
}

// lacksIssuer names an issuer that nothing makes; empty if something does, or may, which is noted.
func lacksIssuer(s *judge.Scope, o *bundle.Object, kind, name string) string {
	namespace := o.Object.GetNamespace()
	if kind = cmp.Or(kind, "Issuer"); kind == "ClusterIssuer" {
		namespace = ""
	}
	full := kind + " " + infra.NamespacedName(namespace, name)
	if name == "" || kind != "Issuer" && kind != "ClusterIssuer" || s.Find(judge.KindsOf(certManager, kind)[0], namespace, name) != nil {
		return ""
	}
	for _, other := range s.Rendered() {
		if seemsToMakeIssuer(s, other, kind, name) {
			s.Unverified(o, full, fmt.Sprintf("may be made at run time by %s (%s)", other.Ref(), other.Component), "gets no certificate", "get no certificate")
			return ""
		}
	}
	return full
}

// seemsToMakeIssuer is SeemsToMake for issuers. cert-manager's own resources only refer to one, and a Job may apply
// what a ConfigMap or Secret has.
func seemsToMakeIssuer(s *judge.Scope, o *bundle.Object, kind, name string) bool {
	switch o.Object.GetKind() {
	case facts.ConfigMap, facts.NeedSecret:
		return slices.ContainsFunc(facts.Leaves(o.Object.Object), func(text string) bool { return strings.Contains(text, "Issuer") && manifestline.Mentions(text, name) })
	}
	return o.Object.GroupVersionKind().Group != certManager && s.SeemsToMake(o, kind, name)
}
