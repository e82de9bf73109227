// Package certificates finds resources of cert-manager that its webhook refuses, or that never become
// ready, by what they say alone. The stand-in for cert-manager calls every one of them ready.
package certificates

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	group         = "cert-manager.io"
	certificate   = "Certificate"
	clusterIssuer = "ClusterIssuer"
)

// Find returns the resources that can never be ready, and the webhooks that are served with the wrong one.
func Find(e *bundle.Expectation) []problem.Problem {
	f := &finder{e: e, secrets: map[[2]string]*bundle.Object{}}
	for i := range e.Objects {
		o := &e.Objects[i]
		gvk := o.Object.GroupVersionKind()
		switch {
		case gvk.Group == admissionv1.GroupName:
			f.serving(o)
		case gvk.Group != group || gvk.Version != "v1":
		case gvk.Kind == certificate:
			f.refused(o, invalid(o.Object))
			f.shared(o)
		case gvk.Kind == "Issuer" || gvk.Kind == clusterIssuer:
			f.refused(o, unusable(o.Object))
			f.authority(o)
		}
	}
	return f.found
}

type finder struct {
	e     *bundle.Expectation
	found []problem.Problem
	// secrets are the Certificates by the Secret that they make.
	secrets map[[2]string]*bundle.Object
}

func (f *finder) add(o *bundle.Object, field, text, then string) {
	p := problem.Of(o)
	p.Reason, p.Name, p.Cause, p.Text, p.Then = reason.DeployFailed, field, "certificate "+o.Ref().String(), text, then
	f.found = append(f.found, p)
}

// refused adds what cert-manager's webhook says of a resource, if it says anything.
func (f *finder) refused(o *bundle.Object, why *mistake) {
	if why != nil {
		f.add(o, why.field, why.text, "cert-manager's webhook refuses it")
	}
}

// shared finds two Certificates for one Secret: each is issued anew whenever the other one was.
func (f *finder) shared(o *bundle.Object) {
	secret, _, _ := unstructured.NestedString(o.Object.Object, "spec", "secretName")
	key := [2]string{o.Object.GetNamespace(), secret}
	other := f.secrets[key]
	if secret == "" || other == nil {
		f.secrets[key] = o
		return
	}
	if other.Ref() == o.Ref() {
		return // one object, delivered twice: another check's
	}
	f.add(o, secret, fmt.Sprintf("is to be kept in Secret %s/%s (spec.secretName), and so is %s (%s)", key[0], secret, other.Ref(), other.Component),
		"cert-manager never gets both ready: what it issues for one does not fit the other")
}

// authority finds an issuer whose authority is a Certificate that may not sign, or one whose Secret is
// where cert-manager does not look for it.
func (f *finder) authority(o *bundle.Object) {
	secret, _, _ := unstructured.NestedString(o.Object.Object, "spec", "ca", "secretName")
	if secret == "" {
		return
	}
	in := o.Object.GetNamespace()
	if o.Object.GetKind() == clusterIssuer {
		if in = f.clusterNamespace(); in == "" {
			return // which cert-manager it is, the bundle does not say
		}
	}
	var elsewhere *bundle.Object
	for i := range f.e.Objects {
		c := &f.e.Objects[i]
		made, _, _ := unstructured.NestedString(c.Object.Object, "spec", "secretName")
		ofCertificate := c.Object.GetKind() == certificate && c.Object.GroupVersionKind().Group == group && made == secret
		given := c.Object.GetKind() == "Secret" && c.Object.GetName() == secret
		switch {
		case !ofCertificate && !given:
		case c.Object.GetNamespace() != in:
			elsewhere = c
		case given && lacksPair(c.Object):
			f.add(o, secret, fmt.Sprintf("signs with %s (%s, spec.ca.secretName), which has no tls.crt and tls.key", c.Ref(), c.Component), "it is never ready, and cert-manager makes no Secret with it")
			return
		default:
			ca, _, _ := unstructured.NestedBool(c.Object.Object, "spec", "isCA")
			if ofCertificate && !ca {
				f.add(o, secret, fmt.Sprintf("signs with Secret %s (spec.ca.secretName), which is that of %s (%s), no authority: it lacks isCA", secret, c.Ref(), c.Component), "it is never ready, and cert-manager makes no Secret with it")
			}
			return
		}
	}
	if elsewhere != nil && o.Object.GetKind() == clusterIssuer {
		f.add(o, secret, fmt.Sprintf("signs with Secret %s (spec.ca.secretName), which cert-manager reads in namespace %s (--cluster-resource-namespace), and %s (%s) is in namespace %s", secret, in, elsewhere.Ref(), elsewhere.Component, elsewhere.Object.GetNamespace()),
			"it is never ready, and cert-manager makes no Secret with it")
	}
}

// lacksPair reports whether a Secret has something in it, and no certificate or no key. An empty one is
// filled by somebody else.
func lacksPair(o *unstructured.Unstructured) bool {
	data, _, _ := unstructured.NestedMap(o.Object, "data")
	text, _, _ := unstructured.NestedMap(o.Object, "stringData")
	if len(data)+len(text) == 0 {
		return false
	}
	return slices.ContainsFunc([]string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}, func(key string) bool { return !filled(data[key]) && !filled(text[key]) })
}

// clusterNamespace is where the cert-manager of a bundle reads the Secrets of ClusterIssuers; empty if
// the bundle has none, or if that cannot be known.
func (f *finder) clusterNamespace() string {
	const flag = "--cluster-resource-namespace"
	for i := range f.e.Workloads {
		w := &f.e.Workloads[i]
		if w.Kind != "Deployment" || len(w.PodSpec.Containers) == 0 {
			continue
		}
		c := w.PodSpec.Containers[0]
		if !podspec.OfRepository(c.Image, "jetstack/cert-manager-controller") {
			continue
		}
		for _, arg := range c.Args {
			value, ok := strings.CutPrefix(arg, flag+"=")
			switch {
			case ok && value == "$(POD_NAMESPACE)":
				return w.Namespace
			case ok && !strings.Contains(value, "$("):
				return value
			case strings.HasPrefix(arg, flag), strings.HasPrefix(arg, "--config"):
				return ""
			}
		}
		return "kube-system" // cert-manager's own default
	}
	return ""
}
