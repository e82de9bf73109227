package argocd

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// An Application that was last compared with its spec of before is not upgraded, although it is
// Synced; one that had nothing to sync is.
func TestUpgradedDelivery(t *testing.T) {
	for name, tc := range map[string]struct {
		last, status string
		with, synced string
	}{
		"compared":       {`{source: {repoURL: u, helm: {valuesObject: {a: 2}}}}`, "Synced", ownSpec, "new"},
		"an older value": {`{source: {repoURL: u, helm: {valuesObject: {a: 1}}}}`, "Synced", "an older spec", "new"},
		"to be synced":   {`{source: {repoURL: u, helm: {valuesObject: {a: 2}}}}`, "OutOfSync", ownSpec, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			app := testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, spec: {source: {repoURL: u, path: "", helm: {valuesObject: {a: 2}}}},
				status: {sync: {status: `+tc.status+`, revision: new, comparedTo: `+tc.last+`}, operationState: {syncResult: {revision: old}}}}`)
			d := upgradedDelivery(app, applicationDelivery(app))
			want := []lane.Delivery{{ID: d.ID, Facts: []lane.Fact{{Name: comparedWith, Value: tc.with}, {Name: "synced revision", Value: tc.synced}, {Name: "compared revision", Value: "new"}}}}
			if f := lane.Mismatch(want, []lane.Delivery{d}); f != nil {
				t.Errorf("got %v", f)
			}
		})
	}
}
