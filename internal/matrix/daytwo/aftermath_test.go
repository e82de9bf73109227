package daytwo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
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
		webhook = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: guard}, webhooks: [{name: guard.example.com, clientConfig: {service: {namespace: b, name: guard}}, rules: [{apiGroups: [apps], apiVersions: [v1], operations: [DELETE], resources: [deployments]}]}]}`
		web     = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b, name: web}}`
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
		"a webhook goes with what it guards": {[]string{service, web, webhook}, []string{space}, reason.UpgradeDiverged, []string{"the rollback to main: Deployment b/web (b): stays: webhook guard.example.com", "before the rollback (kubectl delete)"}, false},
		"a finalizer":                        {[]string{`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: guarded}}`}, []string{space, leaving}, reason.UpgradeDiverged, []string{"the rollback to main: ConfigMap b/guarded is being deleted for ever", "take the finalizer off before the rollback"}, false},
		"something stays":                    {[]string{stays}, []string{space, stays}, "", []string{"the rollback to main leaves behind what the upgrade had added: ConfigMap b/stays"}, true},
		"it is gone by now":                  {[]string{stays}, []string{space}, "", nil, false},
		"its namespace goes":                 {[]string{stays}, []string{going, stays}, "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := Bundles{Before: in("b", bundleOf(t, tc.before...)), Now: in("b", bundleOf(t))}
				a := Arrived{What: "the rollback to main", Env: envWith(t, tc.live...), Lane: &lanetest.Lane{}, Was: there, Judge: judgedBy(b), Change: &result.Change{}}
				if tc.want == "" {
					a.Change.Components = []result.ComponentChange{{LeftBehind: []result.Ref{config}}}
				}
				notes, _, err := b.Aftermath(t.Context(), a)
				v := result.VerdictOf(err)
				if reason.Of(err) != tc.want || (len(notes) > 0) != tc.note {
					t.Errorf("got %v, the notes %q", err, notes)
				}
				testkit.WantText(t, "what is said", v.Cause+strings.Join(v.Details, "\n")+strings.Join(notes, "\n"), tc.text...)
			})
		})
	}
}

// judgedBy runs the checks of a delivery by Helm.
func judgedBy(b Bundles) func(*facts.Delivery) error {
	return func(d *facts.Delivery) error {
		x := facts.New(&b.Now.Expectation, nil, nil, nil)
		x.Again, x.Delivery = true, d
		r, err := (&judge.Bench{Checks: Checks()}).Report(x, "r", judge.Order{InOrder: true}, judge.Second)
		return errors.Join(err, r.Err())
	}
}

// A second delivery of one bundle has nothing before it, and the checks of an upgrade have nothing to compare.
func TestSecondDelivery(t *testing.T) {
	b := in("b", bundleOf(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: settings}, data: {a: "1"}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b, name: web}, spec: {template: {spec: {containers: [{name: c, envFrom: [{configMapRef: {name: settings}}]}]}}}}`,
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: b, name: hpa}, spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`))
	if err := judgedBy(Bundles{Now: b})(&facts.Delivery{What: "the second delivery", Now: b}); err != nil {
		t.Error(err)
	}
}

func there(result.Ref) types.UID { return "1" }

// in gives every object of a bundle to one release in a namespace.
func in(namespace string, b *bundle.Bundle) *bundle.Bundle {
	b.Expectation.Releases = []bundle.Release{{Name: "b", Namespace: namespace, Component: "b"}}
	for i := range b.Expectation.Objects {
		b.Expectation.Objects[i].Release = "b"
	}
	return b
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
