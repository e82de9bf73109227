package delivery

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// runsHooks: the deployer runs Helm's hooks as Helm does.
func runsHooks(o judge.Order) bool { return !o.ArgoCD && !o.AtOnce }

var hookFinalizer = judge.Check{
	ID: "MX520", Name: "hook-kept-by-finalizer", Needs: judge.Rendered, First: true, Lanes: runsHooks, Gives: reason.DeployFailed,
	Title: "A hook that is deleted once it has succeeded has no finalizer that stays",
	Why: "Helm waits until a hook with hook-delete-policy: hook-succeeded is gone (https://helm.sh/docs/topics/charts_hooks/#hook-deletion-policies), and a finalizer keeps it until something removes it. " +
		"Finalizers of kinds that are not Kubernetes' own are for an operator, which is simulated.",
	Fix:  "Leave the finalizer out.",
	Says: "is a hook that is deleted when it has succeeded, and nothing in the recipe removes its finalizer %s", Then: "Helm waits for ever until it is gone",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			group := o.Object.GroupVersionKind().Group
			if !o.Hook || !o.Ephemeral || strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
				continue
			}
			for i, f := range o.Object.GetFinalizers() {
				if !slices.Contains([]string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}, f) && !strings.HasPrefix(f, "kubernetes.io/") {
					s.Report(o, fmt.Sprintf("metadata.finalizers[%d]", i), f) // those the controller manager removes
				}
			}
		}
	},
}
