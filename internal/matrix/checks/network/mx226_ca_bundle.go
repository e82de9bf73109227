package network

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var caBundle = judge.Check{
	ID: "MX226", Name: "ca-bundle-not-trusted", Needs: judge.Rendered, Kinds: slices.Concat(webhookConfigurations, definitions), Gives: reason.DeployFailed,
	Title: "The API server trusts the certificate of a webhook: its caBundle is the authority's, or something fills it in",
	Why: "The API server verifies a webhook's certificate with the caBundle (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook). " +
		"A chart whose templates call genCA several times makes authorities that do not know each other. No process serves webhooks here. A warning for one that fails open.",
	Fix:  "Let one call of genCA make both, or let cert-manager or a Job write the caBundle.",
	Says: "webhook %s has a caBundle that is not of the authority of the certificate in Secret %[3]s, e.g. since a template generates each of them by itself",
	Then: "the API server does not trust %[2]s%[4]s",
	Others: map[string]judge.Message{"empty": {
		Says: "webhook %s has no caBundle, and nothing in the recipe fills one in: no annotation of cert-manager, no Job, and no role of %[3]s that may change it",
		Then: "the API server does not trust %[2]s%[4]s"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(webhookConfigurations...) {
			for i, w := range facts.Webhooks(o.Object) {
				trusted(s, o, fmt.Sprintf("webhooks[%d].clientConfig", i), w.Name, w.Client, w.FailsClosed(), mayChangeWebhooks)
			}
		}
		for _, o := range s.Rendered(definitions...) {
			raw, _ := facts.At(o.Object.Object, conversion).(map[string]any)
			var client admissionv1.WebhookClientConfig // that of a conversion has the same fields
			// Without one an operator may set its own later, without a role that shows it.
			if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &client) == nil && len(client.CABundle) > 0 {
				trusted(s, o, conversion, "of the conversion", &client, true, rendering.MayChangeDefinitions)
			}
		}
	},
}

// trusted reports a webhook whose certificate the API server does not trust.
func trusted(s *judge.Scope, o *bundle.Object, path, name string, client *admissionv1.WebhookClientConfig, closed bool, mayChange func(rbacv1.PolicyRule) bool) {
	service := client.Service
	if service == nil || s.Service(service.Namespace, service.Name) == nil || fillsIn(s.Rendered(), o, service, mayChange) {
		return
	}
	host := service.Name + "." + service.Namespace + ".svc"
	end := ": it refuses every request that the webhook is for (failurePolicy Fail)"
	if !closed {
		end = ", and leaves the webhook out (failurePolicy Ignore)"
	}
	var f *judge.Found
	if path += ".caBundle"; len(client.CABundle) == 0 {
		f = s.ReportAs("empty", o, path, name, host, o.Component, end).OneCause(o.Ref().String())
	} else {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(client.CABundle) {
			return // the API server rejects it
		}
		secret := untrusted(s, o, service, host, roots)
		if secret == "" {
			return
		}
		f = s.Report(o, path, name, host, secret, end).OneCause(secret)
	}
	if f.SetBy(o.Object.GetName()); !closed {
		f.Warning()
	}
}

// fillsIn reports whether something may set the caBundle on a running cluster: cert-manager or OpenShift by an
// annotation, a workload that names the configuration, or a program of the same component or namespace that may change
// such objects.
func fillsIn(all []*bundle.Object, o *bundle.Object, service *admissionv1.ServiceReference, mayChange func(rbacv1.PolicyRule) bool) bool {
	for key := range o.Object.GetAnnotations() {
		if strings.HasPrefix(key, "cert-manager.io/inject-") || strings.HasSuffix(key, ".openshift.io/inject-cabundle") {
			return true
		}
	}
	name := o.Object.GetName()
	return slices.ContainsFunc(all, func(other *bundle.Object) bool {
		if spec := facts.PodSpec(other); spec != nil {
			return facts.ArgumentsName(spec, name)
		}
		near := other.Component == o.Component || other.Object.GetNamespace() == service.Namespace
		switch other.Object.GetKind() {
		case "ClusterRole":
			var role rbacv1.ClusterRole
			return problem.Read(other, &role) && slices.ContainsFunc(role.Rules, func(p rbacv1.PolicyRule) bool {
				return mayChange(p) && (near && len(p.ResourceNames) == 0 || slices.Contains(p.ResourceNames, name))
			})
		case "ClusterRoleBinding":
			var b rbacv1.ClusterRoleBinding
			return problem.Read(other, &b) && b.RoleRef.Name == "cluster-admin" && (near || slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Namespace == service.Namespace }))
		}
		return false
	})
}

func mayChangeWebhooks(p rbacv1.PolicyRule) bool {
	any := func(have []string, want ...string) bool {
		return slices.ContainsFunc(have, func(s string) bool { return slices.Contains(want, s) })
	}
	return any(p.APIGroups, "admissionregistration.k8s.io", "*") && any(p.Verbs, "patch", "update", "*") &&
		any(p.Resources, "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "*")
}

// untrusted is the rendered Secret with the certificate of a webhook, if the roots do not verify any certificate that
// may be it. A certificate may be it if it is for the Service's name, and if the Secret is one that the Service's pods
// mount, or else of the same component.
func untrusted(s *judge.Scope, o *bundle.Object, service *admissionv1.ServiceReference, host string, roots *x509.CertPool) (bad string) {
	svc := s.Service(service.Namespace, service.Name)
	mounted := problem.MountedSecrets(s.Expectation.Objects, service.Namespace, svc.Spec.Selector)
	for _, secret := range s.Rendered(schema.GroupKind{Kind: facts.NeedSecret}) {
		name := secret.Object.GetName()
		if secret.Object.GetNamespace() != service.Namespace || len(mounted) > 0 && !mounted[name] || len(mounted) == 0 && secret.Component != o.Component {
			continue
		}
		for _, chain := range chainsOf(secret) {
			leaf, between := chain[0], x509.NewCertPool()
			if leaf.IsCA || leaf.VerifyHostname(host) != nil {
				continue
			}
			for _, other := range chain[1:] {
				between.AddCert(other)
			}
			// The time of its validity is not compared with this machine's clock: only who signed it.
			_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: leaf.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			if err == nil {
				return ""
			}
			bad = infra.NamespacedName(secret.Object.GetNamespace(), name)
		}
	}
	return bad
}

// chainsOf gives the certificates of a rendered Secret, one chain for each key that has any.
func chainsOf(s *bundle.Object) [][]*x509.Certificate {
	texts := map[string][]byte{}
	data, _, _ := unstructured.NestedStringMap(s.Object.Object, "data")
	for k, v := range data {
		if raw, err := base64.StdEncoding.DecodeString(v); err == nil {
			texts[k] = raw
		}
	}
	plain, _, _ := unstructured.NestedStringMap(s.Object.Object, "stringData")
	for k, v := range plain {
		texts[k] = []byte(v)
	}
	var all [][]*x509.Certificate
	for _, k := range slices.Sorted(maps.Keys(texts)) {
		var chain []*x509.Certificate
		for rest := texts[k]; ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				chain = append(chain, cert)
			}
		}
		if len(chain) > 0 {
			all = append(all, chain)
		}
	}
	return all
}
