package result

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// A new reason must get its status here on purpose: a wrong class in its row would blame the
// recipe.
func TestStatusOf(t *testing.T) {
	want := map[Status][]reason.Reason{
		Failed: {reason.SchedulingFailed, reason.WorkloadFailed, reason.Usage, reason.DeployFailed, reason.BundleFailed, reason.CheckFailed, reason.NoProfile, reason.LaneDivergence, reason.NeverSettles, reason.LeftBehind, reason.ReadBackFailed, reason.PlatformDivergence, reason.ValidationFailed, reason.ConstraintBroken, reason.ChartChanged, reason.WorkflowFailed, reason.SchedulerMissing, reason.ProbeFailed, reason.UpgradeFailed, reason.UpgradeDiverged,
			reason.NothingSelected}, // of a run without cells; no cell has it
		Timeout:     {reason.SyncTimeout, reason.JobDeadline, reason.PodsTooSlow},
		Interrupted: {reason.Interrupted},
		NotRun:      {reason.BaseFailed},
		Infrastructure: {
			reason.SettingsInvalid, reason.StackBuildFailed, reason.ToolchainMissing, reason.EngineUnusable, reason.ImageMissing, reason.ClusterFailed, reason.ComponentDied, reason.NoSpace, reason.PortTaken,
			reason.NodesFailed, reason.RegistryNotReady, reason.RegistryUnreachable, reason.PublishFailed, reason.ChartDownloadFailed, reason.ArgoCDInstallFailed, reason.ArgoCDCRDMissing, reason.ArgoCDConfigFailed,
			reason.GitNotReady, reason.GitUnreachable, reason.GitNotWritable, reason.MachineTooSlow, reason.ArgoCDNotReady, reason.ArgoCDSchemaTooOld, reason.RepositorySecretFailed, reason.FluxInstallFailed, reason.FluxNotReady, reason.FluxCRDMissing, reason.Internal,
			reason.ClusterAccess, reason.DownloadFailed, // of the aicr command; no cell has them
			reason.SchedulerFailed, // of workflows; no cell has it
		},
	}
	var listed []reason.Reason
	for status, reasons := range want {
		for _, r := range reasons {
			listed = append(listed, r)
			if got := StatusOf(r); got != status {
				t.Errorf("%s: got %q, want %q", r, got, status)
			}
		}
	}
	for _, row := range reason.Table() {
		if row.Reason != "" && !slices.Contains(listed, row.Reason) {
			t.Errorf("reason %s is in no row of this test: decide what its status is", row.Reason)
		}
	}
	if got := StatusOf(""); got != Passed {
		t.Errorf("no reason: got %q, want %q", got, Passed)
	}
}

func TestVerdictOf(t *testing.T) {
	story := NewFailure(Finding{Cause: "the cause", Story: []string{"one", "two"}})
	tests := map[string]struct {
		err  error
		want Verdict
	}{
		"no error":              {nil, Verdict{Status: Passed}},
		"a finding":             {&reason.Error{Reason: reason.DeployFailed, Err: story}, Verdict{Status: Failed, Reason: reason.DeployFailed, Cause: "the cause", Details: []string{"one", "two"}}},
		"a wrapped finding":     {fmt.Errorf("deploy: %w", &reason.Error{Reason: reason.SchedulingFailed, Err: story}), Verdict{Status: Failed, Reason: reason.SchedulingFailed, Cause: "the cause", Details: []string{"one", "two"}}},
		"several lines":         {reason.New(reason.ClusterFailed, "it did not start\nlog 1\nlog 2\n"), Verdict{Status: Infrastructure, Reason: reason.ClusterFailed, Cause: "it did not start", Details: []string{"log 1", "log 2"}}},
		"a component":           {&reason.Error{Reason: reason.ComponentDied, Component: "etcd", Err: errors.New("etcd ended")}, Verdict{Status: Infrastructure, Reason: reason.ComponentDied, Component: "etcd", Cause: "etcd ended"}},
		"an error without name": {errors.New("surprise"), Verdict{Status: Infrastructure, Reason: reason.Internal, Cause: "surprise"}},
		// Only a deadline that really passed is a timeout, and only the gate says so.
		"a cancellation":       {fmt.Errorf("wait: %w", context.Canceled), Verdict{Status: Infrastructure, Reason: reason.Internal, Cause: "wait: context canceled"}},
		"a context's deadline": {context.DeadlineExceeded, Verdict{Status: Infrastructure, Reason: reason.Internal, Cause: "context deadline exceeded"}},
		"a wait of the harness": {
			reason.Wrap(reason.ClusterFailed, &wait.TimeoutError{What: "the API server", Budget: time.Minute, Last: "refused"}),
			Verdict{Status: Infrastructure, Reason: reason.ClusterFailed, Cause: "waited 1m0s for the API server: refused"},
		},
		"a cancelled sync": {fmt.Errorf("waiting for the root: %w", &reason.Error{Reason: reason.Interrupted, Err: errors.New("interrupted by interrupt")}),
			Verdict{Status: Interrupted, Reason: reason.Interrupted, Cause: "waiting for the root: interrupted by interrupt"}},
		"a report that failed after it": {
			errors.Join(&reason.Error{Reason: reason.SchedulingFailed, Err: story}, errors.New("make the directory for evidence: no space left")),
			Verdict{Status: Failed, Reason: reason.SchedulingFailed, Cause: "the cause", Details: []string{"one", "two"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := VerdictOf(tc.err)
			if got.Status != tc.want.Status || got.Reason != tc.want.Reason || got.Component != tc.want.Component || got.Cause != tc.want.Cause || strings.Join(got.Details, "|") != strings.Join(tc.want.Details, "|") {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}
