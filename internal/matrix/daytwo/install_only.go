package daytwo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// nobodyMakes is what a check of references adds, to which the upgrade is no party.
const nobodyMakes = ", and nothing in the recipe makes it"

// absent matches what a workload needs and does not find.
var absent = regexp.MustCompile(`(Secret|ConfigMap|ServiceAccount|PersistentVolumeClaim) ([^\s/]+)/([^\s,]+), which does not exist`)

// installedOnly makes UPGRADE_FAILED of a workload that lacks what was there before the upgrade, and what the
// new bundle renders: Helm renders it when it installs a release, and removes it when it upgrades one. A first
// installation has it.
func (b Bundles) installedOnly(what string, err error, uid func(result.Ref) types.UID) error {
	if reason.Of(err) != reason.WorkloadFailed || b.Now == nil {
		return err
	}
	v := result.VerdictOf(err)
	m := absent.FindStringSubmatch(v.Cause)
	if m == nil || len(v.Findings) == 0 {
		return err
	}
	ref := result.Ref{Kind: m[1], Namespace: m[2], Name: m[3]}
	o := b.Now.Expectation.Object(ref)
	if o == nil || o.Hook || uid(ref) == "" {
		return err
	}
	findings := slices.Clone(v.Findings)
	f := &findings[0]
	f.Check, f.Severity = installedOnly.ID, ""
	f.Cause = fmt.Sprintf("%s: %s was deleted, and %s", what, ref, strings.ReplaceAll(f.Cause, nobodyMakes, ""))
	f.Story = append([]string{b.onInstall(o)}, f.Story...)
	return &reason.Error{Reason: reason.UpgradeFailed, Component: v.Component, Err: &result.Failure{Findings: findings, Stage: v.Stage}}
}

func (b Bundles) onInstall(o *bundle.Object) string {
	why := "is not rendered when a release is upgraded"
	if strings.Contains(bundle.TemplateOf(b.Now.Installs, o), ".Release.Is") {
		why += ", since its template asks for .Release.IsInstall or IsUpgrade"
	}
	return fmt.Sprintf("%s %s (component %s, %s), so that Helm removes it; render it each time, and take what was generated from the cluster (lookup), or annotate it %s: keep", o.Ref(), why, o.Component, b.place(o, ""), rendering.HelmKeeps)
}
