package workload

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// longWait is what a rollout of one batch of pods seldom takes.
const longWait = 10 * time.Minute

var minReadySeconds = judge.Check{
	ID: "MX103", Name: "min-ready-seconds-too-long", Needs: judge.Rendered, Kinds: judge.KindsOf("apps", "Deployment", "StatefulSet", "DaemonSet"),
	Title: "A rollout takes less than ten minutes a step",
	Why: "A pod counts as available minReadySeconds after it is ready (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#min-ready-seconds). " +
		"What waits for the rollout, such as Argo CD, Flux or kubectl rollout, gives up earlier.",
	Fix:  "Set minReadySeconds to what the program needs to show that it works.",
	Says: "has minReadySeconds: %d, so that a pod is available only %d minutes after it is ready", Then: "each step of a rollout takes that long, and whoever waits for it gives up: Argo CD, Flux, kubectl rollout",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf("apps", "Deployment", "StatefulSet", "DaemonSet")...) {
			if seconds, _, _ := unstructured.NestedInt64(o.Object.Object, "spec", "minReadySeconds"); seconds > int64(longWait.Seconds()) {
				s.Report(o, "spec.minReadySeconds", seconds, seconds/60).SetBy("minReadySeconds")
			}
		}
	},
}
