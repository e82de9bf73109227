package operator

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var keystorePassword = judge.Check{
	ID: "MX613", Name: "keystore-without-password", Needs: judge.Rendered, Kinds: certificates, Gives: reason.DeployFailed,
	Title: "The password of a keystore exists",
	Why:   "cert-manager writes a keystore into the Secret of a Certificate with a password from another Secret, and makes neither without that (https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.CertificateKeystores).",
	Fix:   "Add the Secret, or correct its name.",
	Says:  "protects its keystore by Secret %s (spec.keystores.%s.passwordSecretRef), which nothing in the recipe makes", Then: "it is never ready: cert-manager never makes Secret %[3]s",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(certificates...) {
			for _, format := range []string{"jks", "pkcs12"} {
				name := field(o, "keystores", format, "passwordSecretRef", "name")
				if on, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "keystores", format, "create"); on && lacksSecret(s, o, name) {
					s.Report(o, "spec.keystores."+format+".passwordSecretRef.name", name, format, certificateSecret(o)).OneCause(name + " of " + o.Ref().String())
				}
			}
		}
	},
}
