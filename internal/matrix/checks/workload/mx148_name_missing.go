package workload

import (
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var nameMissing = judge.Check{
	ID: "MX148", Name: "account-or-class-missing", Needs: judge.Settled, Gives: reason.WorkloadFailed,
	Title: "The ServiceAccount, the PriorityClass and the RuntimeClass of a pod exist",
	Why: "The API server looks each of them up before it admits a pod (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/). " +
		"A CronJob or a workload without pods shows nothing of it until its time comes.",
	Fix:  "Add it to the recipe, or correct the name.",
	Says: "names %s %s, which does not exist, and nothing in the recipe makes it", Then: "the API server rejects its pods",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			spec, namespace := &p.Template.Spec, p.Object.Object.GetNamespace()
			runtime := ""
			if spec.RuntimeClassName != nil {
				runtime = *spec.RuntimeClassName
			}
			for _, n := range []struct {
				kind, field, namespace, name string
				have                         map[string]bool
			}{
				{"ServiceAccount", "serviceAccountName", namespace, spec.ServiceAccountName, s.Live.ServiceAccounts},
				{"PriorityClass", "priorityClassName", "", spec.PriorityClassName, s.Live.PriorityClasses},
				{"RuntimeClass", "runtimeClassName", "", runtime, s.Live.RuntimeClasses},
			} {
				full := infra.NamespacedName(n.namespace, n.name)
				if n.name == "" || n.have[full] || deletedHook(s, n.kind, n.namespace, n.name) != nil {
					continue
				}
				s.Report(p.Object, p.Path()+"."+n.field, n.kind, full).SetBy(n.name).OneCause(n.kind + full).
					Missing(result.Ref{Kind: n.kind, Namespace: n.namespace, Name: n.name})
			}
		}
	},
}
