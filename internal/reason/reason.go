// Package reason names why a run or a cell ended as it did.
//
// The names are a closed set: every one has an exit code and a page of help in cmd/matrix (see docs/exit-codes.md). Packages
// below cmd/matrix attach a name to an error with New or Wrap; they never choose exit codes.
package reason

import (
	"errors"
	"fmt"
)

// Reason is the name of a cause. It is what results files carry, and what `matrix explain` takes.
type Reason string

// The closed set. Codes and texts are in cmd/matrix; a test there fails when one of these has no row.
const (
	// SchedulingFailed: everything was deployed, but a pod is not where the recipe says it must be.
	SchedulingFailed Reason = "SCHEDULING_FAILED"
	// Usage: a flag, an argument, or a recipe that does not parse.
	Usage Reason = "USAGE"

	// NothingSelected: the tiers that were asked for have no cell for this change. Nothing was checked, and nothing is wrong.
	NothingSelected Reason = "NOTHING_SELECTED"

	// SettingsInvalid: .settings.yaml lacks a field.
	SettingsInvalid Reason = "SETTINGS_INVALID"
	// StackBuildFailed: a binary of the stack could not be compiled.
	StackBuildFailed Reason = "STACK_BUILD_FAILED"
	// ToolchainMissing: no Go toolchain to compile the stack with.
	ToolchainMissing Reason = "TOOLCHAIN_MISSING"
	// ClusterFailed: the control plane did not become ready.
	ClusterFailed Reason = "CLUSTER_FAILED"
	// ComponentDied: a process of the cluster or of a deployer ended during a cell.
	ComponentDied Reason = "COMPONENT_DIED"
	// NoSpace: the disk or the memory is full.
	NoSpace Reason = "NO_SPACE"
	// PortTaken: a port that was asked for is in use.
	PortTaken Reason = "PORT_TAKEN"
	// NodesFailed: the simulated nodes did not become Ready.
	NodesFailed Reason = "NODES_FAILED"

	RegistryNotReady    Reason = "REGISTRY_NOT_READY"
	RegistryUnreachable Reason = "REGISTRY_UNREACHABLE"
	// PublishFailed: a chart or a bundle could not be pushed.
	PublishFailed Reason = "PUBLISH_FAILED"

	ArgoCDInstallFailed Reason = "ARGOCD_INSTALL_FAILED"
	ArgoCDCRDMissing    Reason = "ARGOCD_CRD_NOT_ESTABLISHED"
	ArgoCDNotReady      Reason = "ARGOCD_NOT_READY"

	// ArgoCDSchemaTooOld: Argo CD does not know a field that this API server has, and cannot compare what it has applied.
	ArgoCDSchemaTooOld Reason = "ARGOCD_SCHEMA_TOO_OLD"

	RepositorySecretFailed Reason = "REPOSITORY_SECRET_FAILED"

	// SyncTimeout: only a deadline that really passed.
	SyncTimeout Reason = "SYNC_TIMEOUT"
	// JobDeadline: the job's time was used up before the cell could be verified; says nothing about the recipe.
	JobDeadline Reason = "JOB_DEADLINE"
	// DeployFailed: the deployer or the API server refused something; waiting longer would not have helped.
	DeployFailed Reason = "DEPLOY_FAILED"
	// BundleFailed: the recipe's bundle could not be made: a chart is missing or does not render.
	BundleFailed Reason = "BUNDLE_FAILED"
	// LaneDivergence: the cell passed, but its objects are not those of the same recipe through another deployer.
	LaneDivergence Reason = "LANE_DIVERGENCE"
	// CheckFailed: everything was deployed and runs, but a component's health check does not hold.
	CheckFailed Reason = "CHECK_FAILED"

	FluxInstallFailed Reason = "FLUX_INSTALL_FAILED"
	FluxNotReady      Reason = "FLUX_NOT_READY"
	FluxCRDMissing    Reason = "FLUX_CRD_NOT_ESTABLISHED"

	// NoProfile: no node profile for the recipe's service and accelerator.
	NoProfile Reason = "NO_NODE_PROFILE"

	// Internal: the harness itself failed in a way that has no name; always a bug or an unusable machine.
	Internal Reason = "INTERNAL"
	// Interrupted: SIGINT or SIGTERM; the exit code is 128 plus the signal's number.
	Interrupted Reason = "INTERRUPTED"
)

// Error is an error with a name.
type Error struct {
	Reason Reason
	// Component is the process or part that is to blame, where there is one, e.g. "argocd-application-controller".
	Component string
	Err       error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap lets errors.Is and errors.As see the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes a named error from a format; %w works.
func New(r Reason, format string, args ...any) error {
	return &Error{Reason: r, Err: fmt.Errorf(format, args...)}
}

// Wrap names err, unless something below has named it already: the first name is the nearest to the cause.
func Wrap(r Reason, err error) error {
	if err == nil {
		return nil
	}
	var named *Error
	if errors.As(err, &named) {
		return err
	}
	return &Error{Reason: r, Err: err}
}

// Of is the name of err: Internal if nothing named it, "" for nil.
func Of(err error) Reason {
	if err == nil {
		return ""
	}
	var named *Error
	if errors.As(err, &named) {
		return named.Reason
	}
	return Internal
}
