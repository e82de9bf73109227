package infra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// An API server that is gone is seen by its clients before its death is reported. The report counts,
// also where a library has kept only the text of the error.
func TestStepError(t *testing.T) {
	if err := StepError(t.Context(), "Deploying", nil); err != nil {
		t.Errorf("a step that did not fail: %v", err)
	}
	if err := StepError(t.Context(), "Deploying", errors.New("odd")); reason.Of(err) != reason.Internal {
		t.Errorf("an error without a reason: %v", err)
	}
	late, cancel := context.WithCancelCause(t.Context())
	cancel(reason.New(reason.JobDeadline, "the job ends"))
	if err := StepError(late, "Reading back", errors.New("odd")); reason.Of(err) != reason.JobDeadline || err.Error() != "reading back: the job ends" {
		t.Errorf("the job's deadline: %v", err)
	}
	died := errors.New("etcd ended unexpectedly")
	for name, test := range map[string]struct {
		err  error
		want error
	}{
		"refused":     {fmt.Errorf("list nodes: %w", &url.Error{Op: "Get", URL: "https://127.0.0.1", Err: syscall.ECONNREFUSED}), died},
		"only text":   {errors.New("Kubernetes cluster unreachable: dial tcp 127.0.0.1:1: connect: connection refused"), died},
		"reset":       {syscall.ECONNRESET, died},
		"broken pipe": {syscall.EPIPE, died},
		"in mid-body": {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), died},
		"idle":        {errors.New(`Get "https://127.0.0.1": EOF`), died},
		"the recipe":  {errors.New("Deployment a/b is not ready"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(died) })
				if got := endedBy(ctx, test.err); !errors.Is(got, test.want) {
					t.Errorf("got %v, want %v", got, test.want)
				}
				if cancel(died); !errors.Is(endedBy(ctx, test.err), died) {
					t.Error("a death that is known already is not the cause")
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := endedBy(ctx, syscall.ECONNREFUSED); err != nil {
			t.Errorf("nothing died, and the cause is %v", err)
		}
	})
}
