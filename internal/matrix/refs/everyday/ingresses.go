package everyday

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result"
)

// ingress warns of a certificate that no controller can use, and of a path that another Ingress has.
func (f *finder) ingress(o *bundle.Object) {
	var in networkingv1.Ingress
	if !problem.Read(o, &in) {
		return
	}
	f.taken(o, &in)
	f.classless(o, &in)
	for key := range in.Annotations {
		if strings.Contains(key, "cert-manager.io/") || strings.Contains(key, "acme") {
			return
		}
	}
	for _, t := range in.Spec.TLS {
		full := infra.NamespacedName(in.Namespace, t.SecretName)
		keys := f.have.Secrets[full]
		p := problem.Of(o)
		p.Name, p.Then = t.SecretName, "its controller answers with a certificate of its own, or not at all"
		switch {
		case t.SecretName == "":
			continue
		case keys == nil:
			p.Missing = result.Ref{Kind: "Secret", Namespace: in.Namespace, Name: t.SecretName}
			p.Text = "takes its certificate from Secret " + full + ", which does not exist"
		case len(keys) > 0 && (!keys[corev1.TLSCertKey] || !keys[corev1.TLSPrivateKeyKey]):
			p.Text = "takes its certificate from Secret " + full + ", which has no tls.crt and tls.key"
		default:
			continue
		}
		f.found = append(f.found, p)
	}
}

// taken warns of a host and path of two Ingresses of one class. One that is a canary shares them on purpose.
func (f *finder) taken(o *bundle.Object, in *networkingv1.Ingress) {
	if in.Annotations["nginx.ingress.kubernetes.io/canary"] == "true" {
		return
	}
	class := ""
	if in.Spec.IngressClassName != nil {
		class = *in.Spec.IngressClassName
	}
	for _, rule := range in.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, path := range rule.HTTP.Paths {
			key := class + " " + rule.Host + path.Path
			first := f.routes[key]
			if first == "" {
				f.routes[key] = o.Ref().String()
			}
			if first != "" && first != o.Ref().String() {
				p := problem.Of(o)
				p.Name, p.Text = rule.Host, fmt.Sprintf("is for %s, and so is %s", rule.Host+path.Path, first)
				p.Then = "which of the two answers depends on the controller; ingress-nginx refuses the second"
				f.found = append(f.found, p)
			}
		}
	}
}
