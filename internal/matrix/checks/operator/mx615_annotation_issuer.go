package operator

import "github.com/nvidia/aicr-action/internal/matrix/judge"

var annotationIssuer = judge.Check{
	ID: "MX615", Name: "annotation-without-issuer", Needs: judge.Rendered,
	Title: "The issuer in an annotation of an Ingress or a Gateway exists",
	Why:   "cert-manager makes a Certificate of the annotation cert-manager.io/issuer or cert-manager.io/cluster-issuer, and its issuer has to exist (https://cert-manager.io/docs/usage/ingress/#supported-annotations).",
	Fix:   "Add the issuer, or correct the annotation.",
	Says:  "names %s, which does not exist, and nothing in the recipe makes it (%s)", Then: "cert-manager makes no certificate for it",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			annotations := o.Object.GetAnnotations()
			if kind := o.Object.GetKind(); kind != "Ingress" && kind != "Gateway" || annotations["cert-manager.io/issuer-group"] != "" {
				continue // an issuer of another program
			}
			for _, by := range []struct{ annotation, kind string }{{"cert-manager.io/issuer", "Issuer"}, {"cert-manager.io/cluster-issuer", "ClusterIssuer"}} {
				if issuer := lacksIssuer(s, o, by.kind, annotations[by.annotation]); issuer != "" {
					s.Report(o, `metadata.annotations["`+by.annotation+`"]`, issuer, by.annotation)
				}
			}
		}
	},
}
