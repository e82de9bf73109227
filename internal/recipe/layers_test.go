package recipe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// registryHead is the first lines of a component registry.
const registryHead = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents:"

// dataOf is a data directory with a registry that adds nothing, and files in pairs of a path and a
// text.
func dataOf(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{registryFile: {Data: []byte(registryHead + " []\n")}}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

func withData(recipes, data fs.FS) (*Store, error) {
	return OpenWithData(Layer{FS: recipes, Root: "recipes"}, Layer{FS: data, Root: "mine"})
}

const mineOverlay = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: mine}\nspec:\n  criteria: {service: mine}\n  componentRefs:\n" +
	"    - {name: extra, manifestFiles: [components/extra/a.yaml], dependencyRefs: [cert-manager]}\n" +
	"    - {name: gpu-operator, manifestFiles: [components/shared/b.yaml]}\n"

// The registry is merged by component, and of two with one name it is the data directory's, as a
// whole. Other files replace those of their path; what the data directory does not have is the
// recipes'. Each place is in the file where it really is.
func TestOpenWithData(t *testing.T) {
	recipes := minimal(t)
	recipes["components/shared/b.yaml"] = &fstest.MapFile{Data: []byte("b: 1\n")}
	recipes["components/cert-manager/values.yaml"] = &fstest.MapFile{Data: []byte("a: 1\n")}
	data := dataOf(
		registryFile, registryHead+"\n  - name: extra\n    manifest: {defaultNamespace: extra}\n  - name: cert-manager\n    helm: {defaultRepository: https://charts.example.com, defaultChart: cm, defaultVersion: v9.9.9}\n",
		"overlays/mine.yaml", mineOverlay,
		"components/extra/a.yaml", "a: 1\n",
		"components/gpu-operator/values.yaml", "\ndriver:\n  enabled: false\n",
		"overlays/eks.yaml", "\napiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata:\n  name: eks\nspec:\n  criteria: {service: eks, intent: training}\n",
	)
	s, err := withData(recipes, data)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Names(), []string{"base", "eks", "mine"}; !slices.Equal(got, want) {
		t.Errorf("overlays: got %q, want %q", got, want)
	}
	if o, _ := s.Overlay("eks"); o.Criteria.Intent != "training" || o.Origin.String() != "mine/overlays/eks.yaml:5" {
		t.Errorf("the overlay eks is not the data directory's: %+v", o)
	}
	if o, _ := s.Overlay("base"); o.Origin.String() != "recipes/overlays/base.yaml:4" {
		t.Errorf("base is at %s", o.Origin)
	}
	r, err := s.ResolveName("mine")
	if err != nil {
		t.Fatal(err)
	}
	components, err := s.Components(r)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Component{}
	for _, c := range components {
		byName[c.Name] = c
	}
	if c := byName["cert-manager"]; c.Version != "v9.9.9" || c.Chart != "cm" || c.Namespace != "" || len(c.ValueOverrideKeys) > 0 || c.Values["a"] != int64(1) {
		t.Errorf("cert-manager must be the data directory's entry, nothing merged into it, with the recipes' values: %+v", c)
	}
	if c := byName["gpu-operator"]; c.Version != "v25.10.1" || c.Values["driver"].(map[string]any)["enabled"] != false ||
		c.Origins["driver.enabled"].String() != "mine/components/gpu-operator/values.yaml:3" || c.Manifests[0].File != "recipes/components/shared/b.yaml" {
		t.Errorf("gpu-operator must have the recipes' entry, and the data directory's values: %+v", c)
	}
	if c := byName["extra"]; c.Declared.String() != "mine/overlays/mine.yaml:7" || len(c.Manifests) != 1 || c.Manifests[0].File != "mine/components/extra/a.yaml" {
		t.Errorf("extra: %+v", c)
	}
	inputs, err := s.Inputs("mine")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"overlays/base.yaml", "overlays/mine.yaml", "components/extra/a.yaml", "components/gpu-operator/values.yaml"} {
		if !slices.ContainsFunc(inputs, func(in Input) bool { return in.Path == want }) {
			t.Errorf("inputs lack %s: %v", want, inputs)
		}
	}
}

// An error names the file with the problem, and the directory that has the file.
func TestOpenWithData_Invalid(t *testing.T) {
	link := &fstest.MapFile{Data: []byte("../../etc/passwd"), Mode: fs.ModeSymlink | 0o777}
	for name, test := range map[string]struct {
		recipes func(fstest.MapFS)
		data    fstest.MapFS
		change  func(fstest.MapFS)
		want    []string
	}{
		"no registry": {nil, dataOf("overlays/mine.yaml", mineOverlay), func(f fstest.MapFS) { delete(f, registryFile) },
			[]string{"mine/registry.yaml: the data directory mine has no registry.yaml, which it must have", "components: []"}},
		"link":           {nil, dataOf(), func(f fstest.MapFS) { f["notes/link"] = link }, []string{"mine/notes/link: it is a symbolic link"}},
		"large":          {nil, dataOf("notes.bin", strings.Repeat("x", document.MaxFileSize+1)), nil, []string{"mine/notes.bin is larger than 10 MiB"}},
		"no file":        {nil, dataOf(), func(f fstest.MapFS) { f["pipe"] = &fstest.MapFile{Mode: fs.ModeNamedPipe} }, []string{"mine/pipe: it is not a regular file"}},
		"registry":       {nil, dataOf(registryFile, registryHead+"\n  - name: extra\n"), nil, []string{`mine/registry.yaml:4: component "extra" has 0 of helm`}},
		"registry twice": {nil, dataOf(registryFile, registryHead+"\n  - name: a\n    manifest: {}\n  - name: a\n    manifest: {}\n"), nil, []string{`mine/registry.yaml:6: component "a" is already at mine/registry.yaml:4`}},
		"the recipes' registry": {func(f fstest.MapFS) { f[registryFile] = &fstest.MapFile{Data: []byte("kind: Other\n")} }, dataOf(), nil,
			[]string{"recipes/registry.yaml:1: kind is"}},
		"unknown field": {nil, dataOf("overlays/mine.yaml", strings.Replace(mineOverlay, "criteria", "criterai", 1)), nil, []string{"mine/overlays/mine.yaml:5: unknown field", `did you mean "criteria"?`}},
		"malformed":     {nil, dataOf("components/gpu-operator/values.yaml", "a: [\n"), nil, []string{"mine/components/gpu-operator/values.yaml:2: malformed YAML"}},
		"component in neither": {nil, dataOf("overlays/mine.yaml", mineOverlay, "components/extra/a.yaml", "a: 1\n", "components/shared/b.yaml", "b: 1\n"), nil,
			[]string{`mine/overlays/mine.yaml:7: component "extra" is not in mine/registry.yaml and recipes/registry.yaml; add it there`}},
		"file in neither": {nil, dataOf(registryFile, registryHead+"\n  - name: extra\n    manifest: {}\n", "overlays/mine.yaml", mineOverlay, "components/extra/a.yaml", "a: 1\n"), nil,
			[]string{`mine/overlays/mine.yaml:8: manifest of component "gpu-operator": mine/components/shared/b.yaml or recipes/components/shared/b.yaml: file does not exist`}},
		"the recipes' overlay names what data replaced by a file": {nil, dataOf("components/gpu-operator", "x"), nil,
			[]string{`recipes/overlays/base.yaml:12: values file of component "gpu-operator": mine/components/gpu-operator is not a directory`}},
		"one name, two files": {nil, dataOf("overlays/other.yaml", "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: eks}\nspec: {}\n"), nil,
			[]string{`mine/overlays/other.yaml:3: overlay "eks" is already at recipes/overlays/eks.yaml:4`, "replaces the one with the same path"}},
		"outside": {nil, dataOf("overlays/mine.yaml", "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: mine}\nspec:\n  componentRefs: [{name: cert-manager, valuesFile: ../recipes/x.yaml}]\n"), nil,
			[]string{"mine/overlays/mine.yaml:5:", `path "../recipes/x.yaml" is not a plain path`}},
	} {
		t.Run(name, func(t *testing.T) {
			recipes := minimal(t)
			if test.recipes != nil {
				test.recipes(recipes)
			}
			if test.change != nil {
				test.change(test.data)
			}
			s, err := withData(recipes, test.data)
			if err == nil || s != nil {
				t.Fatalf("it was accepted: %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
			var fileError *FileError
			if !errors.As(err, &fileError) {
				t.Errorf("%T has no *FileError", err)
			}
		})
	}
	if _, err := withData(minimal(t), os.DirFS(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "data directory mine") {
		t.Errorf("a data directory that does not exist: %v", err)
	}
}

// An empty data directory and a copy of the recipes change no recipe. The layers are directories of
// the operating system here, and in memory in the other tests.
func TestData_NoChange(t *testing.T) {
	plain := full(t)
	empty, whole := t.TempDir(), t.TempDir()
	if err := errors.Join(os.CopyFS(empty, dataOf()), os.CopyFS(whole, os.DirFS("testdata/valid-full"))); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"empty": empty, "a copy": whole} {
		s, err := OpenWithData(Layer{FS: os.DirFS("testdata/valid-full"), Root: "recipes"}, Layer{FS: os.DirFS(dir), Root: "recipes"})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if changed := ChangedComponents(plain, s); len(changed) > 0 {
			t.Errorf("%s: other entries of %q", what, changed)
		}
		for _, name := range plain.Names() {
			d, err := Compare(plain, s, name)
			if err != nil || d.Any {
				t.Errorf("%s: recipe %s is another one: %+v, %v", what, name, d, err)
			}
		}
	}
}

// Of two directories, one in the other, a displayed name leads back to the path in the one that has
// the file.
func TestRelativeOfLayers(t *testing.T) {
	f := document.FilesOf(Layer{FS: fstest.MapFS{}, Root: "recipes/mine"}, Layer{FS: fstest.MapFS{}, Root: "recipes"})
	for displayed, want := range map[string]string{"recipes/mine/overlays/a.yaml": "overlays/a.yaml", "recipes/overlays/a.yaml": "overlays/a.yaml", "elsewhere/a.yaml": "elsewhere/a.yaml"} {
		if got := f.Relative(displayed); got != want {
			t.Errorf("%s: got %s, want %s", displayed, got, want)
		}
	}
	if got := document.FilesOf(Layer{FS: fstest.MapFS{}, Root: "."}).Relative("overlays/a.yaml"); got != "overlays/a.yaml" {
		t.Errorf("the working directory: got %s", got)
	}
}
