package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/recipe"
)

const head = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: "

// files are a recipes directory with one Kustomize component: a Deployment behind a prefix, a
// generated map with what Helm would take for a template, and two patches of the recipe, of which
// the second takes the tolerations away.
func files(ref string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range map[string]string{
		"registry.yaml":                         head + "ComponentRegistry\ncomponents:\n- name: app\n  kustomize: {defaultSource: components/app, defaultPath: prod}\n  nodeScheduling: {system: {nodeSelectorPaths: [web.nodeSelector], tolerationPaths: [web.tolerations]}}\n",
		"overlays/base.yaml":                    head + "RecipeMetadata\nmetadata: {name: base}\nspec:\n  componentRefs:\n  - name: app\n" + ref,
		"components/app/prod/kustomization.yml": "namePrefix: prod-\nresources:\n- ../base\npatches:\n- path: replicas.yaml\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/nodeSelector, value: {disk: fast}}\nconfigMapGenerator:\n- {name: settings, literals: ['text={{ .Values.x }}']}\n",
		"components/app/prod/replicas.yaml":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n",
		"components/app/base/Kustomization":     "resources: [all.json, web.yaml]\n",
		"components/app/base/web.yaml":          "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: web}]\n      tolerations: [{operator: Exists}]\n",
		"components/app/base/all.json":          `{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}`,
		"components/app/priority.yaml":          "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {priorityClassName: high}}}\n",
		"components/app/untolerate.yaml":        "# none\n---\ntarget: {kind: Deployment, name: web}\npatch: |-\n  - op: remove\n    path: /spec/template/spec/tolerations\n",
		"components/app/nothing.yaml":           "target: {kind: StatefulSet}\npatch: |-\n  - op: remove\n    path: /spec/template/spec/tolerations\n",
	} {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func components(t *testing.T, fsys fstest.MapFS) []recipe.Component {
	t.Helper()
	s, err := recipe.Open(fsys, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.ResolveName("base")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Components(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func buildApp(t *testing.T, fsys fstest.MapFS) *recipe.Component {
	t.Helper()
	built, err := buildKustomization(t.Context(), components(t, fsys))
	if err != nil {
		t.Fatal(err)
	}
	return &built[0]
}

const twoPatches = "    patches: [components/app/priority.yaml, components/app/untolerate.yaml]\n"

// Each file with objects is a manifest, and templates in it are text.
func TestManifests(t *testing.T) {
	given := components(t, files(twoPatches))
	built, err := buildKustomization(t.Context(), given)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range built[0].Manifests {
		got = append(got, m.Path+" "+m.File)
	}
	slices.Sort(got)
	want := []string{
		"components/app/base/all.json recipes/components/app/base/all.json", "components/app/base/web.yaml recipes/components/app/base/web.yaml",
		"components/app/prod/kustomization.yml recipes/components/app/prod/kustomization.yml",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, m := range built[0].Manifests {
		if text := string(m.Content); strings.HasSuffix(m.Path, "kustomization.yml") && !strings.Contains(text, `text: '{{ "{{" }} .Values.x }}'`) || strings.HasSuffix(m.Path, "web.yaml") && strings.Count(text, "---\n") != 2 {
			t.Errorf("%s:\n%s", m.Path, text)
		}
	}
	if given[0].Manifests != nil || given[0].Kustomization.Places != nil {
		t.Error("the components that were given were changed")
	}
	again, err := buildKustomization(t.Context(), built)
	if err != nil || &again[0] != &built[0] {
		t.Errorf("what was built is built again: %v", err)
	}
}

// The pods' places: the object and its parts by line, and every patch that decides about them, of
// the kustomization and of the recipe.
func TestPlaces(t *testing.T) {
	k := buildApp(t, files(twoPatches)).Kustomization
	p := k.Of("Deployment", "somewhere", "prod-web")
	if p == nil || k.Of("Deployment", "", "web") != nil || k.Of("Service", "", "prod-web") != nil || (*recipe.Kustomization)(nil).Of("Deployment", "", "web") != nil {
		t.Fatalf("places: %+v", k.Places)
	}
	if p.Kustomization != "recipes/components/app/prod/kustomization.yml" || p.From.String() != "recipes/components/app/base/web.yaml:12" || p.Fields["tolerations"].String() != "recipes/components/app/base/web.yaml:14" {
		t.Errorf("got %+v", p)
	}
	var got []string
	for _, patch := range p.Patches {
		got = append(got, fmt.Sprint(strings.TrimPrefix(patch.Origin.String(), "recipes/components/app/"), patch.Parts))
	}
	slices.Sort(got)
	if want := []string{"priority.yaml:1[priorityClassName]", "prod/kustomization.yml:6[nodeSelector]", "untolerate.yaml:3[tolerations]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What the recipe sets and Kustomize does not see is said.
func TestWarnings(t *testing.T) {
	fsys := files("    namespace: shop\n    overrides: {replicas: 3}\n    patches: [components/app/nothing.yaml]\n")
	fsys["components/app/base/all.json"] = &fstest.MapFile{Data: []byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod-shop"}}`)}
	fsys["components/app/prod/kustomization.yml"].Data = []byte(strings.Replace(string(fsys["components/app/prod/kustomization.yml"].Data), "namePrefix: prod-\n", "namespace: shop\n", 1))
	app := buildApp(t, fsys)
	got := kustomizeWarnings(app)
	want := []string{
		"app: its values (valuesFile, overrides) have no effect: it is of type Kustomize; patch it instead",
		"app: the scheduling paths of the registry (web.nodeSelector, web.tolerations) have no effect",
		"app: patch recipes/components/app/nothing.yaml:1 changes nothing",
		"app: its kustomization has Namespace shop, which Helm and Flux create for the component, and then reject",
	}
	if len(got) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if len(app.Values) > 0 || len(app.NodeScheduling.System.TolerationPaths) > 0 {
		t.Errorf("values and paths are left: %+v", app)
	}
	if got := kustomizeWarnings(&recipe.Component{ComponentRef: recipe.ComponentRef{Name: "x", Patches: []string{"a"}}}); len(got) != 1 || !strings.Contains(got[0], "x: its patches have no effect") {
		t.Errorf("got %q", got)
	}
	quiet := files("    overrides: {enabled: true}\n")
	quiet["registry.yaml"].Data = []byte(strings.Split(string(quiet["registry.yaml"].Data), "  nodeScheduling")[0])
	if got := kustomizeWarnings(buildApp(t, quiet)); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestBuildErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown field": {"resource: []\n", `recipes/components/app/prod/kustomization.yml:1: component app: its kustomization does not build: `},
		"nothing":          {"resources: []\nnamePrefix: x\n", "recipes/components/app/prod/kustomization.yml: component app: its kustomization"},
	} {
		fsys := files("")
		fsys["components/app/prod/kustomization.yml"].Data = []byte(c.text)
		_, err := buildKustomization(t.Context(), components(t, fsys))
		var file *recipe.FileError
		if !errors.As(err, &file) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := buildKustomization(ctx, components(t, files(""))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOverrides(t *testing.T) {
	if got := kustomizeOverrides(&recipe.Component{ComponentRef: recipe.ComponentRef{Name: "x"}, Kustomization: &recipe.Kustomization{InPlace: "kustomize: a in place of b"}}); !slices.Equal(got, []string{"x: kustomize: a in place of b"}) {
		t.Errorf("got %q", got)
	}
	if got := kustomizeOverrides(&recipe.Component{Kustomization: &recipe.Kustomization{}}); len(got) > 0 || len(kustomizeOverrides(&recipe.Component{})) > 0 {
		t.Errorf("got %q", got)
	}
}

// A hook without a name is delivered by Argo CD, which gives it one, and by no other deployer.
func TestBundle_HookWithoutName(t *testing.T) {
	in := fixture()
	c := &in.Components[0]
	c.Manifests = append(c.Manifests, recipe.Manifest{Path: "components/x/hook.yaml", File: "recipes/components/x/hook.yaml", Content: []byte("apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: migrate-, annotations: {argocd.argoproj.io/hook: PreSync}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n")})
	in, err := Prepare(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Deployers() {
		_, err := d.Bundle(t.Context(), in)
		if refused := strings.Contains(fmt.Sprint(err), "Job with metadata.generateName migrate-"); refused == ByArgoCD(d.Name()) {
			t.Errorf("%s: got %v", d.Name(), err)
		}
	}
}
