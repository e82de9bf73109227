// Package certificates finds resources of cert-manager that its webhook refuses, or that never become
// ready, by what they say alone. The stand-in for cert-manager calls every one of them ready.
package certificates

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
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
			f.refused(o, ambiguous(o.Object))
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

// mistake is a field of a resource, and what is wrong with it.
type mistake struct{ field, text string }

// names are the fields of a Certificate of which one at least must say what it is for.
var names = []string{"commonName", "dnsNames", "uris", "ipAddresses", "emailAddresses", "otherNames", "literalSubject"}

// invalid is what the webhook refuses in a Certificate
// (https://cert-manager.io/docs/usage/certificate).
func invalid(o *unstructured.Unstructured) *mistake {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	if !slices.ContainsFunc(names, func(n string) bool { return filled(spec[n]) }) {
		return &mistake{"dnsNames", "names nothing that it is for: it has none of " + strings.Join(names, ", ")}
	}
	if cn, _ := spec["commonName"].(string); len(cn) > 64 {
		return &mistake{"commonName", fmt.Sprintf("has a commonName of %d bytes, and 64 are the most", len(cn))}
	}
	lasts, ok := duration(spec["duration"], 90*24*time.Hour)
	renews, given := duration(spec["renewBefore"], 0)
	switch {
	case !ok:
		return nil // the API server refuses what is no duration
	case lasts < time.Hour:
		return &mistake{"duration", fmt.Sprintf("lasts %s (spec.duration), and an hour is the least", lasts)}
	case given && spec["renewBefore"] != nil && renews >= lasts:
		return &mistake{"renewBefore", fmt.Sprintf("is renewed %s before its end (spec.renewBefore), and lasts %s", renews, lasts)}
	}
	algorithm, _, _ := unstructured.NestedString(spec, "privateKey", "algorithm")
	size, sized, _ := unstructured.NestedInt64(spec, "privateKey", "size")
	if !sized || size == 0 {
		return nil
	}
	switch {
	case algorithm == "ECDSA" && size != 256 && size != 384 && size != 521:
		return &mistake{"size", fmt.Sprintf("has an ECDSA key of %d bits, and there are 256, 384 and 521", size)}
	case (algorithm == "RSA" || algorithm == "") && (size < 2048 || size > 8192):
		return &mistake{"size", fmt.Sprintf("has an RSA key of %d bits, and it must have 2048 to 8192", size)}
	}
	return nil
}

// filled reports whether a field has something in it.
func filled(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	}
	return v != nil
}

func duration(v any, otherwise time.Duration) (time.Duration, bool) {
	text, ok := v.(string)
	if !ok {
		return otherwise, v == nil
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// ambiguous is what the webhook refuses in an issuer.
func ambiguous(o *unstructured.Unstructured) *mistake {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	var kinds []string
	for _, kind := range []string{"acme", "ca", "selfSigned", "vault", "venafi"} {
		if spec[kind] != nil {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 1 {
		return &mistake{kinds[1], "is of more than one type (" + strings.Join(kinds, ", ") + ")"}
	}
	return nil
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
