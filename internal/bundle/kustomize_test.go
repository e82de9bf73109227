package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// kustomized is the fixture with a component of type Kustomize after its first one, with a patch on
// top.
func kustomized() Input {
	in := fixture()
	manifest := func(name, text string) recipe.Manifest {
		return recipe.Manifest{Path: "components/kust/" + name, File: "recipes/components/kust/" + name, Content: []byte(text)}
	}
	kust := recipe.Component{
		ComponentRef:   recipe.ComponentRef{Name: "kust", Namespace: "kust", Type: recipe.TypeKustomize, Path: "components/kust", DependencyRefs: []string{"web"}},
		NodeScheduling: recipe.NodeScheduling{System: recipe.SchedulingPaths{TolerationPaths: []string{"tolerations"}}},
		Values:         map[string]any{"ignored": 1},
		Declared:       recipe.Origin{File: "recipes/overlays/base.yaml", Line: 50},
		Kustomization: &recipe.Kustomization{
			Dir: "components/kust", File: "recipes/components/kust/kustomization.yaml", InPlace: "kustomize: checkout in place of https://example.com/kust",
			Files: []recipe.Manifest{
				manifest("kustomization.yaml", "namePrefix: my-\nresources: [agent.yaml]\nconfigMapGenerator: [{name: text, literals: ['alert={{ $labels.node }}']}]\n"),
				manifest("agent.yaml", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec:\n  selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n    spec:\n      containers: [{name: agent, image: agent}]\n"),
			},
			Patches: []recipe.Patch{{Origin: recipe.Origin{File: "recipes/components/kust/patch.yaml", Line: 2}, Entry: `{"target": {"kind": "DaemonSet"}, "patch": "- {op: add, path: /spec/template/spec/nodeSelector, value: {` + NodeTypeLabel + `: accelerated}}"}`}},
		},
	}
	in.Components = slices.Insert(in.Components, 1, kust)
	in.Recipe.DeploymentOrder = slices.Insert(in.Recipe.DeploymentOrder, 1, "kust")
	return in
}

// What a kustomization makes is in every deployer's bundle as manifests of a local chart, and is
// expected in each of them alike.
func TestKustomize_EveryDeployer(t *testing.T) {
	var first string
	for _, d := range Deployers() {
		t.Run(d.Name(), func(t *testing.T) {
			b := mustBundle(t, d, kustomized())
			var found []string
			for _, o := range b.Expectation.Objects {
				if o.Component == "kust" {
					found = append(found, fmt.Sprint(o.Release, " ", o.Template, " ", o.Object.Object))
					if o.Object.GetKind() == "ConfigMap" {
						if text, _, _ := unstructured.NestedString(o.Object.Object, "data", "alert"); text != "{{ $labels.node }}" {
							t.Errorf("a text that looks like a template became %q", text)
						}
					}
				}
			}
			if text := strings.Join(found, "\n"); first == "" {
				first = text
			} else if text != first {
				t.Errorf("got\n%s\nwant\n%s", text, first)
			}
			at := slices.IndexFunc(b.Expectation.Workloads, func(w Workload) bool { return w.Name == "my-agent" })
			if at < 0 || len(found) != 2 {
				t.Fatalf("objects: %q", found)
			}
			w := b.Expectation.Workloads[at]
			if w.Namespace != "kust" || w.Node != NodeAccelerated || w.Built == nil || w.Built.From.String() != "recipes/components/kust/agent.yaml:8" || len(w.Built.Patches) != 1 || w.Built.Patches[0].Origin.Line != 2 {
				t.Errorf("got %+v, built %+v", w, w.Built)
			}
			release := slices.IndexFunc(b.Expectation.Releases, func(r Release) bool { return r.Name == "kust" })
			if release < 0 || !b.Expectation.Releases[release].Local || !slices.Equal(b.Expectation.Releases[release].DependsOn, []string{"web"}) {
				t.Errorf("releases: %+v", b.Expectation.Releases)
			}
			if !slices.Contains(b.Expectation.Overrides, "kust: kustomize: checkout in place of https://example.com/kust") || !slices.ContainsFunc(b.Expectation.Warnings, func(w string) bool {
				return strings.HasPrefix(w, "kust: its values (valuesFile, overrides) have no effect")
			}) || slices.ContainsFunc(b.Expectation.Overrides, func(o string) bool { return strings.Contains(o, "kust: system") }) {
				t.Errorf("overrides %q, warnings %q", b.Expectation.Overrides, b.Expectation.Warnings)
			}
			made := false
			for _, f := range b.Files {
				if strings.Contains(string(f.Content), "configMapGenerator") {
					t.Errorf("%s is a kustomization that is not built", f.Path)
				}
				made = made || strings.Contains(f.Path, "kust") && strings.Contains(string(f.Content), "name: my-agent")
			}
			if !made {
				t.Error("no file of the bundle has the DaemonSet")
			}
		})
	}
}

// A bundle's tag follows every file and patch of a kustomization, and is the same before and after
// it is built.
func TestRevision_Kustomization(t *testing.T) {
	before := Revision(kustomized())
	prepared, err := Prepare(t.Context(), kustomized())
	if err != nil {
		t.Fatal(err)
	}
	if after := Revision(prepared); after != before || prepared.Components[1].Manifests == nil {
		t.Errorf("got %s, want %s", after, before)
	}
	changed := kustomized()
	changed.Components[1].Kustomization.Files[1].Content = append(slices.Clone(changed.Components[1].Kustomization.Files[1].Content), '\n')
	patched := kustomized()
	patched.Components[1].Kustomization.PatchFiles = []recipe.Manifest{{Path: "p", Content: []byte("x")}}
	if Revision(changed) == before || Revision(patched) == before {
		t.Error("another kustomization has the same revision")
	}
}

func TestKustomizeErrors(t *testing.T) {
	in := kustomized()
	in.Components[1].Kustomization.Files[0].Content = []byte("resources: [none.yaml]\n")
	_, err := helmDeployer{}.Bundle(t.Context(), in)
	var file *recipe.FileError
	if !errors.As(err, &file) || file.File != "recipes/components/kust/kustomization.yaml" || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
	in = kustomized()
	in.Components[1].Kustomization = nil
	if _, err := (helmDeployer{}).Bundle(t.Context(), in); err == nil || !strings.Contains(err.Error(), "recipes/overlays/base.yaml:50: component kust: it is of type Kustomize, and the files of its kustomization were not read") {
		t.Errorf("got %v", err)
	}
}
