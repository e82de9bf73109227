package operator

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const neverSigns = "it is never ready, and cert-manager makes no Secret with it"

var issuerAuthority = judge.Check{
	ID: "MX662", Name: "issuer-cannot-sign", Needs: judge.Rendered, Kinds: judge.KindsOf(certManager, "Issuer", "ClusterIssuer"), Gives: reason.DeployFailed,
	Title: "The Secret of a CA issuer is that of an authority, and where cert-manager looks for it",
	Why: "A CA issuer signs with the certificate and key of a Secret (https://cert-manager.io/docs/configuration/ca/): in its own namespace, or for a ClusterIssuer in the one of --cluster-resource-namespace. " +
		"A Certificate may sign if it has isCA.",
	Fix:  "Set isCA on the Certificate, or put the Secret where cert-manager looks.",
	Says: "signs with Secret %s (spec.ca.secretName), which is that of %s (%s), no authority: it lacks isCA", Then: neverSigns,
	Others: map[string]judge.Message{
		"no pair":   {Says: "signs with %s (%s, spec.ca.secretName), which has no tls.crt and tls.key", Then: neverSigns},
		"elsewhere": {Says: "signs with Secret %s (spec.ca.secretName), which cert-manager reads in namespace %s (--cluster-resource-namespace), and %s (%s) is in namespace %s", Then: neverSigns},
	},
	Run: func(s *judge.Scope) {
		for _, o := range ofCertManager(s, "Issuer", "ClusterIssuer") {
			in, secret := o.Object.GetNamespace(), facts.Text(o.Object, "spec.ca.secretName")
			if o.Object.GetKind() == "ClusterIssuer" {
				in = clusterNamespace(s.Expectation) // empty: which cert-manager it is, the bundle does not say
			}
			if secret != "" && in != "" && unusableIssuer(o.Object) == nil {
				judgeAuthority(s, o, in, secret)
			}
		}
	},
}

// judgeAuthority reports an issuer that cannot sign with the Secret in a namespace.
func judgeAuthority(s *judge.Scope, o *bundle.Object, in, secret string) {
	const path = "spec.ca.secretName"
	var elsewhere *bundle.Object
	for i := range s.Expectation.Objects {
		c := &s.Expectation.Objects[i]
		ofCertificate := c.Object.GroupVersionKind().GroupKind() == judge.KindsOf(certManager, "Certificate")[0] && facts.Text(c.Object, "spec.secretName") == secret
		given := c.Object.GetKind() == "Secret" && c.Object.GetName() == secret
		switch {
		case !ofCertificate && !given:
		case c.Object.GetNamespace() != in:
			elsewhere = c
		case given && lacksPair(c.Object):
			s.ReportAs("no pair", o, path, c.Ref(), c.Component).OneCause(o.Ref().String())
			return
		default:
			if ca, _, _ := unstructured.NestedBool(c.Object.Object, "spec", "isCA"); ofCertificate && !ca {
				s.Report(o, path, secret, c.Ref(), c.Component).OneCause(o.Ref().String())
			}
			return
		}
	}
	if elsewhere != nil && o.Object.GetKind() == "ClusterIssuer" {
		s.ReportAs("elsewhere", o, path, secret, in, elsewhere.Ref(), elsewhere.Component, elsewhere.Object.GetNamespace()).OneCause(o.Ref().String())
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
func clusterNamespace(e *bundle.Expectation) string {
	const flag = "--cluster-resource-namespace"
	for i := range e.Workloads {
		w := &e.Workloads[i]
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
