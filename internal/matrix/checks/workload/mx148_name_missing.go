package workload

import (
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var nameMissing = judge.Check{
	ID: "MX148", Name: "account-or-class-missing", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.WorkloadFailed,
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
			for _, n := range []struct{ group, kind, field, namespace, name string }{
				{"", "ServiceAccount", "serviceAccountName", namespace, spec.ServiceAccountName},
				{schedulingv1.GroupName, "PriorityClass", "priorityClassName", "", spec.PriorityClassName},
				{nodev1.GroupName, "RuntimeClass", "runtimeClassName", "", runtime},
			} {
				ref := result.Ref{Group: n.group, Kind: n.kind, Namespace: n.namespace, Name: n.name}
				if n.name == "" || !s.Lacks(ref, p.Object.Ref()) || deletedHook(s, n.kind, n.namespace, n.name) != nil {
					continue
				}
				full := infra.NamespacedName(n.namespace, n.name)
				s.Report(p.Object, p.Path()+"."+n.field, n.kind, full).SetBy(n.name).OneCause(n.kind + full).
					Missing(result.Ref{Kind: n.kind, Namespace: n.namespace, Name: n.name})
			}
		}
	},
}
