package recipe

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

var update = flag.Bool("update", false, "write testdata/invalid-*/want.txt anew")

// minimal is testdata/valid-minimal with the files of dirs on top.
func minimal(t *testing.T, dirs ...string) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	for _, dir := range append([]string{"testdata/valid-minimal"}, dirs...) {
		root := os.DirFS(dir)
		err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || name == "want.txt" {
				return err
			}
			data, err := fs.ReadFile(root, name)
			fsys[name] = &fstest.MapFile{Data: data}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fsys
}

func open(t *testing.T, fsys fs.FS) *Store {
	t.Helper()
	s, err := Open(fsys, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func full(t *testing.T) *Store { return open(t, os.DirFS("testdata/valid-full")) }

// Each testdata/invalid-* is valid-minimal with one kind of fault; want.txt is the error message.
func TestOpenInvalid(t *testing.T) {
	dirs, err := filepath.Glob("testdata/invalid-*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			s, err := Open(minimal(t, dir), "recipes")
			if err == nil {
				t.Fatal("it was accepted")
			}
			if s != nil {
				t.Error("a store was returned together with an error")
			}
			got := err.Error() + "\n"
			want := filepath.Join(dir, "want.txt")
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(text) {
				t.Errorf("got:\n%swant:\n%s", got, text)
			}
		})
	}
}

func TestOpenValid(t *testing.T) {
	for _, dir := range []string{"testdata/valid-minimal", "testdata/valid-full"} {
		s := open(t, os.DirFS(dir)).WithSources(map[string]Source{"https://example.com/customized.git": func(tag string) (Layer, error) {
			return Layer{FS: fstest.MapFS{"deploy/kustomization.yaml": {Data: []byte("namePrefix: " + tag + "-\n")}}, Root: "customized"}, nil
		}})
		for _, name := range s.Names() {
			r, err := s.ResolveName(name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if _, err := s.Components(r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestOpen_InvalidFiles(t *testing.T) {
	large := &fstest.MapFile{Data: []byte("a: " + strings.Repeat("b", document.MaxFileSize))}
	link := &fstest.MapFile{Data: []byte("../../../../etc/passwd"), Mode: fs.ModeSymlink | 0o777}
	tests := map[string]struct {
		change func(fstest.MapFS)
		want   []string
	}{
		"large overlay": {
			func(f fstest.MapFS) { f["overlays/large.yaml"] = large },
			[]string{"recipes/overlays/large.yaml: recipes/overlays/large.yaml is larger than 10 MiB"},
		},
		"large values": {
			func(f fstest.MapFS) { f["components/gpu-operator/values.yaml"] = large },
			[]string{"recipes/components/gpu-operator/values.yaml is larger than 10 MiB"},
		},
		"large manifest": {
			func(f fstest.MapFS) {
				f["manifest.yaml"] = large
				f["overlays/eks.yaml"] = &fstest.MapFile{Data: append(f["overlays/eks.yaml"].Data,
					"  componentRefs:\n    - name: gpu-operator\n      manifestFiles: [manifest.yaml]\n"...)}
			},
			[]string{`recipes/overlays/eks.yaml:10: manifest of component "gpu-operator": recipes/manifest.yaml is larger than 10 MiB`},
		},
		"linked overlay": {
			func(f fstest.MapFS) { f["overlays/eks.yaml"] = link },
			[]string{"recipes/overlays/eks.yaml: it is a symbolic link"},
		},
		"linked values": {
			func(f fstest.MapFS) { f["components/gpu-operator/values.yaml"] = link },
			[]string{
				"recipes/components/gpu-operator/values.yaml: it is a symbolic link",
				"recipes/overlays/base.yaml:12: values file of component \"gpu-operator\": recipes/components/gpu-operator/values.yaml is a symbolic link",
			},
		},
		"linked directory": {
			func(f fstest.MapFS) {
				delete(f, "components/gpu-operator/values.yaml")
				f["components/gpu-operator"] = link
			},
			[]string{"recipes/overlays/base.yaml:12: values file of component \"gpu-operator\": recipes/components/gpu-operator is a symbolic link"},
		},
		"linked registry": {
			func(f fstest.MapFS) { f["registry.yaml"] = link },
			[]string{"recipes/registry.yaml is a symbolic link"},
		},
		"no registry": {
			func(f fstest.MapFS) { delete(f, "registry.yaml") },
			[]string{"recipes/registry.yaml: file does not exist"},
		},
		"no overlays": {
			func(f fstest.MapFS) { delete(f, "overlays/base.yaml"); delete(f, "overlays/eks.yaml") },
			[]string{"recipes/overlays: the directory does not exist"},
		},
		"no base": {
			func(f fstest.MapFS) { delete(f, "overlays/base.yaml") },
			[]string{`recipes/overlays/eks.yaml:5: base "base" does not exist; add overlays/base.yaml`},
		},
		"many large files": {
			func(f fstest.MapFS) {
				for i := range 8 {
					f[fmt.Sprintf("components/gpu-operator/values-%d.yaml", i)] = &fstest.MapFile{Data: []byte("a: " + strings.Repeat("b", document.MaxFileSize-3))}
				}
			},
			[]string{"recipes/components: with the files in it the recipes have 80 MiB, and none have more than 64 MiB"},
		},
		"long text, often": {
			func(f fstest.MapFS) {
				f["overlays/eks.yaml"] = &fstest.MapFile{Data: append(f["overlays/eks.yaml"].Data,
					"  componentRefs:\n    - name: gpu-operator\n      overrides:\n        a: &a "+strings.Repeat("x", 1<<20)+"\n        b: ["+strings.Repeat("*a,", 1000)+"]\n"...)}
			},
			[]string{"recipes/overlays/eks.yaml:12: malformed YAML: with this alias the document stands for more than 64 MiB"},
		},
		"alias bomb in the registry": {
			func(f fstest.MapFS) {
				f["registry.yaml"] = &fstest.MapFile{Data: append(f["registry.yaml"].Data, "metadata: {a: &a "+strings.Repeat("x", 1<<20)+", b: ["+strings.Repeat("*a,", 1000)+"]}\n"...)}
			},
			[]string{"with this alias the document stands for more than 64 MiB"},
		},
		"alias bomb": {
			func(f fstest.MapFS) {
				bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
				for i := range 9 {
					n, next := string(rune('0'+i)), string(rune('1'+i))
					bomb += "a" + next + ": &a" + next + " [" + strings.Repeat("*a"+n+",", 9) + "]\n"
				}
				f["components/gpu-operator/values.yaml"] = &fstest.MapFile{Data: []byte(bomb)}
			},
			[]string{"recipes/components/gpu-operator/values.yaml:8: malformed YAML: with this alias the document stands for more than 64 MiB"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := minimal(t)
			test.change(fsys)
			_, err := Open(fsys, "recipes")
			if err == nil {
				t.Fatal("it was accepted")
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
}

// The same through the operating system, whose links really lead somewhere.
func TestOpen_SymbolicLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, minimal(t)); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(outside, []byte("secret: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	values := filepath.Join(dir, "components/gpu-operator/values.yaml")
	if err := errors.Join(os.Remove(values), os.Symlink(outside, values)); err != nil {
		testskip.Missing(t, "no symbolic links here: %v", err)
	}
	_, err := Open(os.DirFS(dir), dir)
	if err == nil || !strings.Contains(err.Error(), values+" is a symbolic link") {
		t.Errorf("got %v", err)
	}
}

func TestOpenNoDirectory(t *testing.T) {
	_, err := Open(os.DirFS(filepath.Join(t.TempDir(), "none")), "none")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want one that says that it does not exist", err)
	}
}

func TestOpen_MissingFile(t *testing.T) {
	_, err := Open(minimal(t, "testdata/invalid-missing-files"), "recipes")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestOverlayKinds(t *testing.T) {
	s := full(t)
	for name, want := range map[string]struct{ testable, generic bool }{
		"base": {}, "observed": {}, "h100-any": {}, "gke-dynamo": {},
		"eks": {true, true}, "eks-training": {true, true}, "h100-eks-training": {true, false},
	} {
		o, ok := s.Overlay(name)
		if !ok {
			t.Errorf("no %s", name)
			continue
		}
		if o.Testable() != want.testable || o.Generic() != want.generic {
			t.Errorf("%s: testable %v, generic %v; want %v", name, o.Testable(), o.Generic(), want)
		}
	}
	if _, ok := s.Overlay("none"); ok {
		t.Error("there is an overlay none")
	}
	if o, _ := s.Overlay("gke"); o.Origin.String() != "recipes/overlays/sub/gke.yaml:4" {
		t.Errorf("gke is at %s", o.Origin)
	}
}
