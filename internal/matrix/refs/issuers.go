package refs

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/refs/needs"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// certManager is cert-manager's API group. Its definitions come with the recipe, and so nothing else
// can have made an issuer before.
const certManager = "cert-manager.io"

// issuer checks the issuer of a Certificate, and the authority of an issuer. Without it, cert-manager
// makes no Secret and waits, and so do the pods that mount the Secret.
func (c *checker) issuer(o *bundle.Object) {
	r := reference{from: o.Ref(), component: o.Component, template: o.Template}
	gvk := o.Object.GroupVersionKind()
	field := func(path ...string) string {
		text, _, _ := unstructured.NestedString(o.Object.Object, append([]string{"spec"}, path...)...)
		return text
	}
	switch {
	case gvk.Group != certManager:
	case gvk.Kind == "Certificate":
		if group := field("issuerRef", "group"); group != "" && group != certManager {
			return // an issuer of another program
		}
		kind, name := field("issuerRef", "kind"), field("issuerRef", "name")
		if r.text = c.noIssuer(kind, name, o.Object.GetNamespace(), r.from); r.text != "" {
			r.text, r.name, r.cause, r.then = "is to be signed by "+r.text, name, r.text, "cert-manager never makes Secret "+infra.NamespacedName(o.Object.GetNamespace(), field("secretName"))
			c.fail(reason.DeployFailed, r)
		}
		for _, format := range []string{"jks", "pkcs12"} {
			name := field("keystores", format, "passwordSecretRef", "name")
			if on, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "keystores", format, "create"); !on || name == "" || c.hasSecret(o, name) {
				continue
			}
			r.name, r.cause, r.then = name, "Secret "+name+" of "+r.from.String(), "it is never ready: cert-manager never makes Secret "+infra.NamespacedName(o.Object.GetNamespace(), field("secretName"))
			r.text = fmt.Sprintf("protects its keystore by Secret %s (spec.keystores.%s.passwordSecretRef), which nothing in the recipe makes", name, format)
			c.fail(reason.DeployFailed, r)
		}
	case gvk.Kind == "Issuer" || gvk.Kind == "ClusterIssuer":
		name := field("ca", "secretName")
		if name == "" || c.hasSecret(o, name) {
			return
		}
		r.name, r.cause, r.then = name, "Secret of "+r.from.String(), "it is never ready, and cert-manager makes no Secret with it"
		r.text = fmt.Sprintf("signs with Secret %s (spec.ca.secretName), which nothing in the recipe makes", name)
		c.fail(reason.DeployFailed, r)
	}
}

// hasSecret reports whether something in the recipe makes the Secret of that name for a resource, or may. That of
// a ClusterIssuer is in a namespace that is an argument of cert-manager.
func (c *checker) hasSecret(o *bundle.Object, name string) bool {
	return slices.ContainsFunc(c.expectation.Objects, func(s bundle.Object) bool {
		in := o.Object.GetKind() == "ClusterIssuer" || s.Object.GetNamespace() == o.Object.GetNamespace()
		return in && (s.Object.GetKind() == needs.Secret && s.Object.GetName() == name || facts.MakesSecret(&s, name) || s.Ref() != o.Ref() && c.index.SeemsToMake(&s, needs.Secret, name))
	})
}

// noIssuer names an issuer that nothing makes; empty if something does, or may.
func (c *checker) noIssuer(kind, name, namespace string, from result.Ref) string {
	if kind == "" {
		kind = "Issuer"
	}
	if kind == "ClusterIssuer" {
		namespace = ""
	}
	full := kind + " " + infra.NamespacedName(namespace, name)
	if name == "" || kind != "Issuer" && kind != "ClusterIssuer" || observe.Makes(c.expectation, kind, namespace, name) {
		return ""
	}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if c.seemsToMakeIssuer(o, kind, name) {
			c.unverified(full, fmt.Sprintf("may be made at run time by %s (%s)", o.Ref(), o.Component), from, "gets no certificate", "get no certificate")
			return ""
		}
	}
	return full + ", which does not exist, and nothing in the recipe makes it"
}

// seemsToMakeIssuer is seemsToMake for issuers. cert-manager's own resources only refer to one, and a
// Job may apply what a ConfigMap or Secret has.
func (c *checker) seemsToMakeIssuer(o *bundle.Object, kind, name string) bool {
	switch o.Object.GetKind() {
	case needs.ConfigMap, needs.Secret:
		return slices.ContainsFunc(facts.Leaves(o.Object.Object), func(text string) bool { return strings.Contains(text, "Issuer") && manifestline.Mentions(text, name) })
	}
	return o.Object.GroupVersionKind().Group != certManager && c.index.SeemsToMake(o, kind, name)
}

// issuedFor warns of an Ingress or a Gateway whose annotation names an issuer that nothing makes.
func (c *checker) issuedFor(o *bundle.Object, r reference) {
	if kind := o.Object.GetKind(); kind != "Ingress" && kind != "Gateway" {
		return
	}
	annotations := o.Object.GetAnnotations()
	if annotations["cert-manager.io/issuer-group"] != "" {
		return // an issuer of another program
	}
	for _, by := range []struct{ annotation, kind string }{{"cert-manager.io/issuer", "Issuer"}, {"cert-manager.io/cluster-issuer", "ClusterIssuer"}} {
		r.name, r.then = annotations[by.annotation], "cert-manager makes no certificate for it"
		if r.text = c.noIssuer(by.kind, r.name, o.Object.GetNamespace(), r.from); r.text != "" {
			r.text = "names " + r.text + " (" + by.annotation + ")"
			c.warn(r)
		}
	}
}
