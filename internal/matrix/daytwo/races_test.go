package daytwo

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/testkit"
)

const (
	crd    = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.x.y}, spec: {group: x.y, names: {kind: Widget}}}`
	kept   = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.x.y, annotations: {helm.sh/resource-policy: keep}}, spec: {group: x.y, names: {kind: Widget}}}`
	widget = `{apiVersion: x.y/v1beta1, kind: Widget, metadata: {namespace: ns, name: one}}`
	other  = `{apiVersion: z.y/v1, kind: Widget, metadata: {namespace: ns, name: one}}`
)

// A race takes two releases, of which one has the definition and the other an object of that kind.
func TestOfRemoval(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"two releases":         {crd, widget, true},
		"another group":        {crd, other, false},
		"the definition stays": {kept, widget, false},
		"no definition":        {widget, widget, false},
	} {
		e := bundle.Expectation{}
		for release, text := range map[string]string{"a": tc.a, "b": tc.b} {
			e.Objects = append(e.Objects, bundle.Object{Release: release, Component: release, Template: release + "/templates/x.yaml", Object: testkit.Parsed(t, text)})
		}
		all := ofRemoval(&e)
		if (len(all) == 1) != tc.want {
			t.Errorf("%s: got %d races", name, len(all))
			continue
		}
		if tc.want {
			testkit.WantText(t, name, all[0].uninstalled("the removal")+all[0].Order(), "is removed by the removal with release b, and its definition, CustomResourceDefinition", "with release a (component a, a/templates/x.yaml)", "remove component b first, and component a in a delivery after that")
		}
		if e.Objects[0].Release = e.Objects[1].Release; len(ofRemoval(&e)) != 0 {
			t.Errorf("%s: one release is no race", name)
		}
	}
	ordered := findRaces(map[string][]*bundle.Object{"a": {{Object: testkit.Parsed(t, crd)}}, "b": {{Object: testkit.Parsed(t, widget)}}}, func(definition, object string) bool { return definition == "a" && object == "b" })
	if len(ordered) != 0 {
		t.Errorf("got %d races though the definition's release waits", len(ordered))
	}
}

// A race is lost once the definition is gone and helm-controller has failed with the other release.
func TestLost(t *testing.T) {
	const (
		leaving = `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [finalizers.fluxcd.io]}`
		failed  = `, status: {conditions: [{type: Released, status: "False", reason: UninstallFailed, message: failed to delete release}]}}`
		release = `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {namespace: flux-system, name: b`
	)
	for name, tc := range map[string]struct {
		live []string
		want bool
	}{
		"the definition went":    {[]string{release + leaving + failed}, true},
		"the definition is left": {[]string{crd, release + leaving + failed}, false},
		"it is at it":            {[]string{release + leaving + "}"}, false},
		"the release stays":      {[]string{release + "}" + failed}, false},
		"both are gone":          {nil, false},
	} {
		var objects []runtime.Object
		for _, text := range tc.live {
			objects = append(objects, testkit.Parsed(t, text))
		}
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{infra.CRDResource: "CustomResourceDefinitionList", infra.HelmReleaseGVR: "HelmReleaseList"}, objects...)
		r := race{&bundle.Object{Release: "a", Object: testkit.Parsed(t, crd)}, &bundle.Object{Release: "b", Object: testkit.Parsed(t, widget)}}
		got := r.Lost(context.Background(), &lane.Env{Clients: &infra.Clients{Dynamic: client}})
		if (got != "") != tc.want || tc.want && !strings.Contains(got, "HelmRelease b cannot be uninstalled (failed to delete release): it has Widget.x.y ns/one, and CustomResourceDefinition") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
