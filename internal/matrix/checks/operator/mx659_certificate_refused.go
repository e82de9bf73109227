package operator

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

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var certificateRefused = judge.Check{
	ID: "MX659", Name: "certificate-refused", Needs: judge.Rendered, Kinds: judge.KindsOf(certManager, "Certificate"), Gives: reason.DeployFailed,
	Title: "cert-manager's webhook takes the Certificate",
	Why: "The webhook checks what a definition cannot: that a Certificate is for something, its issuer, addresses, lifetime, key and keystores " +
		"(https://github.com/cert-manager/cert-manager/blob/master/internal/apis/certmanager/validation/certificate.go). In a cell the stand-in for cert-manager calls every Certificate ready.",
	Fix:  "Correct the field that the finding names (https://cert-manager.io/docs/usage/certificate/).",
	Says: "%s", Then: "cert-manager's webhook refuses it",
	Run: func(s *judge.Scope) {
		for _, o := range ofCertManager(s, "Certificate") {
			if m := invalidCertificate(o.Object); m != nil {
				s.Report(o, "spec", m.text).SetBy(m.name).OneCause(o.Ref().String())
			}
		}
	},
}

// ofCertManager are the objects of some kinds in cert-manager's version v1.
func ofCertManager(s *judge.Scope, kinds ...string) []*bundle.Object {
	return slices.DeleteFunc(s.OfKind(judge.KindsOf(certManager, kinds...)...), func(o *bundle.Object) bool { return o.Object.GroupVersionKind().Version != "v1" })
}

// subjects are the fields of a Certificate of which one at least must say what it is for.
var subjects = []string{"commonName", "dnsNames", "uris", "ipAddresses", "emailAddresses", "otherNames", "literalSubject"}

// invalidCertificate is what the webhook refuses in a Certificate
// (https://cert-manager.io/docs/usage/certificate).
func invalidCertificate(o *unstructured.Unstructured) *mistake {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	if !slices.ContainsFunc(subjects, func(n string) bool { return filled(spec[n]) }) {
		return &mistake{name: "dnsNames", text: "names nothing that it is for: it has none of " + strings.Join(subjects, ", ")}
	}
	if cn, _ := spec["commonName"].(string); len(cn) > 64 {
		return &mistake{name: "commonName", text: fmt.Sprintf("has a commonName of %d bytes, and 64 are the most", len(cn))}
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
		return &mistake{name: "issuerRef", text: "names no issuer (spec.issuerRef.name)"}
	case of != "" && of != certManager, kind == "", kind == "Issuer", kind == "ClusterIssuer":
		return nil
	}
	return &mistake{name: kind, text: fmt.Sprintf("is to be signed by an issuer of kind %s, and cert-manager has Issuer and ClusterIssuer: one of another program needs spec.issuerRef.group", kind)}
}

// addresses is what is wrong with the addresses that a Certificate is for.
func addresses(spec map[string]any) *mistake {
	ips, _, _ := unstructured.NestedStringSlice(spec, "ipAddresses")
	for _, ip := range ips {
		if net.ParseIP(ip) == nil {
			return &mistake{name: ip, text: fmt.Sprintf("is for the IP address %q, which is none (spec.ipAddresses)", ip)}
		}
	}
	emails, _, _ := unstructured.NestedStringSlice(spec, "emailAddresses")
	for _, email := range emails {
		if a, err := mail.ParseAddress(email); err != nil || a.Address != email {
			return &mistake{name: email, text: fmt.Sprintf("is for the e-mail address %q, which is none (spec.emailAddresses)", email)}
		}
	}
	return nil
}

// secretOf is what is wrong with the Secret.
func secretOf(spec map[string]any) *mistake {
	if name, _ := spec["secretName"].(string); name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return &mistake{name: "secretName", text: fmt.Sprintf("is to be kept in Secret %s, which is no name of an object (spec.secretName)", name)}
	}
	annotations, _, _ := unstructured.NestedStringMap(spec, "secretTemplate", "annotations")
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, certManager+"/") && key != certManager+"/allow-direct-injection" {
			return &mistake{name: key, text: fmt.Sprintf("gives its Secret the annotation %s (spec.secretTemplate), which only cert-manager may", key)}
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
			return &mistake{name: format, text: fmt.Sprintf("has two passwords for its keystore (spec.keystores.%s: password and passwordSecretRef)", format)}
		case password == nil && secret == "", password == "":
			return &mistake{name: format, text: fmt.Sprintf("has no password for its keystore (spec.keystores.%s)", format)}
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
		return &mistake{name: "duration", text: fmt.Sprintf("lasts %s (spec.duration), and an hour is the least", lasts)}
	case given && spec["renewBefore"] != nil && spec["renewBeforePercentage"] != nil:
		return &mistake{name: "renewBeforePercentage", text: "is renewed by two rules (spec.renewBefore and spec.renewBeforePercentage)"}
	case given && spec["renewBefore"] != nil && renews < 5*time.Minute:
		return &mistake{name: "renewBefore", text: fmt.Sprintf("is renewed %s before its end (spec.renewBefore), and five minutes is the least", renews)}
	case given && spec["renewBefore"] != nil && renews >= lasts:
		return &mistake{name: "renewBefore", text: fmt.Sprintf("is renewed %s before its end (spec.renewBefore), and lasts %s", renews, lasts)}
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
		return &mistake{name: "size", text: fmt.Sprintf("has an ECDSA key of %d bits, and there are 256, 384 and 521", size)}
	case (algorithm == "RSA" || algorithm == "") && (size < 2048 || size > 8192):
		return &mistake{name: "size", text: fmt.Sprintf("has an RSA key of %d bits, and it must have 2048 to 8192", size)}
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

// duration reads a duration; the other one if there is none.
func duration(v any, otherwise time.Duration) (time.Duration, bool) {
	text, ok := v.(string)
	if !ok {
		return otherwise, v == nil
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}
