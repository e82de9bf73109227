package daytwo

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

type argoLane struct{ lanetest.Lane }

func (*argoLane) Controllers() []infra.ControllerKind {
	return []infra.ControllerKind{infra.ArgoCDControllers}
}

// A Job that its time to live deletes long before an upgrade is not in the way of one: it is deleted, and
// the result says so. One that an upgrade would still meet, that runs, or that stays as it is, is left.
func TestExpire(t *testing.T) {
	job := func(ttl, image string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: once}, spec: {` + ttl + `template: {spec: {containers: [{name: main, image: "` + image + `"}]}}}}`
	}
	const (
		minute = "ttlSecondsAfterFinished: 60, "
		day    = "ttlSecondsAfterFinished: 86400, "
	)
	done := func(text string) string {
		return strings.TrimSuffix(text, "}") + `, status: {conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}}`
	}
	for name, tc := range map[string]struct {
		before, now, live string
		lane              lane.Lane
		gone              bool
	}{
		"its template changes":  {before: job(minute, "a"), now: job(minute, "b"), live: done(job(minute, "a")), gone: true},
		"it stays as it is":     {before: job(minute, "a"), now: job(day, "a"), live: done(job(minute, "a"))},
		"it lives for a day":    {before: job(day, "a"), now: job(minute, "b"), live: done(job(day, "a"))},
		"it lives for ever":     {before: job("", "a"), now: job(minute, "b"), live: done(job("", "a"))},
		"it runs":               {before: job(minute, "a"), now: job(minute, "b"), live: job(minute, "a")},
		"a hook":                {before: job(minute, "a"), now: "hook-b " + job(minute, "b"), live: done(job(minute, "a"))},
		"Argo CD makes another": {before: job(minute, "a"), now: job(minute, "b"), live: done(job(minute, "a")), lane: &argoLane{}},
	} {
		t.Run(name, func(t *testing.T) {
			env := &lane.Env{Clients: &infra.Clients{Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), testkit.Parsed(t, tc.live))}}
			if tc.lane == nil {
				tc.lane = &lanetest.Lane{}
			}
			notes, err := expireJobs(t.Context(), env, tc.lane, expiringBundleOf(t, tc.before), expiringBundleOf(t, tc.now))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := env.Clients.Dynamic.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace("ns").Get(t.Context(), "once", metav1.GetOptions{}); apierrors.IsNotFound(err) != tc.gone {
				t.Errorf("got %v, want it gone: %t", err, tc.gone)
			}
			if tc.gone {
				testkit.WantText(t, "notes", strings.Join(notes, "\n"), "Job ns/once is deleted 1m0s after it has finished (spec.ttlSecondsAfterFinished)")
			} else if len(notes) > 0 {
				t.Errorf("got %q", notes)
			}
		})
	}
}

func expiringBundleOf(t *testing.T, text string) *bundle.Bundle {
	t.Helper()
	text, hook := strings.CutPrefix(text, "hook-b ")
	return &bundle.Bundle{Expectation: bundle.Expectation{Objects: []bundle.Object{{Component: "b", Hook: hook, Template: "b/templates/x.yaml", Object: testkit.Parsed(t, text)}}}}
}
