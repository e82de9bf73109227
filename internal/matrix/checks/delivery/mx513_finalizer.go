package delivery

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var foreignFinalizer = judge.Check{
	ID: "MX513", Name: "finalizer-of-nobody", Needs: judge.Rendered,
	Title: "An object of Kubernetes' own kinds has no finalizer of somebody else's",
	Why: "An object with a finalizer is deleted once whoever owns that has removed it (https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/). " +
		"Objects of custom kinds have operators for that, and hooks have a check of their own.",
	Fix:  "Remove the finalizer from the manifest: the controller that needs it adds it.",
	Says: "has the finalizer %s", Then: "it is never gone once it is deleted, unless something removes the finalizer, and a removal of the release hangs",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			if group := o.Object.GroupVersionKind().Group; o.Hook || strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
				continue
			}
			for i, name := range o.Object.GetFinalizers() {
				if !slices.Contains([]string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}, name) && !strings.Contains(name, "kubernetes.io/") && !strings.Contains(name, ".k8s.") {
					s.Report(o, fmt.Sprintf("metadata.finalizers[%d]", i), name)
				}
			}
		}
	},
}
