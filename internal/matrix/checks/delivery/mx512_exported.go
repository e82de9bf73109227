package delivery

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var exported = judge.Check{
	ID: "MX512", Name: "object-read-from-a-cluster", Needs: judge.Rendered,
	Title: "A manifest has no fields that the API server gives an object",
	Why: "uid, resourceVersion and managedFields are the API server's. It ignores some of them when an object is created, and refuses an apply on the server's side that has managedFields or another object's uid or version " +
		"(https://kubernetes.io/docs/reference/using-api/server-side-apply/).",
	Fix:  "Remove what the API server has added.",
	Says: "has metadata.%s, as an object that was read from a cluster", Then: "Helm 3 installs it, and what applies on the server's side is rejected (Helm 4, and controllers that do so)",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			for _, field := range []string{"uid", "resourceVersion", "managedFields"} {
				if v, has, _ := unstructured.NestedFieldNoCopy(o.Object.Object, "metadata", field); has && v != nil && v != "" {
					s.Report(o, "metadata."+field, field).SetBy(field)
					break // the others are there for the same reason
				}
			}
		}
	},
}
