package certificates

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A webhook whose certificate is cert-manager's: it must be for the Service's name, and the one whose authority
// cainjector writes.
func TestFind_Serving(t *testing.T) {
	const (
		hook    = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w, annotations: {cert-manager.io/inject-ca-from: x/serving}}\nwebhooks: [{name: w.example.com, clientConfig: {service: {name: svc, namespace: x}}}]\n---\n"
		service = "apiVersion: v1\nkind: Service\nmetadata: {name: svc, namespace: x}\nspec: {selector: {app: w}, ports: [{port: 443}]}\n---\n"
		pods    = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w, namespace: x}\nspec: {template: {metadata: {labels: {app: w}}, spec: {volumes: [{name: c, secret: {secretName: tls}}], containers: [{name: m}]}}}\n---\n"
		issuer  = "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: house, namespace: x}\nspec: {selfSigned: {}}\n---\n"
		right   = "svc.x.svc, svc.x.svc.cluster.local"
	)
	cert := func(name, secret, hosts string) string {
		return "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: " + name + ", namespace: x}\nspec: {secretName: " + secret + ", dnsNames: [" + hosts + "], issuerRef: {name: house}}\n---\n"
	}
	base := hook + service + pods + issuer
	elsewhere := strings.Replace(base, "x/serving", "cert-manager/serving", 1)
	for name, c := range map[string]struct {
		objects, want string
		warns         bool
	}{
		"for the Service":           {objects: base + cert("serving", "tls", right)},
		"for all of the namespace":  {objects: base + cert("serving", "tls", "'*.x.svc'")},
		"for another namespace":     {objects: base + cert("serving", "tls", "svc.y.svc, svc.y.svc.cluster.local"), want: "webhook w.example.com is served with Certificate.cert-manager.io x/serving (c), which is for svc.y.svc, svc.y.svc.cluster.local, and the API server asks for svc.x.svc; the API server accepts no certificate without that name: add svc.x.svc to its dnsNames"},
		"only the longest name":     {objects: base + cert("serving", "tls", "svc.x.svc.cluster.local"), want: "the API server asks for svc.x.svc"},
		"that fails open":           {objects: strings.Replace(base, "clientConfig", "failurePolicy: Ignore, clientConfig", 1) + cert("serving", "tls", "svc.y.svc"), want: "it leaves the webhook out (failurePolicy Ignore)", warns: true},
		"another pods' Secret":      {objects: base + cert("serving", "other", "svc.y.svc")},
		"beside a Secret":           {objects: base + cert("serving", "tls", "svc.y.svc") + "apiVersion: v1\nkind: Secret\nmetadata: {name: tls, namespace: x}\n---\n"},
		"of no Service":             {objects: strings.Replace(base, "name: svc, namespace: x}\nspec", "name: svcs, namespace: x}\nspec", 1) + cert("serving", "tls", "svc.y.svc")},
		"one that is not there":     {objects: elsewhere + cert("serving", "tls", right), want: "has its caBundle written from Certificate cert-manager/serving (cert-manager.io/inject-ca-from), which does not exist; its pods serve with Certificate.cert-manager.io x/serving (c)"},
		"of another by itself":      {objects: base + cert("serving", "other", right) + cert("second", "tls", right), want: "has its caBundle written from Certificate.cert-manager.io x/serving (cert-manager.io/inject-ca-from), and its pods serve with Certificate.cert-manager.io x/second (c), which is signed by itself"},
		"of another, one authority": {objects: strings.Replace(base, "selfSigned: {}", "vault: {server: a, path: b, auth: {tokenSecretRef: {name: t}}}", 1) + cert("serving", "other", right) + cert("second", "tls", right)},
		"without the annotation":    {objects: strings.Replace(base, "cert-manager.io/inject-ca-from", "example.com/ca-from", 1) + cert("serving", "tls", "svc.y.svc")},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", c.objects)}
			found, got := Find(e), ""
			for _, p := range found {
				got += p.Text + "; " + p.Then
				if wanted := map[bool]reason.Reason{false: reason.DeployFailed, true: ""}[c.warns]; p.Reason != wanted {
					t.Errorf("got reason %q, want %q", p.Reason, wanted)
				}
			}
			if len(found) > 1 || (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want one with %q", got, c.want)
			}
		})
	}
}
