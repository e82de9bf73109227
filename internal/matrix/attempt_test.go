package matrix

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const nilPointer = "panic: runtime error: invalid memory address or nil pointer dereference"

// A cell that a crash of the stack ended is run again, once; any other end is its last.
func TestRunAgain(t *testing.T) {
	crash := func() finishedCell {
		return finishedCell{Result: result.Result{
			Verdict: result.Verdict{Status: result.Infrastructure, Reason: reason.ComponentDied, Component: "kube-apiserver", Cause: "kube-apiserver ended unexpectedly (exit status 2)"},
			Started: time.Now(), Duration: 3 * time.Second, Artifacts: "/out/first",
		}, crash: nilPointer}
	}
	killed := crash()
	killed.crash = ""
	pass := finishedCell{Result: result.Result{Verdict: result.Verdict{Status: result.Passed}}}
	for name, tc := range map[string]struct {
		ends    []finishedCell // of the attempts
		prepare func(*Runner, context.CancelFunc)
		status  result.Status
		tried   int
	}{
		"it passes then":           {ends: []finishedCell{crash(), pass}, status: result.Passed, tried: 2},
		"it crashes again":         {ends: []finishedCell{crash(), crash(), pass}, status: result.Infrastructure, tried: 2},
		"it was killed":            {ends: []finishedCell{killed, pass}, status: result.Infrastructure, tried: 1},
		"it passed":                {ends: []finishedCell{pass, pass}, status: result.Passed, tried: 1},
		"its cluster is kept":      {ends: []finishedCell{crash(), pass}, prepare: func(r *Runner, _ context.CancelFunc) { r.Keep = true }, status: result.Infrastructure, tried: 1},
		"the run was ended":        {ends: []finishedCell{crash(), pass}, prepare: func(_ *Runner, end context.CancelFunc) { end() }, status: result.Infrastructure, tried: 1},
		"the job's time is up":     {ends: []finishedCell{crash(), pass}, prepare: func(r *Runner, _ context.CancelFunc) { r.Deadline = gate.Deadline{At: time.Now()} }, status: result.Infrastructure, tried: 1},
		"fail-fast is for the end": {ends: []finishedCell{crash(), pass}, prepare: func(r *Runner, _ context.CancelFunc) { r.FailFast = true }, status: result.Passed, tried: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := testRunner()
			r.Progress = &shown{}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			tried := 0
			cell := result.Cell{Recipe: "eks", Deployer: "helm"}
			results, err := r.runAll(ctx, []Plan{{Cell: cell}}, 1, func(_ context.Context, p Plan) finishedCell {
				if tried == 0 && tc.prepare != nil {
					tc.prepare(r, end)
				}
				e := tc.ends[tried]
				tried++
				e.Cell, e.Attempts = p.Cell, p.attempts
				return e
			})
			if err != nil {
				t.Fatal(err)
			}
			got := results[0]
			if tried != tc.tried || got.Status != tc.status || len(got.Attempts) != tc.tried-1 || len(got.Warnings) != tc.tried-1 {
				t.Fatalf("got %s after %d attempts, %d of them earlier ones, warnings %q; want %s after %d", got.Status, tried, len(got.Attempts), got.Warnings, tc.status, tc.tried)
			}
			if tc.tried == 1 {
				return
			}
			want := result.Attempt{Duration: 3 * time.Second, Reason: reason.ComponentDied, Component: "kube-apiserver", Cause: "kube-apiserver ended unexpectedly (exit status 2)", Crash: nilPointer, Artifacts: "/out/first"}
			first := got.Attempts[0]
			if first.Started.IsZero() {
				t.Error("the attempt has no start")
			}
			if first.Started = want.Started; first != want {
				t.Errorf("got %+v, want %+v", first, want)
			}
			if w := got.Warnings[0]; !strings.Contains(w, "kube-apiserver crashed after 3.0 s") || !strings.Contains(w, nilPointer) || !strings.HasSuffix(w, "/out/first") {
				t.Errorf("the warning is %q", w)
			}
		})
	}
}
