package certificates

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/matrix/refs/webhooks"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// injects names the Certificate, or rather its namespace and name, whose authority cert-manager's cainjector
// writes into an object.
const injects = "cert-manager.io/inject-ca-from"

// serving finds webhooks that the API server cannot trust: what their pods serve with is a Certificate for
// another name than the Service's, or the authority is to be that of a Certificate which does not exist. Every
// Certificate gets a Secret, whatever its names are.
func (f *finder) serving(o *bundle.Object) {
	from, ok := o.Object.GetAnnotations()[injects]
	if !ok {
		return
	}
	for _, w := range webhooks.In(o.Object) {
		if w.Client.Service == nil || !f.distrusted(o, &w, from) {
			continue
		}
		return // one for an object: its webhooks share a certificate
	}
}

func (f *finder) distrusted(o *bundle.Object, w *webhooks.Webhook, from string) bool {
	service := w.Client.Service
	host := service.Name + "." + service.Namespace + ".svc"
	served := f.servedBy(service)
	if len(served) == 0 {
		return false // another check's, or no Certificate of the bundle
	}
	p := problem.Of(o)
	p.Name, p.Cause = from, "serving "+host
	p.Then = "the API server does not trust " + host
	first := served[0]
	switch source := f.certificate(from); {
	case !slices.ContainsFunc(served, func(c *bundle.Object) bool { return isFor(c.Object, host) }):
		p.Name = first.Object.GetName()
		p.Text = fmt.Sprintf("webhook %s is served with %s (%s), which is for %s, and the API server asks for %s", w.Name, first.Ref(), first.Component, strings.Join(hosts(first.Object), ", "), host)
		p.Then = fmt.Sprintf("the API server accepts no certificate without that name: add %s to its dnsNames", host)
	case source == nil:
		p.Text = fmt.Sprintf("has its caBundle written from Certificate %s (%s), which does not exist; its pods serve with %s (%s)", from, injects, first.Ref(), first.Component)
		p.Missing.Group, p.Missing.Kind = group, certificate
		p.Missing.Namespace, p.Missing.Name, _ = strings.Cut(from, "/")
	case !slices.Contains(served, source) && slices.ContainsFunc(served, f.signsItself) && len(served) == 1:
		p.Text = fmt.Sprintf("has its caBundle written from %s (%s), and its pods serve with %s (%s), which is signed by itself", source.Ref(), injects, first.Ref(), first.Component)
	default:
		return false
	}
	if w.FailsClosed() {
		p.Reason = reason.DeployFailed
		p.Then += "; it refuses every request that the webhook is for (failurePolicy Fail)"
	} else {
		p.Then += "; it leaves the webhook out (failurePolicy Ignore)"
	}
	f.found = append(f.found, p)
	return true
}

// servedBy are the Certificates whose Secrets the pods behind a Service mount; none if they mount a Secret that
// the bundle has, too: then they may serve with that one.
func (f *finder) servedBy(service *admissionv1.ServiceReference) (all []*bundle.Object) {
	mounted := problem.MountedSecrets(f.e.Objects, service.Namespace, f.selectorOf(service))
	for i := range f.e.Objects {
		o := &f.e.Objects[i]
		if o.Object.GetNamespace() != service.Namespace {
			continue
		}
		made, _, _ := unstructured.NestedString(o.Object.Object, "spec", "secretName")
		switch gk := o.Object.GroupVersionKind().GroupKind(); {
		case gk.Group == "" && gk.Kind == "Secret" && mounted[o.Object.GetName()]:
			return nil
		case gk.Group == group && gk.Kind == certificate && mounted[made]:
			all = append(all, o)
		}
	}
	return all
}

func (f *finder) selectorOf(service *admissionv1.ServiceReference) map[string]string {
	for i := range f.e.Objects {
		o := f.e.Objects[i].Object
		if o.GetKind() == "Service" && o.GroupVersionKind().Group == "" && o.GetNamespace() == service.Namespace && o.GetName() == service.Name {
			selector, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector")
			return selector
		}
	}
	return nil
}

// certificate is the Certificate of a namespace and name; nil if the bundle has none.
func (f *finder) certificate(name string) *bundle.Object {
	for i := range f.e.Objects {
		o := &f.e.Objects[i]
		if gk := o.Object.GroupVersionKind().GroupKind(); gk.Group == group && gk.Kind == certificate && o.Object.GetNamespace()+"/"+o.Object.GetName() == name {
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
func (f *finder) signsItself(c *bundle.Object) bool {
	name, _, _ := unstructured.NestedString(c.Object.Object, "spec", "issuerRef", "name")
	kind, _, _ := unstructured.NestedString(c.Object.Object, "spec", "issuerRef", "kind")
	return slices.ContainsFunc(f.e.Objects, func(o bundle.Object) bool {
		ofKind := o.Object.GetKind() == clusterIssuer && kind == clusterIssuer || o.Object.GetKind() == "Issuer" && kind != clusterIssuer && o.Object.GetNamespace() == c.Object.GetNamespace()
		_, self, _ := unstructured.NestedMap(o.Object.Object, "spec", "selfSigned")
		return ofKind && o.Object.GetName() == name && self
	})
}
