package helm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// A release is tried again while the webhook of an earlier one does not answer, for a limited time,
// and each try after the first forgets the one before (F114).
func TestAttempts(t *testing.T) {
	hook := &unstructured.Unstructured{Object: map[string]any{"kind": "ValidatingWebhookConfiguration", "webhooks": []any{map[string]any{"name": "hook.example.com"}}}}
	e := bundle.Expectation{Releases: []bundle.Release{{Name: "hooks", Component: "hooks"}, {Name: "user", Component: "user"}}, Objects: []bundle.Object{{Object: hook, Release: "hooks"}}}
	starting := errors.New(`failed calling webhook "hook.example.com": failed to call webhook: no pod of Service n/hook is ready`)
	for name, c := range map[string]struct {
		errs  []error
		since time.Duration // that the webhook has not answered for, at the last try
		want  string        // of its error; "" if it passes
		note  string
	}{
		"at once":    {errs: []error{nil}},
		"in time":    {errs: []error{starting, starting, nil}, note: `delivered at try 3, since the webhook "hook.example.com" of release hooks did not answer before`},
		"never":      {errs: []error{starting, starting}, since: lane.WebhookPatience, want: "no pod of Service n/hook is ready"},
		"it refuses": {errs: []error{starting, errors.New(`admission webhook "hook.example.com" denied the request: no`)}, want: "denied the request"},
	} {
		t.Run(name, func(t *testing.T) {
			var q lane.InOrder
			tries := 0
			a := attempts{release: "user", of: e, lane: &q, install: func(_ context.Context, again bool) error {
				if tries++; again != (tries > 1) {
					t.Errorf("try %d: again is %v", tries, again)
				}
				return c.errs[tries-1]
			}}
			q.Start(t.Context(), e.Releases[1:], func(ctx context.Context, _ bundle.Release) error {
				return wait.For(ctx, "the release", wait.Options{Budget: time.Minute, Interval: time.Millisecond}, func(ctx context.Context) wait.Result {
					if tries == len(c.errs)-1 && c.since > 0 {
						a.noWebhook = time.Now().Add(-c.since)
					}
					return a.try(ctx)
				})
			}, "deployed")
			err := q.Finished(t.Context(), time.Minute)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || tries != len(c.errs) {
				t.Errorf("%d tries, %v", tries, err)
			}
			state, _ := q.Poll(t.Context(), nil)
			if it := state.Items[0]; c.want == "" && (!strings.Contains(it.Note, c.note) || c.note == "" && it.Note != "") || it.Behind != "" {
				t.Errorf("%+v", it)
			}
		})
	}
}
