package argocd

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
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

// A new Application whose objects were there before it never syncs. One that has anything to do does.
func TestNothingToSync(t *testing.T) {
	for name, tc := range map[string]struct {
		rest string
		want lane.ItemState
	}{
		"nothing to do": {`status: {sync: {status: Synced, revision: r}, health: {status: Healthy}}`, lane.ItemGood},
		"two sources":   {`status: {sync: {status: Synced, revisions: [r, s]}, health: {status: Healthy}}`, lane.ItemGood},
		"to be synced":  {`status: {sync: {status: OutOfSync, revision: r}, health: {status: Healthy}}`, lane.ItemWaiting},
		"not compared":  {`status: {sync: {status: Synced}, health: {status: Healthy}}`, lane.ItemWaiting},
		"asked to":      {`operation: {sync: {}}, status: {sync: {status: Synced, revision: r}, health: {status: Healthy}}`, lane.ItemWaiting},
		"under way":     {`status: {sync: {status: Synced, revision: r}, health: {status: Healthy}, operationState: {phase: Running}}`, lane.ItemWaiting},
		"not healthy":   {`status: {sync: {status: Synced, revision: r}, health: {status: Missing}}`, lane.ItemWaiting},
	} {
		app := testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, `+tc.rest+`}`)
		it := applicationItem("a", app, false)
		if nothingToSync(&it, app); it.State != tc.want {
			t.Errorf("%s: got %s: %s, want %s", name, it.State, it.Text, tc.want)
		}
	}
}

// A release that renders to nothing is delivered by an Application that never syncs. One without objects
// that the bundle has some for has not been delivered.
func TestHasNothing(t *testing.T) {
	const empty = `status: {sync: {status: Synced, revision: r}, health: {status: Healthy}}`
	for name, tc := range map[string]struct {
		rest, release string
		want          bool
	}{
		"nothing":                {empty, "b", true},
		"objects of the bundle":  {empty, "a", false},
		"objects of the cluster": {`status: {resources: [{kind: ConfigMap, name: c}]}`, "b", false},
	} {
		app := testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, `+tc.rest+`}`)
		if got := hasNothing(app, bundle.Expectation{Objects: []bundle.Object{{Release: tc.release}}}); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
		if !tc.want {
			continue
		}
		d := applicationDelivery(app)
		syncedAsCompared(app, d)
		want := []lane.Delivery{{ID: d.ID, Facts: []lane.Fact{{Name: "synced revision", Value: "r"}, {Name: "compared revision", Value: "r"}}}}
		if f := lane.Mismatch(want, []lane.Delivery{d}); f != nil {
			t.Errorf("%s: got %v", name, f)
		}
	}
}

// An Application that is being deleted waits for a person if one of its objects asks for it.
func TestDeletionAsks(t *testing.T) {
	const asks = `status: {resources: [{kind: ConfigMap, namespace: b, name: plain}, {kind: ConfigMap, namespace: b, name: asks, requiresDeletionConfirmation: true}]}`
	for name, tc := range map[string]struct{ meta, rest, want string }{
		"asks":         {`, deletionTimestamp: "2026-01-01T00:00:00Z"`, asks, "ConfigMap b/asks"},
		"confirmed":    {`, deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {argocd.argoproj.io/deletion-approved: "2026-01-01T00:00:01Z"}`, asks, ""},
		"not deleted":  {``, asks, ""},
		"a definition": {`, deletionTimestamp: "2026-01-01T00:00:00Z"`, strings.ReplaceAll(asks, "ConfigMap", "CustomResourceDefinition"), ""},
		"nothing asks": {`, deletionTimestamp: "2026-01-01T00:00:00Z"`, strings.ReplaceAll(asks, "true", "false"), ""},
	} {
		if got := deletionAsks(testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a`+tc.meta+`}, `+tc.rest+`}`)); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// Of the Applications that the bundle has no more, one whose deletion waits for a person ends the upgrade.
func TestUnconfirmed(t *testing.T) {
	app := func(name string) *unstructured.Unstructured {
		return testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: `+name+`, deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {resources: [{kind: ConfigMap, namespace: b, name: asks, requiresDeletionConfirmation: true}]}}`)
	}
	e := bundle.Expectation{Delivered: testkit.MustDeliver("*Application root", "Application a")}
	if got := unconfirmed(map[string]*unstructured.Unstructured{"a": app("a")}, e); got != "" {
		t.Errorf("one of the bundle: got %q", got)
	}
	if got := unconfirmed(map[string]*unstructured.Unstructured{"a": app("a"), "c": app("c")}, e); !strings.Contains(got, "Application c: its deletion waits until somebody confirms that ConfigMap b/asks is deleted") {
		t.Errorf("got %q", got)
	}
}
