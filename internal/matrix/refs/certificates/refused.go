package certificates

import (
	"fmt"
	"maps"
	"net"
	"net/mail"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

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
	for _, why := range []*mistake{issuerOf(spec), addresses(spec), secretOf(spec), keystores(spec), lifetime(spec)} {
		if why != nil {
			return why
		}
	}
	return keySize(spec)
}

// issuerOf is what is wrong with the name of the issuer.
func issuerOf(spec map[string]any) *mistake {
	ref, _, _ := unstructured.NestedMap(spec, "issuerRef")
	name, _ := ref["name"].(string)
	kind, _ := ref["kind"].(string)
	of, _ := ref["group"].(string)
	switch {
	case name == "":
		return &mistake{"issuerRef", "names no issuer (spec.issuerRef.name)"}
	case of != "" && of != group, kind == "", kind == "Issuer", kind == clusterIssuer:
		return nil
	}
	return &mistake{kind, fmt.Sprintf("is to be signed by an issuer of kind %s, and cert-manager has Issuer and ClusterIssuer: one of another program needs spec.issuerRef.group", kind)}
}

// addresses is what is wrong with the addresses that a Certificate is for.
func addresses(spec map[string]any) *mistake {
	ips, _, _ := unstructured.NestedStringSlice(spec, "ipAddresses")
	for _, ip := range ips {
		if net.ParseIP(ip) == nil {
			return &mistake{ip, fmt.Sprintf("is for the IP address %q, which is none (spec.ipAddresses)", ip)}
		}
	}
	emails, _, _ := unstructured.NestedStringSlice(spec, "emailAddresses")
	for _, email := range emails {
		if a, err := mail.ParseAddress(email); err != nil || a.Address != email {
			return &mistake{email, fmt.Sprintf("is for the e-mail address %q, which is none (spec.emailAddresses)", email)}
		}
	}
	return nil
}

// secretOf is what is wrong with the Secret.
func secretOf(spec map[string]any) *mistake {
	if name, _ := spec["secretName"].(string); name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return &mistake{"secretName", fmt.Sprintf("is to be kept in Secret %s, which is no name of an object (spec.secretName)", name)}
	}
	annotations, _, _ := unstructured.NestedStringMap(spec, "secretTemplate", "annotations")
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, group+"/") && key != group+"/allow-direct-injection" {
			return &mistake{key, fmt.Sprintf("gives its Secret the annotation %s (spec.secretTemplate), which only cert-manager may", key)}
		}
	}
	return nil
}

// keystores is what is wrong with the passwords of keystores.
func keystores(spec map[string]any) *mistake {
	for _, format := range []string{"jks", "pkcs12"} {
		store, found, _ := unstructured.NestedMap(spec, "keystores", format)
		secret, _, _ := unstructured.NestedString(store, "passwordSecretRef", "name")
		switch password := store["password"]; {
		case !found:
		case password != nil && secret != "":
			return &mistake{format, fmt.Sprintf("has two passwords for its keystore (spec.keystores.%s: password and passwordSecretRef)", format)}
		case password == nil && secret == "", password == "":
			return &mistake{format, fmt.Sprintf("has no password for its keystore (spec.keystores.%s)", format)}
		}
	}
	return nil
}

// lifetime is what is wrong with the time for which a Certificate is valid.
func lifetime(spec map[string]any) *mistake {
	lasts, ok := duration(spec["duration"], 90*24*time.Hour)
	renews, given := duration(spec["renewBefore"], 0)
	switch {
	case !ok:
		return nil // the API server refuses what is no duration
	case lasts < time.Hour:
		return &mistake{"duration", fmt.Sprintf("lasts %s (spec.duration), and an hour is the least", lasts)}
	case given && spec["renewBefore"] != nil && spec["renewBeforePercentage"] != nil:
		return &mistake{"renewBeforePercentage", "is renewed by two rules (spec.renewBefore and spec.renewBeforePercentage)"}
	case given && spec["renewBefore"] != nil && renews < 5*time.Minute:
		return &mistake{"renewBefore", fmt.Sprintf("is renewed %s before its end (spec.renewBefore), and five minutes is the least", renews)}
	case given && spec["renewBefore"] != nil && renews >= lasts:
		return &mistake{"renewBefore", fmt.Sprintf("is renewed %s before its end (spec.renewBefore), and lasts %s", renews, lasts)}
	}
	return nil
}

// keySize is what is wrong with the size of the key.
func keySize(spec map[string]any) *mistake {
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

// unusable is what the webhook refuses in an issuer.
func unusable(o *unstructured.Unstructured) *mistake {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	var kinds []string
	for _, kind := range []string{"acme", "ca", "selfSigned", "vault", "venafi"} {
		if spec[kind] != nil {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(kinds) > 1:
		return &mistake{kinds[1], "is of more than one type (" + strings.Join(kinds, ", ") + ")"}
	case len(spec) == 0:
		return &mistake{"spec", "is of no type: it has none of acme, ca, selfSigned, vault, venafi"}
	case len(kinds) == 0:
		return nil // a field that its definition does not have: the API server says so
	}
	settings, _ := spec[kinds[0]].(map[string]any)
	for _, must := range map[string][]string{"acme": {"server", "privateKeySecretRef.name"}, "ca": {"secretName"}, "vault": {"server", "path", "auth"}, "venafi": {"zone"}}[kinds[0]] {
		if v, _, _ := unstructured.NestedFieldNoCopy(settings, strings.Split(must, ".")...); !filled(v) {
			return &mistake{kinds[0], "has no " + must + " (spec." + kinds[0] + ")"}
		}
	}
	solvers, _, _ := unstructured.NestedSlice(settings, "solvers")
	for i, s := range solvers {
		if why := solver(s); why != "" {
			return &mistake{"solvers", fmt.Sprintf("%s (spec.acme.solvers[%d])", why, i)}
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
