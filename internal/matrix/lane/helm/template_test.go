package helm

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// ReadBack finds objects by the releases' field managers: missing ones, unexpected ones, and those
// that another release has applied. Objects and changes of other programs do not count.
func TestHelmTemplateReadBack(t *testing.T) {
	object := func(release, text string) bundle.Object {
		return bundle.Object{Release: release, Object: testkit.Parsed(t, text)}
	}
	e := bundle.Expectation{Objects: []bundle.Object{
		object("web", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}}"),
		object("web", "{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: ns}}"),
		object("own", "{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: ns}}"),
		object("web", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: ns}}"), // in truth cluster-scoped
		object("web", "{apiVersion: batch/v1, kind: Job, metadata: {name: gone, namespace: ns}, spec: {ttlSecondsAfterFinished: 5}}"),
	}}
	configMap, widget := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	type live struct {
		gvk             schema.GroupVersionKind
		namespace, name string
		managers        []metav1.ManagedFieldsEntry
	}
	by := func(managers ...string) []metav1.ManagedFieldsEntry {
		var all []metav1.ManagedFieldsEntry
		for _, m := range managers {
			all = append(all, metav1.ManagedFieldsEntry{Manager: m, Operation: metav1.ManagedFieldsOperationApply})
		}
		return all
	}
	web, own := bundle.TemplateManager("web"), bundle.TemplateManager("own")
	good := []live{
		{configMap, "ns", "a", append(by(web), metav1.ManagedFieldsEntry{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate})},
		{configMap, "ns", "shared", by(web, own)},
		{configMap, "ns", "kube-root-ca.crt", by("somebody")},
		{widget, "", "w", by(web)},
	}
	for name, tc := range map[string]struct {
		live []live
		want []string
	}{
		"good":            {good, nil},
		"missing":         {good[1:], []string{"ConfigMap ns/a: missing (expected applied by web)"}},
		"one too many":    {append(good[:4:4], live{configMap, "ns", "more", by(own)}), []string{"ConfigMap ns/more: unexpected (found"}},
		"another release": {append(good[1:4:4], live{configMap, "ns", "a", by(own)}), []string{"ConfigMap ns/a: applied by: want web, got own"}},
		"updated by the same name, not applied": {append(good[1:4:4], live{configMap, "ns", "a", []metav1.ManagedFieldsEntry{{Manager: web, Operation: metav1.ManagedFieldsOperationUpdate}}}),
			[]string{"ConfigMap ns/a: missing (expected applied by web)"}},
		"a Job that is still there": {append(good[:4:4], live{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "ns", "gone", by(web)}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := newTally()
			for _, l := range tc.live {
				found.applied(l.gvk, &metav1.ObjectMeta{Namespace: l.namespace, Name: l.name, ManagedFields: l.managers})
			}
			var details []string
			if f := lane.Mismatch(wantApplied(e, map[schema.GroupKind]bool{widget.GroupKind(): true}, found).deliveries(), found.deliveries()); f != nil {
				details = f.Details()
			}
			testkit.WantEach(t, "details", details, tc.want)
		})
	}
}

// An object of which only the name is rendered has no managed fields: it is delivered if it exists.
func TestHelmTemplateReadBack_OnlyName(t *testing.T) {
	e := bundle.Expectation{Objects: []bundle.Object{
		{Release: "web", Object: testkit.Parsed(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: ns}}")},
		{Release: "web", Object: testkit.Parsed(t, "{apiVersion: v1, kind: Namespace, metadata: {name: b, namespace: ns}}")},
		{Release: "web", Object: testkit.Parsed(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: gone, namespace: ns}}")},
		{Release: "web", Object: testkit.Parsed(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: more, namespace: ns}, imagePullSecrets: []}")},
	}}
	account, namespace := schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	found := newTally()
	found.bare(e, map[lane.Object]bool{{GVK: account, Namespace: "ns", Name: "a"}: true, {GVK: namespace, Name: "b"}: true, {GVK: account, Namespace: "ns", Name: "more"}: true})
	var details []string
	if f := lane.Mismatch(wantApplied(e, map[schema.GroupKind]bool{namespace.GroupKind(): true}, found).deliveries(), found.deliveries()); f != nil {
		details = f.Details()
	}
	testkit.WantEach(t, "details", details, []string{"ServiceAccount ns/gone: missing", "ServiceAccount ns/more: missing"})
}
