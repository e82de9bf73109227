package daytwo

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// BaseFailed makes what the old recipe or its bundle is to blame for no verdict on the upgrade.
// Whatever says nothing about it, such as the machine or the job's time, stays as it is.
func BaseFailed(from string, err error) error {
	if err == nil {
		return nil
	}
	v := result.VerdictOf(err)
	if v.Status == result.Infrastructure || v.Status == result.Interrupted || v.Reason == reason.JobDeadline {
		return err
	}
	f := result.Finding{Cause: fmt.Sprintf("no verdict on the upgrade: %s, which runs before it, ended with %s: %s", from, v.Reason, v.Cause), Story: v.Details}
	if len(v.Findings) > 0 {
		f.Object, f.Component, f.Pods = v.Findings[0].Object, v.Findings[0].Component, v.Findings[0].Pods
	}
	return &reason.Error{Reason: reason.BaseFailed, Component: v.Component, Err: result.NewFailure(f)}
}

// Bundles are those of a second delivery: the one that runs, and the one that is delivered.
type Bundles struct{ Before, Now *bundle.Bundle }

// UpgradeFrom names the delivery after the one of this name, for people.
func UpgradeFrom(name string) string { return "the upgrade from " + name }

const rollback = "the rollback"

// RollbackTo names the delivery that brings back the one of this name, for people.
func RollbackTo(name string) string { return rollback + " to " + name }

// isRollback reports whether a delivery, by its name for people, is a rollback.
func isRollback(what string) bool { return strings.HasPrefix(what, rollback) }

// Failed makes what the deployer or the API server rejects of a second delivery UPGRADE_FAILED, and
// names the objects with fields that cannot be changed. what names it for people; view is the last poll; nil before the gate.
func Failed(what string, err error, b Bundles, view *observe.View) error {
	return refused(what, standoff(what, err, b, view), b)
}

// RollbackFailed is Failed for the delivery of what ran before the upgrade. Whatever else the recipe
// is to blame for keeps its reason, and says that it was the rollback.
func RollbackFailed(to string, err error, b Bundles, view *observe.View) error {
	what := RollbackTo(to)
	if stuck := standoff(what, err, b, view); reason.Of(stuck) != reason.Of(err) {
		return stuck
	}
	r := reason.Of(err)
	if s := result.StatusOf(r); err == nil || r == reason.DeployFailed || r == reason.UpgradeDiverged || s != result.Failed && s != result.Timeout {
		return refused(what, err, b)
	}
	v := result.VerdictOf(err)
	if len(v.Findings) > 0 {
		v.Findings[0].Cause = what + ": " + v.Findings[0].Cause
	}
	return &reason.Error{Reason: r, Component: v.Component, Err: &result.Failure{Findings: v.Findings, Stage: v.Stage}}
}

func refused(what string, err error, b Bundles) error {
	if reason.Of(err) != reason.DeployFailed {
		return err
	}
	v := result.VerdictOf(err)
	var findings []result.Finding
	for _, f := range v.Findings {
		for _, line := range []string{b.notRun(f.Object), b.untiedObject(f.Object)} {
			if line != "" {
				f.Story = append([]string{line}, f.Story...)
			}
		}
		f.Story = append(allInWords(what, b.explain(f.Cause+"\n"+strings.Join(f.Story, "\n"))), f.Story...)
		findings = append(findings, f)
	}
	if len(findings) > 0 {
		if f := &findings[0]; f.Check == "" {
			f.Check = deliveryRefused.ID
		}
		findings[0].Cause = what + ": " + findings[0].Cause
	}
	return &reason.Error{Reason: reason.UpgradeFailed, Component: v.Component, Err: &result.Failure{Findings: findings, Stage: v.Stage}}
}
