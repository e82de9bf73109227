package delivery

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var hookPod = judge.Check{
	ID: "MX521", Name: "hook-pod-never-ends", Needs: judge.Rendered, First: true, Lanes: runsHooks, Kinds: judge.KindsOf("", "Pod"), Gives: reason.WorkloadFailed,
	Title: "A Pod that is a hook of Helm's ends",
	Why:   "Helm waits until a hook's pod has succeeded (https://helm.sh/docs/topics/charts_hooks/#hooks-and-the-release-lifecycle), and restartPolicy is Always by default. For Argo CD it is enough that it is ready.",
	Fix:   "Set restartPolicy to Never or OnFailure.",
	Says:  "is a hook, and its pod never ends: spec.restartPolicy is Always, which is the default", Then: "Helm waits until it has succeeded: set restartPolicy to Never or OnFailure",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Pod")...) {
			if policy := facts.Text(o.Object, "spec.restartPolicy"); o.Hook && (policy == "" || policy == string(corev1.RestartPolicyAlways)) {
				s.Report(o, "spec.restartPolicy")
			}
		}
	},
}
