package upgrade

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
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

// Failed makes what the deployer or the API server rejects of a second delivery UPGRADE_FAILED, and
// names the objects with fields that cannot be changed.
func Failed(from string, err error, objects []bundle.Object) error {
	return refused("the upgrade from "+from, err, objects)
}

// RollbackFailed is Failed for the delivery of what ran before the upgrade. Whatever else the recipe
// is to blame for keeps its reason, and says that it was the rollback.
func RollbackFailed(to string, err error, objects []bundle.Object) error {
	what := "the rollback to " + to
	r := reason.Of(err)
	if s := result.StatusOf(r); err == nil || r == reason.DeployFailed || r == reason.UpgradeDiverged || s != result.Failed && s != result.Timeout {
		return refused(what, err, objects)
	}
	v := result.VerdictOf(err)
	if len(v.Findings) > 0 {
		v.Findings[0].Cause = what + ": " + v.Findings[0].Cause
	}
	return &reason.Error{Reason: r, Component: v.Component, Err: &result.Failure{Findings: v.Findings, Stage: v.Stage}}
}

func refused(what string, err error, objects []bundle.Object) error {
	if reason.Of(err) != reason.DeployFailed {
		return err
	}
	v := result.VerdictOf(err)
	var findings []result.Finding
	for _, f := range v.Findings {
		f.Story = append(Immutable(f.Cause+"\n"+strings.Join(f.Story, "\n"), objects), f.Story...)
		findings = append(findings, f)
	}
	if len(findings) > 0 {
		findings[0].Cause = what + ": " + findings[0].Cause
	}
	return &reason.Error{Reason: reason.UpgradeFailed, Component: v.Component, Err: &result.Failure{Findings: findings, Stage: v.Stage}}
}

// refusal matches what the API server says of an object that it does not let change:
// Deployment.apps "web" is invalid: spec.selector: Invalid value: {…}: field is immutable. A
// StatefulSet has a sentence of its own.
func refusal() *regexp.Regexp {
	return regexp.MustCompile(`([A-Z][A-Za-z0-9]*)(?:\.[a-z0-9.-]+)? "([^"]+)" is invalid: ([A-Za-z0-9_.\[\]()"/-]+): (?:Invalid value: [^\n]*field is immutable|Forbidden: updates to [^\n]*)`)
}

// Immutable names, for each object that the API server did not let change, the field, the chart's
// template and what to do.
func Immutable(text string, objects []bundle.Object) []string {
	var lines []string
	for _, m := range refusal().FindAllStringSubmatch(text, -1) {
		kind, name, field := m[1], m[2], m[3]
		line := fmt.Sprintf("%s %s: %s cannot be changed", kind, name, field)
		if kind == "StatefulSet" && field == "spec" {
			line = fmt.Sprintf("%s %s: of its spec only replicas, template, updateStrategy and a few more can be changed (volumeClaimTemplates, serviceName and selector cannot)", kind, name)
		}
		i := slices.IndexFunc(objects, func(o bundle.Object) bool { return o.Object.GetKind() == kind && o.Object.GetName() == name })
		if i >= 0 {
			line += fmt.Sprintf("; component %s, template %s", objects[i].Component, objects[i].Template)
		}
		line += "; it must be deleted before the upgrade, or get a new name"
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
