package fluxapi

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Of leaves out what source-controller leaves out: by its own list only where nothing else says anything.
func TestOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ ignore, root, inner, want string }{
		"Flux's list":            {"", "", "", "apps/a.yaml apps/values.yaml charts/x.txt"},
		"spec.ignore":            {"/*\n!/apps\n", "", "", "apps/.sops.yaml apps/a.yaml apps/logo.png apps/values.yaml"},
		"a file at the root":     {"", "values.yaml\n# charts\n", "", ".github/ci.yaml .sourceignore apps/.sops.yaml apps/a.yaml apps/logo.png charts/x.txt"},
		"a file in a directory":  {"", "", "*.yaml\n", ".github/ci.yaml apps/.sourceignore apps/logo.png charts/x.txt"},
		"spec.ignore has a last": {"!values.yaml\n", "values.yaml\n", "", ".github/ci.yaml .sourceignore apps/.sops.yaml apps/a.yaml apps/logo.png apps/values.yaml charts/x.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{}
			for _, file := range []string{".git/config", ".github/ci.yaml", "apps/a.yaml", "apps/values.yaml", "apps/logo.png", "apps/.sops.yaml", "charts/x.txt"} {
				tree[file] = &fstest.MapFile{}
			}
			for file, text := range map[string]string{".sourceignore": tc.root, "apps/.sourceignore": tc.inner} {
				if text != "" {
					tree[file] = &fstest.MapFile{Data: []byte(text)}
				}
			}
			fsys, err := ArtifactOf(tree, tc.ignore)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					got = append(got, name)
				}
				return err
			})
			if slices.Sort(got); err != nil || strings.Join(got, " ") != tc.want {
				t.Errorf("got %v, %v; want %s", got, err, tc.want)
			}
			_, err = fs.ReadFile(fsys, "apps/values.yaml")
			if there := strings.Contains(tc.want, "apps/values.yaml"); (err == nil) != there {
				t.Errorf("reading a file that is there (%v): %v", there, err)
			}
		})
	}
}
