package matrix

import (
	"errors"
	"strings"

	"github.com/nvidia/aicr-action/internal/reason"
)

// statusOf is the table from causes to statuses. A reason that is not in it is a failure of the recipe.
func statusOf(r reason.Reason) Status {
	switch r {
	case "":
		return Passed
	case reason.SyncTimeout, reason.JobDeadline:
		return Timeout
	case reason.Interrupted:
		return Interrupted
	case reason.SettingsInvalid, reason.StackBuildFailed, reason.ToolchainMissing, reason.ClusterFailed, reason.ComponentDied, reason.NoSpace,
		reason.PortTaken, reason.NodesFailed, reason.RegistryNotReady, reason.RegistryUnreachable, reason.PublishFailed,
		reason.ArgoCDInstallFailed, reason.ArgoCDCRDMissing, reason.ArgoCDNotReady, reason.ArgoCDSchemaTooOld, reason.RepositorySecretFailed,
		reason.FluxInstallFailed, reason.FluxNotReady, reason.FluxCRDMissing, reason.Internal:
		return Infrastructure
	}
	return Failed
}

// finding is a failure with more to say than one line.
type finding struct {
	cause   string
	details []string
	stage   Stage // if known
}

func (f *finding) Error() string {
	if len(f.details) == 0 {
		return f.cause
	}
	return f.cause + "\n" + strings.Join(f.details, "\n")
}

// verdictOf turns a cell's error into its verdict: the only place that decides.
func verdictOf(err error) Verdict {
	r := reason.Of(err)
	v := Verdict{Status: statusOf(r), Reason: r}
	if err == nil {
		return v
	}
	var named *reason.Error
	if errors.As(err, &named) {
		v.Component = named.Component
	}
	var f *finding
	if errors.As(err, &f) {
		v.Cause, v.Details, v.Stage = f.cause, f.details, f.stage
	}
	switch r {
	case reason.SchedulingFailed:
		v.Stage = StageSchedule
	case reason.BundleFailed:
		v.Stage = StageRender
	}
	if f != nil {
		return v
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	v.Cause = lines[0]
	v.Details = lines[1:]
	return v
}
