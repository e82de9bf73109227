package network

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	certManager = "cert-manager.io"
	// injects names the Certificate, or rather its namespace and name, whose authority cert-manager's cainjector
	// writes into an object.
	injects = certManager + "/inject-ca-from"
)

var webhookCertificate = judge.Check{
	ID: "MX258", Name: "webhook-certificate-not-trusted", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Kinds: judge.KindsOf(admissionv1.GroupName, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
	Title: "The API server can trust the Certificate with which a webhook is served",
	Why: "The API server verifies that a webhook's certificate is for SERVICE.NAMESPACE.svc and of the authority in its caBundle (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook), " +
		"which cert-manager's cainjector writes from the Certificate that the annotation names (https://cert-manager.io/docs/concepts/ca-injector/). Every Certificate gets a Secret, whatever its names are. " +
		"A warning where the webhook fails open.",
	Fix:  "Add the Service's name to the Certificate's dnsNames, and name that Certificate in the annotation.",
	Says: "webhook %s is served with %s (%s), which is for %s, and the API server asks for %s",
	Then: "the API server accepts no certificate without that name: add %[5]s to its dnsNames; %[6]s",
	Others: map[string]judge.Message{
		"missing": {Says: "has its caBundle written from Certificate %s (" + injects + "), which does not exist; its pods serve with %s (%s)", Then: "the API server does not trust %[4]s; %[5]s"},
		"another": {Says: "has its caBundle written from %s (" + injects + "), and its pods serve with %s (%s), which is signed by itself", Then: "the API server does not trust %[4]s; %[5]s"},
	},
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			from, ok := o.Object.GetAnnotations()[injects]
			if !ok {
				continue
			}
			for j, w := range facts.Webhooks(o.Object) {
				if w.Client.Service != nil && distrusted(s, o, j, &w, from) {
					break // one for an object: its webhooks share a certificate
				}
			}
		}
	},
}

// distrusted reports a webhook that the API server cannot trust.
func distrusted(s *judge.Scope, o *bundle.Object, index int, w *facts.Webhook, from string) bool {
	service := w.Client.Service
	host := service.Name + "." + service.Namespace + ".svc"
	served := servedBy(s, service)
	if len(served) == 0 {
		return false // another check's, or no Certificate of the bundle
	}
	then := "it leaves the webhook out (failurePolicy Ignore)"
	if w.FailsClosed() {
		then = "it refuses every request that the webhook is for (failurePolicy Fail)"
	}
	const path = `metadata.annotations["` + injects + `"]`
	first := served[0]
	var found *judge.Found
	switch source := certificateOf(s, from); {
	case !slices.ContainsFunc(served, func(c *bundle.Object) bool { return isFor(c.Object, host) }):
		found = s.Report(o, fmt.Sprintf("webhooks[%d].clientConfig.service", index), w.Name, first.Ref(), first.Component, strings.Join(hosts(first.Object), ", "), host, then).SetBy(first.Object.GetName())
	case source == nil:
		namespace, name, _ := strings.Cut(from, "/")
		found = s.ReportAs("missing", o, path, from, first.Ref(), first.Component, host, then).Missing(result.Ref{Group: certManager, Kind: "Certificate", Namespace: namespace, Name: name})
	case !slices.Contains(served, source) && slices.ContainsFunc(served, func(c *bundle.Object) bool { return signsItself(s, c) }) && len(served) == 1:
		found = s.ReportAs("another", o, path, source.Ref(), first.Ref(), first.Component, host, then)
	default:
		return false
	}
	if found.OneCause(host); !w.FailsClosed() {
		found.Warning()
	}
	return true
}

// servedBy are the Certificates whose Secrets the pods behind a Service mount; none if they mount a Secret that
// the bundle has, too: then they may serve with that one.
func servedBy(s *judge.Scope, service *admissionv1.ServiceReference) (all []*bundle.Object) {
	mounted := problem.MountedSecrets(s.Expectation.Objects, service.Namespace, selectorOf(s, service))
	for i := range s.Expectation.Objects {
		o := &s.Expectation.Objects[i]
		if o.Object.GetNamespace() != service.Namespace {
			continue
		}
		made, _, _ := unstructured.NestedString(o.Object.Object, "spec", "secretName")
		switch gk := o.Object.GroupVersionKind().GroupKind(); {
		case gk.Group == "" && gk.Kind == "Secret" && mounted[o.Object.GetName()]:
			return nil
		case gk.Group == certManager && gk.Kind == "Certificate" && mounted[made]:
			all = append(all, o)
		}
	}
	return all
}

func selectorOf(s *judge.Scope, service *admissionv1.ServiceReference) map[string]string {
	for i := range s.Expectation.Objects {
		o := s.Expectation.Objects[i].Object
		if o.GetKind() == "Service" && o.GroupVersionKind().Group == "" && o.GetNamespace() == service.Namespace && o.GetName() == service.Name {
			selector, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector")
			return selector
		}
	}
	return nil
}

// certificateOf is the Certificate of a namespace and name; nil if the bundle has none.
func certificateOf(s *judge.Scope, name string) *bundle.Object {
	for i := range s.Expectation.Objects {
		o := &s.Expectation.Objects[i]
		if gk := o.Object.GroupVersionKind().GroupKind(); gk.Group == certManager && gk.Kind == "Certificate" && o.Object.GetNamespace()+"/"+o.Object.GetName() == name {
			return o
		}
	}
	return nil
}

// hosts are the names that a Certificate is for.
func hosts(o *unstructured.Unstructured) []string {
	all, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "dnsNames")
	return all
}

// isFor reports whether a Certificate is for a host; of its names, one may begin with *, which stands for one
// label. One whose names are not there as such may be for any.
func isFor(o *unstructured.Unstructured, host string) bool {
	names := hosts(o)
	_, rest, _ := strings.Cut(host, ".")
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool {
		return strings.EqualFold(strings.TrimSuffix(n, "."), host) || strings.EqualFold(n, "*."+rest)
	})
}

// signsItself reports whether the issuer of a Certificate is one of the bundle that signs nothing with an
// authority of its own: no other certificate then verifies it.
func signsItself(s *judge.Scope, c *bundle.Object) bool {
	name, _, _ := unstructured.NestedString(c.Object.Object, "spec", "issuerRef", "name")
	kind, _, _ := unstructured.NestedString(c.Object.Object, "spec", "issuerRef", "kind")
	return slices.ContainsFunc(s.Expectation.Objects, func(o bundle.Object) bool {
		ofKind := o.Object.GetKind() == "ClusterIssuer" && kind == "ClusterIssuer" || o.Object.GetKind() == "Issuer" && kind != "ClusterIssuer" && o.Object.GetNamespace() == c.Object.GetNamespace()
		_, self, _ := unstructured.NestedMap(o.Object.Object, "spec", "selfSigned")
		return ofKind && o.Object.GetName() == name && self
	})
}
