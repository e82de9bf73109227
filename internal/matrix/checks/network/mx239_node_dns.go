package network

import (
	"cmp"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var nodeDNS = judge.Check{
	ID: "MX239", Name: "service-name-at-the-nodes-dns", Needs: judge.Rendered,
	Title: "Pods that ask the DNS of their node have no addresses of Services",
	Why: "With hostNetwork, dnsPolicy ClusterFirst, which is the default, falls back to Default: the pod has the resolver of its node, and that does not know Services " +
		"(https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy). Simulated pods look nothing up.",
	Fix:  "Set dnsPolicy: ClusterFirstWithHostNet beside hostNetwork, or ClusterFirst without it.",
	Says: "has the address %s, and its pods ask the DNS of their node (%s)", Then: "which does not know Services: no program finds the address; edit: dnsPolicy: %[3]s",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			spec := &p.Template.Spec
			how, edit := "dnsPolicy: Default", corev1.DNSClusterFirst
			switch policy := cmp.Or(spec.DNSPolicy, corev1.DNSClusterFirst); {
			case spec.DNSConfig != nil && len(spec.DNSConfig.Nameservers) > 0: // the pod names a resolver itself
				continue
			case spec.HostNetwork && (policy == corev1.DNSClusterFirst || policy == corev1.DNSDefault):
				how, edit = "hostNetwork with dnsPolicy "+string(policy), corev1.DNSClusterFirstWithHostNet
			case policy != corev1.DNSDefault:
				continue
			}
			reported := false
			eachText(p, func(path, text string) {
				if address := looksUp(s, p, text); address != "" && !reported {
					reported = true
					s.Report(p.Object, path, address, how, edit).SetBy(address)
				}
			})
		}
	},
}

// shortName is the host of a URL that may be the name of a Service, without or with its namespace.
var shortName = regexp.MustCompile(`://([a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)(?:\.([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?))?(?:[:/]|$)`)

// looksUp is the first address of a Service in a text that a program of the pod looks up; empty if it has none. The name of
// a Service for the pod itself does not count: that is what its certificate is for, as a rule.
func looksUp(s *judge.Scope, p facts.PodTemplate, text string) string {
	own := func(name, namespace string) bool {
		svc := s.Service(namespace, name)
		return svc != nil && len(svc.Spec.Selector) > 0 && labels.SelectorFromSet(svc.Spec.Selector).Matches(labels.Set(p.Template.Labels))
	}
	for _, m := range inCluster.FindAllStringSubmatch(text, -1) {
		if !own(m[1], m[2]) {
			return m[0]
		}
	}
	for _, m := range shortName.FindAllStringSubmatch(text, -1) {
		namespace := cmp.Or(m[2], p.Object.Object.GetNamespace())
		if s.Service(namespace, m[1]) != nil && !own(m[1], namespace) {
			return m[0][len("://"):]
		}
	}
	return ""
}
