package matrix

import (
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// slowToRun has pods become ready between 1 s and 90 s after they were placed.
const slowToRun = `
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: faults-slow-to-run}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {faults: slow-to-run}
    matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]
  weight: 1000
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 90000}
  next: {statusTemplate: "phase: Running\nconditions: [{type: Ready, status: 'True'}]"}
`

// Pods that become ready too slowly for the budget are told from pods that are stuck, through every kind of deployer; one pod that is stuck among
// them, when the others are ready, is what it always was.
func TestPodsTooSlowOnTheStack(t *testing.T) {
	t.Parallel()
	runner := stackRunner(t)
	many := func(label string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.only("a")
			r.part("a").edit("replicas: 1", "replicas: 120")
			r.part("a").edit("labels: {app: {{ .Release.Name }}}}\n    spec", "labels: {app: {{ .Release.Name }}, faults: "+label+"}}\n    spec")
		}
	}
	want := outcomeWanted{reason: reason.PodsTooSlow, cause: []string{"pods were still becoming ready after "}, screen: []string{"pods became ready per second at the end", "of 120 pods as they should be"}}
	for through, budget := range map[string]time.Duration{"helm": 45 * time.Second, "argocd-oci": 60 * time.Second, "flux-oci": 60 * time.Second} {
		t.Run(through, func(t *testing.T) {
			t.Parallel()
			seed{lanes: []string{through}, recipe: many("slow-to-run"), runner: stage(slowToRun), sync: budget, want: want}.run(t, *runner, through)
		})
	}
	t.Run("stuck in helm", func(t *testing.T) {
		t.Parallel()
		quick := strings.Replace(slowToRun, "jitterDurationMilliseconds: 90000", "jitterDurationMilliseconds: 5000", 1)
		stuck := func(r *tinyRecipe) {
			many("slow-to-run")(r)
			r.part("a").add("stuck.yaml", strings.ReplaceAll(strings.ReplaceAll(webTemplate, "{{ .Release.Name }}", "stuck"), "metadata: {labels: {app: stuck}}", "metadata: {labels: {app: stuck, faults: never-runs}}"))
		}
		seed{lanes: []string{"helm"}, recipe: stuck, runner: stage(quick + neverRuns), sync: 45 * time.Second, want: outcomeWanted{
			reason: reason.SchedulingFailed, cause: []string{"Deployment a/stuck: 0 of 1 pods as they should be"},
		}}.run(t, *runner, "helm")
	})
}
