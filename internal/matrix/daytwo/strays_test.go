package daytwo

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	guardService = `{apiVersion: v1, kind: Service, metadata: {namespace: b, name: guard}}`
	guardedWeb   = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b, name: web}}`
	guard        = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: guard}, webhooks: [{name: guard.example.com, clientConfig: {service: {namespace: b, name: guard}}, rules: [{apiGroups: [apps], apiVersions: [v1], operations: [DELETE], resources: [deployments]}]}]}`
)

// in gives every object of a bundle to one release in a namespace.
func in(namespace string, b *bundle.Bundle) *bundle.Bundle {
	b.Expectation.Releases = []bundle.Release{{Name: "b", Namespace: namespace, Component: "b"}}
	for i := range b.Expectation.Objects {
		b.Expectation.Objects[i].Release = "b"
	}
	return b
}

// What Helm cannot delete stays after an upgrade that removes its webhook too; a hook before the upgrade may
// have removed that.
func TestGuarded(t *testing.T) {
	hook := in("b", bundleOf(t, `{apiVersion: batch/v1, kind: Job, metadata: {namespace: b, name: clean, annotations: {helm.sh/hook: pre-upgrade}}}`))
	hook.Expectation.Objects[0].Hook = true
	hook.Expectation.Workloads = []bundle.Workload{{Kind: "Job", Namespace: "b", Name: "clean", Hook: true}}
	before := in("b", bundleOf(t, guardService, guardedWeb, guard))
	kept := func(word string) *bundle.Bundle {
		return in("b", bundleOf(t, guardService, strings.Replace(guardedWeb, "name: web", "name: web, annotations: {helm.sh/resource-policy: "+word+"}", 1), guard))
	}
	for word, want := range map[string]bool{"keep": false, "Keep": true} {
		if err := (Bundles{Before: kept(word), Now: in("b", bundleOf(t))}).Guarded("the upgrade from main", "pre-upgrade", there); (err != nil) != want {
			t.Errorf("resource-policy %s: got %v", word, err)
		}
	}
	for name, tc := range map[string]struct {
		now  *bundle.Bundle
		want bool
	}{
		"all removed":           {in("b", bundleOf(t)), true},
		"the Service stays":     {in("b", bundleOf(t, guardService)), false},
		"the Deployment stays":  {in("b", bundleOf(t, guardedWeb)), false},
		"a hook runs before":    {hook, false},
		"the component is gone": {&bundle.Bundle{}, false},
		"it moves":              {in("d", bundleOf(t)), false},
	} {
		v := result.VerdictOf(Bundles{Before: before, Now: tc.now}.Guarded("the upgrade from main", "pre-upgrade", there))
		if got := v.Reason == reason.UpgradeDiverged && strings.HasPrefix(v.Cause, "the upgrade from main: Deployment b/web stays: webhook guard.example.com"); got != tc.want {
			t.Errorf("%s: got %s: %s", name, v.Reason, v.Cause)
		}
	}
}

func there(result.Ref) types.UID { return "1" }

// Of what was not in the cluster nothing can stay.
func TestGuarded_NeverThere(t *testing.T) {
	b := Bundles{Before: in("b", bundleOf(t, guardService, guardedWeb, guard)), Now: in("b", bundleOf(t))}
	if err := b.Guarded("the upgrade from main", "pre-upgrade", func(result.Ref) types.UID { return "" }); err != nil {
		t.Errorf("got %v", err)
	}
}

// Flux leaves what a release had in its old namespace.
func TestOrphaned(t *testing.T) {
	web := result.Ref{Group: "apps", Kind: "Deployment", Namespace: "b", Name: "web"}
	for name, tc := range map[string]struct {
		now  *bundle.Bundle
		left []result.Ref
		want bool
	}{
		"it moves":          {in("d", bundleOf(t)), []result.Ref{web}, true},
		"it is gone":        {in("d", bundleOf(t)), nil, false},
		"it does not move":  {in("b", bundleOf(t)), []result.Ref{web}, false},
		"the release is no": {&bundle.Bundle{}, []result.Ref{web}, false},
	} {
		lines := Bundles{Before: in("b", bundleOf(t, guardedWeb)), Now: tc.now}.Orphaned(tc.left)
		if got := len(lines) == 1 && strings.HasPrefix(lines[0], "the upgrade leaves behind: Deployment b/web (component ") && strings.Contains(lines[0], "moved from namespace b to d"); got != tc.want {
			t.Errorf("%s: got %q", name, lines)
		}
	}
}
