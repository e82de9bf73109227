package bundle

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// probeInput is a recipe whose second component has a ConfigMap with a key for every API that its
// template finds.
func probeInput(names ...string) Input {
	probe := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: found}\ndata:\n  none: ''\n"
	for _, name := range names {
		probe += `{{ if .Capabilities.APIVersions.Has "` + name + `" }}  ` + strings.ReplaceAll(name, "/", "_") + ": ''\n{{ end }}"
	}
	const provides = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions: [{name: v1beta1, served: true, storage: false}, {name: v1, served: true, storage: true}, {name: v1alpha1, served: false, storage: false}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.custom.metrics.k8s.io}
spec: {group: custom.metrics.k8s.io, version: v1beta1, service: {name: a, namespace: b}, groupPriorityMinimum: 1, versionPriority: 1}
`
	in := fixture()
	component := func(name, manifest string, after ...string) recipe.Component {
		return recipe.Component{
			ComponentRef: recipe.ComponentRef{Name: name, Namespace: "x", DependencyRefs: after}, Values: map[string]any{},
			Manifests: []recipe.Manifest{{Path: "components/" + name + "/a.yaml", Content: []byte(manifest)}},
		}
	}
	in.Components = []recipe.Component{
		component("early", probe), component("provider", provides, "early"),
		component("late", probe+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n", "provider"),
	}
	in.Recipe.ComponentRefs, in.Recipe.DeploymentOrder = nil, []string{"early", "provider", "late"}
	in.APIs = StackAPIs()
	return in
}

// What a chart finds in .Capabilities.APIVersions, in each lane.
func TestCapabilities_APIVersions(t *testing.T) {
	names := []string{
		"apiregistration.k8s.io/v1", "apps/v1/Deployment", "apps/v1beta1", "extensions/v1beta1", "v1/Eviction", "authentication.k8s.io/v1",
		"example.com/v1/Widget", "example.com/v1beta1/Widget", "example.com/v1alpha1/Widget", "custom.metrics.k8s.io/v1beta1",
		"argoproj.io/v1alpha1/Application", "helm.toolkit.fluxcd.io/v2/HelmRelease",
	}
	cluster := []string{"apiregistration.k8s.io/v1", "apps/v1/Deployment"}
	unwatched := []string{"v1/Eviction", "authentication.k8s.io/v1"}
	argo := []string{"argoproj.io/v1alpha1/Application"}
	flux := []string{"helm.toolkit.fluxcd.io/v2/HelmRelease"}
	prepared, err := Prepare(t.Context(), probeInput(names...))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		deployer    string
		early, late []string
	}{
		{Helm, slices.Concat(cluster, unwatched), []string{"example.com/v1/Widget", "example.com/v1beta1/Widget", "custom.metrics.k8s.io/v1beta1"}},
		{ArgoCDOCI, slices.Concat(cluster, argo), []string{"example.com/v1/Widget"}},
		{ArgoCDHelmOCI, slices.Concat(cluster, argo), []string{"example.com/v1/Widget"}},
		{ArgoCDAppSet, slices.Concat(cluster, argo), []string{"example.com/v1/Widget"}},
		{FluxOCI, slices.Concat(cluster, unwatched, flux), []string{"example.com/v1/Widget", "example.com/v1beta1/Widget", "custom.metrics.k8s.io/v1beta1"}},
		{HelmTemplate, slices.Concat(cluster, unwatched), []string{"example.com/v1/Widget", "example.com/v1beta1/Widget", "custom.metrics.k8s.io/v1beta1"}},
	} {
		t.Run(tc.deployer, func(t *testing.T) {
			d, err := ByName([]string{tc.deployer})
			if err != nil {
				t.Fatal(err)
			}
			b := mustBundle(t, d[0], prepared)
			for release, want := range map[string][]string{"early": tc.early, "late": slices.Concat(tc.early, tc.late)} {
				var got []string
				for _, o := range b.Expectation.Objects {
					if o.Release == release && o.Object.GetKind() == "ConfigMap" {
						data, _, _ := unstructured.NestedMap(o.Object.Object, "data")
						for _, name := range names {
							if _, ok := data[strings.ReplaceAll(name, "/", "_")]; ok {
								got = append(got, name)
							}
						}
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s finds %q, want %q", release, got, want)
				}
			}
		})
	}
}

// One rendering serves all lanes of a recipe, unless a chart tests for an API that only some lanes
// have.
func TestRenderAgain_ChartReadsCapabilities(t *testing.T) {
	for name, tc := range map[string]struct {
		template string
		want     bool
	}{
		"a name that all see":  {`{{ .Capabilities.APIVersions.Has "apps/v1" }}`, false},
		"a name of Argo CD's":  {`{{ .Capabilities.APIVersions.Has "argoproj.io/v1alpha1" }}`, true},
		"a name of Flux's":     {"{{ .Capabilities.APIVersions.Has `helm.toolkit.fluxcd.io/v2` }}", false},
		"a name that it makes": {`{{ .Capabilities.APIVersions.Has (printf "%s/v1" "apps") }}`, true},
		"all of them":          {`{{ len $.Capabilities.APIVersions }}`, true},
		"nothing":              {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := probeInput()
			in.Components[0].Manifests[0].Content = append(in.Components[0].Manifests[0].Content, "  # "+tc.template+"\n"...)
			prepared, err := Prepare(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			mustBundle(t, argoOCI{}, prepared)
			if again := len(prepared.prepared.others.plans) > 0; again != tc.want {
				t.Errorf("rendered anew: %t, want %t", again, tc.want)
			}
		})
	}
}
