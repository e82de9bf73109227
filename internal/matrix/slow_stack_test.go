package matrix

import (
	_ "embed"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// slowToRun has pods become ready between 1 s and 90 s after they were placed.
//
//go:embed testdata/objects/slow_to_run.yaml
var slowToRun string

// manyPods is one Deployment of 120 pods with a label for KWOK's stages.
func manyPods(label string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.only("a")
		r.part("a").edit("replicas: 1", "replicas: 120")
		r.part("a").edit("labels: {app: {{ .Release.Name }}}}\n    spec", "labels: {app: {{ .Release.Name }}, faults: "+label+"}}\n    spec")
	}
}

func podsTooSlow(t *testing.T, runner *Runner, through string) {
	t.Helper()
	want := outcomeWanted{reason: reason.PodsTooSlow, cause: []string{"pods were still becoming ready after "}, screen: []string{"pods became ready per second at the end", "of 120 pods as expected"}}
	seed{recipe: manyPods("slow-to-run"), runner: stage(slowToRun), sync: 45 * time.Second, asItIs: true, want: want}.run(t, *runner, through)
}

// TestPodsTooSlowOnTheStack: pods that become ready too slowly for the budget are distinguished
// from pods that are stuck. One pod that is stuck when the others are ready is WORKLOAD_FAILED.
func TestPodsTooSlowOnTheStack(t *testing.T) {
	t.Parallel()
	runner := stackRunner(t)
	t.Run(bundle.Helm, func(t *testing.T) {
		t.Parallel()
		podsTooSlow(t, runner, bundle.Helm)
	})
	t.Run("stuck in helm", func(t *testing.T) {
		t.Parallel()
		quick := strings.Replace(slowToRun, "jitterDurationMilliseconds: 90000", "jitterDurationMilliseconds: 5000", 1)
		stuck := func(r *tinyRecipe) {
			manyPods("slow-to-run")(r)
			r.part("a").add("stuck.yaml", web("stuck", "labels: {app: stuck}}\n    spec", "labels: {app: stuck, faults: never-runs}}\n    spec"))
		}
		seed{recipe: stuck, runner: stage(quick + neverRuns), sync: 25 * time.Second, want: outcomeWanted{
			reason: reason.WorkloadFailed, cause: []string{"Deployment a/stuck: 0 of 1 pods as expected"},
		}}.run(t, *runner, bundle.Helm)
	})
}
