package daytwo

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// What a rollback removes is judged as what an upgrade removes, in words of its own, and what it leaves of
// the upgrade is a note.
func TestAftermath_Back(t *testing.T) {
	const (
		leaving = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: guarded, finalizers: [example.com/guard], deletionTimestamp: "2026-01-01T00:00:00Z"}}`
		stays   = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: stays}}`
		space   = `{apiVersion: v1, kind: Namespace, metadata: {name: b}}`
		going   = `{apiVersion: v1, kind: Namespace, metadata: {name: b, finalizers: [kubernetes.io/x], deletionTimestamp: "2026-01-01T00:00:00Z"}}`
	)
	config := result.Ref{Kind: "ConfigMap", Namespace: "b", Name: "stays"}
	for name, tc := range map[string]struct {
		before []string // objects of what the rollback replaces
		live   []string
		want   reason.Reason
		text   []string
		note   bool
	}{
		"a webhook goes with what it guards": {[]string{guardService, guardedWeb, guard}, []string{space}, reason.UpgradeDiverged, []string{"the rollback to main: Deployment b/web stays", "before the rollback (kubectl delete)"}, false},
		"a finalizer":                        {[]string{`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: guarded}}`}, []string{space, leaving}, reason.UpgradeDiverged, []string{"the rollback to main: ConfigMap b/guarded is being deleted for ever", "take the finalizer off before the rollback"}, false},
		"something stays":                    {[]string{stays}, []string{space, stays}, "", []string{"the rollback to main leaves behind what the upgrade had added: ConfigMap b/stays"}, true},
		"it is gone by now":                  {[]string{stays}, []string{space}, "", nil, false},
		"its namespace goes":                 {[]string{stays}, []string{going, stays}, "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := Bundles{Before: in("b", bundleOf(t, tc.before...)), Now: in("b", bundleOf(t))}
				a := Arrived{What: "the rollback to main", Env: envWith(t, tc.live...), Lane: &lanetest.Lane{}, Deployer: bundle.Helm, Was: there, Change: &result.Change{}}
				if tc.want == "" {
					a.Change.Components = []result.ComponentChange{{LeftBehind: []result.Ref{config}}}
				}
				said, err := b.Aftermath(t.Context(), a)
				v := result.VerdictOf(err)
				if reason.Of(err) != tc.want || (len(said.Notes) > 0) != tc.note {
					t.Errorf("got %v, the notes %q", err, said.Notes)
				}
				testkit.WantText(t, "what is said", v.Cause+strings.Join(v.Details, "\n")+strings.Join(said.Notes, "\n"), tc.text...)
			})
		})
	}
}

// Helm's rollback runs hooks of its own.
func TestArrived_Before(t *testing.T) {
	for _, tc := range []struct {
		arrived Arrived
		want    string
	}{
		{Arrived{What: RollbackTo("main"), Lane: &rollsBack{}}, "pre-rollback"}, {Arrived{Lane: &rollsBack{}}, "pre-upgrade"}, {Arrived{What: RollbackTo("main"), Lane: &lanetest.Lane{}}, "pre-upgrade"},
	} {
		if got := tc.arrived.before(); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

// rollsBack is a lane with a rollback of its own.
type rollsBack struct{ lanetest.Lane }

func (*rollsBack) RollBack(context.Context, *lane.Env) error { return nil }

// What a chart asks Helm to keep, Argo CD prunes with the object's template, and keeps with its Application.
func TestUnkept(t *testing.T) {
	const kept = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: b, name: data, annotations: {helm.sh/resource-policy: keep}}}`
	ref := []result.Ref{{Kind: "PersistentVolumeClaim", Namespace: "b", Name: "data"}}
	for name, tc := range map[string]struct {
		before, release string
		removed         []result.Ref
		want            string
	}{
		"pruned":              {kept, "b", ref, "the upgrade removed PersistentVolumeClaim b/data, and its data with it (component b, "},
		"it stays":            {kept, "b", nil, ""},
		"with its component":  {kept, "another", ref, ""},
		"Helm would not keep": {strings.Replace(kept, ": keep", ": Keep", 1), "b", ref, ""},
	} {
		b := Bundles{Before: in("b", bundleOf(t, tc.before)), Now: &bundle.Bundle{Expectation: bundle.Expectation{Releases: []bundle.Release{{Name: tc.release, Namespace: "b"}}}}}
		got := strings.Join(b.Unkept(tc.removed), "\n")
		if !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
