package network

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var tlsHost = judge.Check{
	ID: "MX233", Name: "tls-host-of-no-rule", Needs: judge.Rendered, Kinds: judge.KindsOf(networkingv1.GroupName, "Ingress"),
	Title: "A host with a certificate is one of the Ingress's rules",
	Why:   "The hosts of spec.tls need to be those of spec.rules (https://kubernetes.io/docs/concepts/services-networking/ingress/#tls). A rule without a host is for all.",
	Fix:   "Write the host alike in both.",
	Says:  "has a certificate for host %s (spec.tls), and no rule is for it (they are for %s)", Then: "its rules answer without that certificate",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "Ingress")...) {
			in := facts.As[networkingv1.Ingress](s.Index, o)
			if in == nil || len(in.Spec.Rules) == 0 || slices.ContainsFunc(in.Spec.Rules, func(r networkingv1.IngressRule) bool { return r.Host == "" }) {
				continue
			}
			var hosts []string
			for _, r := range in.Spec.Rules {
				hosts = append(hosts, r.Host)
			}
			for i, t := range in.Spec.TLS {
				for j, host := range t.Hosts {
					if !slices.ContainsFunc(hosts, func(rule string) bool { return covers(host, rule) || covers(rule, host) }) {
						s.Report(o, fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j), host, strings.Join(hosts, ", "))
					}
				}
			}
		}
	},
}

// covers reports whether a host, which may begin with *, is another one.
func covers(pattern, host string) bool {
	_, rest, _ := strings.Cut(host, ".")
	return strings.EqualFold(pattern, host) || strings.EqualFold(pattern, "*."+rest)
}
