package recipe

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const documentHead = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: "

// kustomized is a recipe, eks, whose component has its base beside it; the lines of both are the
// sixth and later.
func kustomized(registry, base, eks string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"registry.yaml":                           documentHead + "ComponentRegistry\ncomponents:\n- name: app\n" + registry,
		"overlays/base.yaml":                      documentHead + "RecipeMetadata\nmetadata: {name: base}\nspec:\n  componentRefs:\n  - name: app\n" + base,
		"overlays/eks.yaml":                       documentHead + "RecipeMetadata\nmetadata: {name: eks}\nspec:\n  criteria: {service: eks}\n  componentRefs:\n  - name: app\n" + eks,
		"components/app/base/kustomization.yaml":  "resources: [web.yaml]\n",
		"components/app/base/web.yaml":            "kind: Deployment\n",
		"components/app/prod/kustomization.yaml":  "resources: [../base]\n",
		"components/app/patches/more.yaml":        "# more\n- {patch: a}\n- {patch: b}\n",
		"components/app/patches/less.yaml":        "{patch: c}\n",
		"components/app/patches/operations.yaml":  "\n- {op: remove, path: /spec}\n",
		"components/app/evil/kustomization.yaml":  "resources:\n- ../base\n- https://example.com/x\n",
		"components/app/evil2/kustomization.yaml": "resources: [../../../../x]\n",
		"components/app/manifests/x.yaml":         "kind: ConfigMap\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

const localRegistry = "  kustomize: {defaultSource: components/app, defaultPath: base, defaultTag: v1}\n"

func eksApp(t *testing.T, s *Store) (*Component, error) {
	t.Helper()
	r, err := s.ResolveName("eks")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Components(r)
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// The registry fills source, path and tag; overlays replace each of them, and the list of patches
// as a whole.
func TestKustomizationOfComponent(t *testing.T) {
	for name, c := range map[string]struct {
		registry, base, eks string
		want                string
	}{
		"defaults":              {localRegistry, "", "", "components/app/base | base/kustomization.yaml base/web.yaml | "},
		"a path of its own":     {localRegistry, "    path: prod\n", "    patches: [components/app/patches/more.yaml]\n", "components/app/prod | prod/kustomization.yaml base/kustomization.yaml base/web.yaml | patches/more.yaml:2 a, patches/more.yaml:3 b"},
		"patches are replaced":  {localRegistry, "    patches: [components/app/patches/more.yaml]\n", "    patches: [components/app/patches/less.yaml]\n", "components/app/base | base/kustomization.yaml base/web.yaml | patches/less.yaml:1 c"},
		"a path alone":          {"  kustomize: {}\n", "", "    path: components/app/prod\n", "components/app/prod | prod/kustomization.yaml base/kustomization.yaml base/web.yaml | "},
		"a type of the recipe":  {"  helm: {defaultChart: x/y, defaultRepository: https://example.com, defaultVersion: 1.0.0}\n", "", "    {type: Kustomize, path: ./components/app/base}\n", "components/app/base | base/kustomization.yaml base/web.yaml | "},
		"the directory as such": {localRegistry, "", "    {source: ./components/app/base/, path: .}\n", "components/app/base | base/kustomization.yaml base/web.yaml | "},
	} {
		eks := c.eks
		if strings.HasPrefix(strings.TrimSpace(eks), "{") {
			eks = "    " + strings.ReplaceAll(strings.Trim(strings.TrimSpace(eks), "{}"), ", ", "\n    ") + "\n"
		}
		app, err := eksApp(t, open(t, kustomized(c.registry, c.base, eks)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		k := app.Kustomization
		var files, patches []string
		for _, f := range k.Files {
			files = append(files, strings.TrimPrefix(f.File, "recipes/components/app/"))
		}
		for _, p := range k.Patches {
			patches = append(patches, strings.TrimPrefix(p.Origin.String(), "recipes/components/app/")+" "+strings.Split(p.Entry, `"`)[3])
		}
		if got := k.Dir + " | " + strings.Join(files, " ") + " | " + strings.Join(patches, ", "); got != c.want || k.File != "recipes/"+k.Dir+"/kustomization.yaml" || !app.ManifestOnly() {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A kustomization that cannot be built, needs a download, or has its source elsewhere is an error
// that names the responsible line.
func TestKustomizationRefused(t *testing.T) {
	const remote = "  kustomize: {defaultSource: 'https://example.com/app.git', defaultPath: deploy, defaultTag: v3}\n"
	for name, c := range map[string]struct{ registry, eks, want string }{
		"a source elsewhere":   {remote, "", `recipes/registry.yaml:4: the source of component "app", https://example.com/app.git, at v3, is not in the recipes directory, and nothing is fetched that was not allowed; check it out and add --kustomize-source https://example.com/app.git=DIRECTORY`},
		"a source of git's":    {localRegistry, "    source: git@example.com:a/b\n", `recipes/overlays/eks.yaml:8: the source of component "app", git@example.com:a/b, at v1, is not in`},
		"a registry":           {localRegistry, "    source: oci://example.com/a\n", "recipes/overlays/eks.yaml:8: the source of"},
		"a short form":         {localRegistry, "    source: github.com/a/b\n", "recipes/overlays/eks.yaml:8: the source of"},
		"another registry":     {remote, "    tag: v4\n", "at v4, is not in"},
		"up":                   {localRegistry, "    path: ../../../etc\n", `recipes/overlays/eks.yaml:8: the kustomization of component "app", ../etc, leads out of the recipes directory`},
		"up by the source":     {localRegistry, "    source: ..\n", "recipes/registry.yaml:4: the kustomization of"},
		"absolute":             {localRegistry, "    source: /etc\n", "leads out of the recipes directory"},
		"no such directory":    {localRegistry, "    path: none\n", `recipes/overlays/eks.yaml:8: kustomization of component "app": the directory components/app/none does not exist`},
		"no kustomization":     {localRegistry, "    path: patches\n", "components/app/patches has no kustomization.yaml"},
		"a remote base":        {localRegistry, "    path: evil\n", `recipes/components/app/evil/kustomization.yaml:3: kustomization of component "app": "https://example.com/x" is a remote base`},
		"a base outside":       {localRegistry, "    path: evil2\n", "recipes/components/app/evil2/kustomization.yaml:1: kustomization of component \"app\": \"../../../../x\" leads out of"},
		"no path":              {"  kustomize: {defaultSource: components/app}\n", "", "recipes/overlays/eks.yaml:7: component \"app\" is of type Kustomize and has no path"},
		"a tag of nothing":     {"  kustomize: {defaultPath: components/app/base, defaultTag: v1}\n", "", "recipes/registry.yaml:4: component \"app\" has the tag v1 and no source"},
		"a chart too":          {localRegistry, "    chart: web\n", "recipes/overlays/eks.yaml:8: component \"app\" is of type Kustomize and has a chart, web"},
		"manifests too":        {localRegistry, "    manifestFiles: [components/app/manifests/x.yaml]\n", "recipes/overlays/eks.yaml:8: component \"app\" is of type Kustomize and has manifestFiles"},
		"operations alone":     {localRegistry, "    patches: [components/app/patches/operations.yaml]\n", `recipes/components/app/patches/operations.yaml:2: patch of component "app": a JSON 6902 patch alone does not say what it is for`},
		"a patch that is none": {localRegistry, "    patches: [components/app/base/kustomization.yaml]\n", "recipes/components/app/base/kustomization.yaml:1: patch of component \"app\": it is no patch"},
	} {
		_, err := eksApp(t, open(t, kustomized(c.registry, "", c.eks)))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	// Patches are files, which are looked for when the directory is opened.
	if _, err := Open(kustomized(localRegistry, "", "    patches:\n    - components/app/none.yaml\n"), "recipes"); err == nil || !strings.HasPrefix(err.Error(), `recipes/overlays/eks.yaml:9: patch of component "app": recipes/components/app/none.yaml: file does not exist`) {
		t.Errorf("got %v", err)
	}
}

// A link is refused wherever it is, of the directory and of a file.
func TestKustomizationLinks(t *testing.T) {
	for _, link := range []string{"deploy/base/web.yaml", "deploy/base"} { // of components/ every file is looked at before
		dir := t.TempDir()
		files := kustomized("  kustomize: {defaultPath: deploy/base}\n", "", "")
		for _, name := range []string{"kustomization.yaml", "web.yaml"} {
			files["deploy/base/"+name] = files["components/app/base/"+name]
		}
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, filepath.FromSlash(link))
		if err := os.Rename(at, at+"-moved"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(at+"-moved", at); err != nil {
			t.Fatal(err)
		}
		if _, err := eksApp(t, open(t, os.DirFS(dir))); err == nil || !strings.Contains(err.Error(), "recipes/"+link+" is a symbolic link") {
			t.Errorf("%s: got %v", link, err)
		}
	}
}

// A source that was allowed is read, by the tag of the component; lists do without.
func TestKustomizeSources(t *testing.T) {
	const registry = "  kustomize: {defaultSource: 'https://example.com/app.git', defaultPath: deploy, defaultTag: v3}\n"
	s := open(t, kustomized(registry, "", "    patches: [components/app/patches/less.yaml]\n"))
	ref := ComponentRef{Name: "app", Type: TypeKustomize, Source: "https://example.com/app.git", Tag: "v3"}
	if err := s.CheckSource(ref); err == nil {
		t.Error("the source is allowed by itself")
	}
	if app, err := eksApp(t, s.WithoutKustomizations()); err != nil || app.Kustomization != nil {
		t.Errorf("got %+v, %v", app, err)
	}
	checkout := fstest.MapFS{"deploy/kustomization.yaml": {Data: []byte("resources: [../lib]\n")}, "lib/kustomization.yaml": {Data: []byte("resources: [../../x]\n")}}
	var asked string
	with := s.WithSources(map[string]Source{"https://example.com/app.git": func(tag string) (Layer, error) { asked = tag; return Layer{FS: checkout, Root: "checkout"}, nil }})
	if err := with.CheckSource(ref); err != nil {
		t.Error(err)
	}
	if _, err := eksApp(t, with); err == nil || !strings.HasPrefix(err.Error(), "reading the components of the recipe: checkout/lib/kustomization.yaml:1: ") {
		t.Errorf("got %v", err)
	}
	checkout["lib/kustomization.yaml"] = &fstest.MapFile{Data: []byte("resources: []\n")}
	app, err := eksApp(t, with)
	if err != nil {
		t.Fatal(err)
	}
	k := app.Kustomization
	if asked != "v3" || k.InPlace != "kustomize: checkout in place of https://example.com/app.git at v3" || k.File != "checkout/deploy/kustomization.yaml" || k.Patches[0].Origin.String() != "recipes/components/app/patches/less.yaml:1" {
		t.Errorf("asked for %q: %+v", asked, k)
	}
	failing := s.WithSources(map[string]Source{"https://example.com/app.git": func(string) (Layer, error) { return Layer{}, fs.ErrPermission }})
	if _, err := eksApp(t, failing); err == nil || !strings.Contains(err.Error(), `recipes/registry.yaml:4: the source of component "app", https://example.com/app.git: permission denied`) {
		t.Errorf("got %v", err)
	}
}

// A change of any file that is built reaches the recipe, and so does a new file beside the
// kustomization.
func TestKustomizationInputs(t *testing.T) {
	inputs, err := open(t, kustomized(localRegistry, "", "    path: prod\n    patches: [components/app/patches/less.yaml]\n")).Inputs("eks")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range inputs {
		if strings.HasPrefix(in.Role, "kustomization") || strings.HasPrefix(in.Role, "patch") {
			got = append(got, fmt.Sprintf("%s (%s)", strings.TrimPrefix(in.Path, "components/app/"), in.Role))
		}
	}
	want := []string{"prod/ (kustomization of app)", "prod/kustomization.yaml (kustomization of app)", "base/kustomization.yaml (kustomization of app)", "base/web.yaml (kustomization of app)", "patches/less.yaml (patch of app)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
