package daytwo

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A namespace that a chart had and has no more takes what is in it along, although the delivery arrives.
func TestLost_Emptied(t *testing.T) {
	const space = `{apiVersion: v1, kind: Namespace, metadata: {name: extra, uid: u}}`
	const inside = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: extra, name: inside}}`
	leaving := strings.Replace(space, "uid: u", `uid: u, finalizers: [x/y], deletionTimestamp: "2026-01-01T00:00:00Z"`, 1)
	uid := func(result.Ref) types.UID { return "u" }
	dropped := Bundles{Before: bundleOf(t, "a "+space, inside), Now: bundleOf(t, "a {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}}", inside)}
	for name, tc := range map[string]struct {
		b    Bundles
		live []string
		want bool
	}{
		"on its way out":        {dropped, []string{leaving}, true},
		"gone":                  {dropped, nil, true},
		"made again":            {dropped, []string{strings.Replace(space, "uid: u", "uid: v", 1)}, true},
		"kept":                  {dropped, []string{space}, false},
		"still in the chart":    {Bundles{Before: dropped.Before, Now: dropped.Before}, []string{leaving}, false},
		"nothing is in it":      {Bundles{Before: dropped.Before, Now: bundleOf(t, "a {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}}")}, []string{leaving}, false},
		"no second delivery":    {Bundles{Now: dropped.Now}, []string{leaving}, false},
		"it was not there then": {dropped, []string{space}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := Lost(t.Context(), "the upgrade from main", nil, envWith(t, tc.live...), tc.b, uid)
			if !tc.want {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			v := result.VerdictOf(err)
			testkit.WantText(t, "cause", v.Cause, "the upgrade from main: Namespace extra was deleted, and everything in it: release a had it and has it no more, and component b is in it")
			testkit.WantText(t, "details", strings.Join(v.Details, "\n"), "a/templates/x.yaml", "ConfigMap extra/inside", "helm.sh/resource-policy=keep")
			if v.Reason != reason.UpgradeFailed || v.Component != "a" {
				t.Errorf("got %s of component %s", v.Reason, v.Component)
			}
		})
	}
	v := result.VerdictOf(Lost(t.Context(), "the upgrade", reason.New(reason.DeployFailed, "it is being terminated"), envWith(t, leaving), dropped, uid))
	testkit.WantText(t, "with what came of it", v.Cause+strings.Join(v.Details, "\n"), "Namespace extra was deleted", "then: it is being terminated")
}

// A Job that becomes a hook before the upgrade is removed after it has run, which is no fault; an object
// of another kind would be missing, and Argo CD removes none.
func TestOutlived(t *testing.T) {
	object := func(release, kind, hook string) string {
		return release + " {apiVersion: batch/v1, kind: " + kind + `, metadata: {namespace: ns, name: x, annotations: {helm.sh/hook: "` + hook + `"}}}`
	}
	for name, tc := range map[string]struct {
		old, now string
		argo     bool
		want     bool
	}{
		"a Job":           {object("b", "Job", ""), object("hook-b", "Job", "pre-install,pre-upgrade"), false, true},
		"after it":        {object("b", "Job", ""), object("hook-b", "Job", "post-upgrade"), false, false},
		"another kind":    {object("b", "Thing", ""), object("hook-b", "Thing", "pre-upgrade"), false, false},
		"a hook before":   {object("hook-b", "Job", "pre-upgrade"), object("hook-b", "Job", "pre-upgrade"), false, false},
		"through Argo CD": {object("b", "Job", ""), object("hook-b", "Job", "pre-upgrade"), true, false},
	} {
		b := Bundles{Before: bundleOf(t, tc.old), Now: bundleOf(t, tc.now)}
		b.Before.Expectation.Objects[0].Release, b.Now.Expectation.Objects[0].Release = "b", "b"
		b.Now.Expectation.Workloads = []bundle.Workload{{Kind: "Job", Namespace: "ns", Name: "x", Hook: true}}
		env := &lane.Env{Bundle: b.Now}
		notes := b.Outlived(env, tc.argo)
		o, w := env.Bundle.Expectation.Objects[0], env.Bundle.Expectation.Workloads[0]
		if (len(notes) == 1) != tc.want || o.Ephemeral != tc.want || w.Ephemeral != tc.want {
			t.Errorf("%s: got %q, object %t, workload %t", name, notes, o.Ephemeral, w.Ephemeral)
		}
		if b.Now.Expectation.Objects[0].Ephemeral {
			t.Errorf("%s: the bundle that others may share was changed", name)
		}
	}
}

// The API server calls a CSIDriver's attachRequired by another name: the field is the one that differs.
func TestFailed_FieldOfAnotherName(t *testing.T) {
	driver := func(attach string) *bundle.Bundle {
		return bundleOf(t, "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: x.y}, spec: {attachRequired: "+attach+"}}")
	}
	err := reason.New(reason.DeployFailed, "%s", `CSIDriver.storage.k8s.io "x.y" is invalid: spec.attachedRequired: Invalid value: false: field is immutable`)
	v := result.VerdictOf(Failed(UpgradeFrom("main"), err, Bundles{Before: driver("true"), Now: driver("false")}, nil))
	testkit.WantText(t, "details", strings.Join(v.Details, "\n"), "CSIDriver x.y: spec.attachRequired cannot be changed; component b, template b/templates/x.yaml; it changes spec.attachRequired: true, then false")
}
