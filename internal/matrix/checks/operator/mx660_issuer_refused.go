package operator

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var issuerRefused = judge.Check{
	ID: "MX660", Name: "issuer-refused", Needs: judge.Rendered, Kinds: judge.KindsOf(certManager, "Issuer", "ClusterIssuer"), Gives: reason.DeployFailed,
	Title: "cert-manager's webhook takes the issuer",
	Why: "The webhook checks that an issuer is of one type, has what its type needs, and that each solver of challenges is of one kind " +
		"(https://github.com/cert-manager/cert-manager/blob/master/internal/apis/certmanager/validation/issuer.go). In a cell the stand-in for cert-manager calls every issuer ready.",
	Fix:  "Correct the field that the finding names (https://cert-manager.io/docs/configuration/issuers/).",
	Says: "%s", Then: "cert-manager's webhook refuses it",
	Run: func(s *judge.Scope) {
		for _, o := range ofCertManager(s, "Issuer", "ClusterIssuer") {
			if m := unusableIssuer(o.Object); m != nil {
				s.Report(o, "spec", m.text).SetBy(m.name).OneCause(o.Ref().String())
			}
		}
	},
}

// unusableIssuer is what the webhook refuses in an issuer.
func unusableIssuer(o *unstructured.Unstructured) *mistake {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	var kinds []string
	for _, kind := range []string{"acme", "ca", "selfSigned", "vault", "venafi"} {
		if spec[kind] != nil {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(kinds) > 1:
		return &mistake{name: kinds[1], text: "is of more than one type (" + strings.Join(kinds, ", ") + ")"}
	case len(spec) == 0:
		return &mistake{name: "spec", text: "is of no type: it has none of acme, ca, selfSigned, vault, venafi"}
	case len(kinds) == 0:
		return nil // a field that its definition does not have: the API server says so
	}
	settings, _ := spec[kinds[0]].(map[string]any)
	for _, must := range map[string][]string{"acme": {"server", "privateKeySecretRef.name"}, "ca": {"secretName"}, "vault": {"server", "path", "auth"}, "venafi": {"zone"}}[kinds[0]] {
		if v, _, _ := unstructured.NestedFieldNoCopy(settings, strings.Split(must, ".")...); !filled(v) {
			return &mistake{name: kinds[0], text: "has no " + must + " (spec." + kinds[0] + ")"}
		}
	}
	solvers, _, _ := unstructured.NestedSlice(settings, "solvers")
	for i, s := range solvers {
		if why := solver(s); why != "" {
			return &mistake{name: "solvers", text: fmt.Sprintf("%s (spec.acme.solvers[%d])", why, i)}
		}
	}
	return nil
}

// solver is what is wrong with a solver of challenges.
func solver(v any) string {
	s, _ := v.(map[string]any)
	http, _ := s["http01"].(map[string]any)
	dns, _ := s["dns01"].(map[string]any)
	switch {
	case s["http01"] == nil && s["dns01"] == nil:
		return "has a solver that is neither http01 nor dns01"
	case s["http01"] != nil && s["dns01"] != nil:
		return "has a solver that is both http01 and dns01"
	case s["http01"] != nil && http["ingress"] == nil && http["gatewayHTTPRoute"] == nil:
		return "has an http01 solver with neither ingress nor gatewayHTTPRoute"
	case s["http01"] != nil && http["ingress"] != nil && http["gatewayHTTPRoute"] != nil:
		return "has an http01 solver with both ingress and gatewayHTTPRoute"
	case s["dns01"] != nil && len(dns) == 0:
		return "has a dns01 solver without a provider"
	}
	return ""
}
