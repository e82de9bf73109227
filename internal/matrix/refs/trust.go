package refs

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

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// trust checks that the API server would trust what answers for a webhook: that its caBundle has
// the certificate's authority, or that something will fill it in. No process serves webhooks here,
// so that nothing else notices.
func (c *checker) trust(o *bundle.Object, r refsReference, name string, client *admissionv1.WebhookClientConfig, policy *admissionv1.FailurePolicyType) {
	service := client.Service
	mayChange := mayChangeWebhooks
	if o.Object.GetKind() == "CustomResourceDefinition" {
		mayChange = rendering.MayChangeDefinitions
	}
	if service == nil || c.have.Service(service.Namespace, service.Name) == nil || c.fillsIn(o, service, mayChange) {
		return
	}
	r.name = o.Object.GetName()
	host := service.Name + "." + service.Namespace + ".svc"
	if len(client.CABundle) == 0 {
		r.cause = "caBundle of " + r.from.String()
		r.text = "webhook " + name + " has no caBundle, and nothing in the recipe fills one in: no annotation of cert-manager, no Job, and no role of " + o.Component + " that may change it"
		r.then = "the API server does not trust " + host
	} else {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(client.CABundle) {
			return // the API server rejects it
		}
		secret := c.untrusted(o, service, host, roots)
		if secret == "" {
			return
		}
		r.cause = "caBundle of " + secret
		r.text = fmt.Sprintf("webhook %s has a caBundle that is not of the authority of the certificate in Secret %s, e.g. since a template generates each of them by itself", name, secret)
		r.then = "the API server does not trust " + host
	}
	if policy != nil && *policy == admissionv1.Ignore {
		r.then += ", and leaves the webhook out (failurePolicy Ignore)"
		c.warn(r)
		return
	}
	r.then += ": it refuses every request that the webhook is for (failurePolicy Fail)"
	c.fail(reason.DeployFailed, r)
}

// fillsIn reports whether something may set the caBundle on a running cluster: cert-manager or
// OpenShift by an annotation, a workload that names the configuration, or a program of the same
// component or namespace that may change such objects.
func (c *checker) fillsIn(o *bundle.Object, service *admissionv1.ServiceReference, mayChange func(rbacv1.PolicyRule) bool) bool {
	for key := range o.Object.GetAnnotations() {
		if strings.HasPrefix(key, "cert-manager.io/inject-") || strings.HasSuffix(key, ".openshift.io/inject-cabundle") {
			return true
		}
	}
	name := o.Object.GetName()
	return slices.ContainsFunc(c.expectation.Objects, func(other bundle.Object) bool {
		if spec := facts.PodSpec(&other); spec != nil {
			return facts.ArgumentsName(spec, name)
		}
		near := other.Component == o.Component || other.Object.GetNamespace() == service.Namespace
		switch other.Object.GetKind() {
		case "ClusterRole":
			var role rbacv1.ClusterRole
			return problem.Read(&other, &role) && slices.ContainsFunc(role.Rules, func(p rbacv1.PolicyRule) bool {
				return mayChange(p) && (near && len(p.ResourceNames) == 0 || slices.Contains(p.ResourceNames, name))
			})
		case "ClusterRoleBinding":
			var b rbacv1.ClusterRoleBinding
			return problem.Read(&other, &b) && b.RoleRef.Name == "cluster-admin" && (near || slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Namespace == service.Namespace }))
		}
		return false
	})
}

func mayChangeWebhooks(p rbacv1.PolicyRule) bool {
	return anyOf(p.APIGroups, "admissionregistration.k8s.io", "*") && anyOf(p.Verbs, "patch", "update", "*") &&
		anyOf(p.Resources, "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "*")
}

// untrusted returns the rendered Secret with the certificate of a webhook, if the roots do not
// verify any certificate that may be it. A certificate may be it if it is for the Service's name,
// and if the Secret is one that the Service's pods mount, or else of the same component.
func (c *checker) untrusted(o *bundle.Object, service *admissionv1.ServiceReference, host string, roots *x509.CertPool) string {
	mounted := c.mountedBehind(service)
	bad := ""
	for i := range c.expectation.Objects {
		s := &c.expectation.Objects[i]
		name := s.Object.GetName()
		if s.Object.GetKind() != facts.NeedSecret || s.Object.GroupVersionKind().Group != "" || s.Object.GetNamespace() != service.Namespace {
			continue
		}
		if len(mounted) > 0 && !mounted[name] || len(mounted) == 0 && s.Component != o.Component {
			continue
		}
		for _, chain := range chainsOf(s) {
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
			bad = infra.NamespacedName(s.Object.GetNamespace(), name)
		}
	}
	return bad
}

// mountedBehind gives the Secrets that the pods of a Service mount.
func (c *checker) mountedBehind(service *admissionv1.ServiceReference) map[string]bool {
	svc := c.have.Service(service.Namespace, service.Name)
	return problem.MountedSecrets(c.expectation.Objects, service.Namespace, svc.Spec.Selector)
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
