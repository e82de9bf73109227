package bundle

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

var update = flag.Bool("update", false, "write the golden bundles anew")

// goldenInput has a fixed tag, so that only what changed shows in a golden bundle's diff.
func goldenInput(deployer string) Input {
	in := fixture()
	in.TargetRevision = Tag(deployer, "1a2b3c4")
	if deployer == FluxOCI || deployer == Helm || deployer == ArgoCDGit || deployer == FluxGit { // the others show the components' own repositories
		in.ChartRepository, in.PlainHTTP = "oci://127.0.0.1:5500/charts", true
	}
	return in
}

func TestGolden(t *testing.T) {
	for _, d := range Deployers() {
		if d.Name() == Helm4 {
			continue // its bundle is helm's, but for a flag: TestDeployScript_ForceConflicts
		}
		t.Run(d.Name(), func(t *testing.T) {
			b := mustBundle(t, d, goldenInput(d.Name()))
			dir := filepath.Join("testdata", "golden", d.Name())
			if *update {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				if err := b.WriteTo(dir, false); err != nil {
					t.Fatal(err)
				}
			}
			want := map[string][]byte{}
			err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				rel, _ := filepath.Rel(dir, path)
				want[filepath.ToSlash(rel)] = data
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range b.Files {
				golden, ok := want[f.Path]
				if !ok {
					t.Errorf("%s is new", f.Path)
				} else if !bytes.Equal(golden, f.Content) {
					t.Errorf("%s differs from the golden file:\n%s", f.Path, f.Content)
				}
				delete(want, f.Path)
			}
			for path := range want {
				t.Errorf("%s is missing", path)
			}
			if t.Failed() {
				t.Log("go test ./internal/bundle -run TestGolden -update writes the golden files anew")
			}
		})
	}
}

func TestSameInputSameBytes(t *testing.T) {
	for _, d := range Deployers() {
		first := mustBundle(t, d, fixture())
		for range 5 {
			next := mustBundle(t, d, fixture())
			if len(next.Files) != len(first.Files) {
				t.Fatalf("%s: %d files, then %d", d.Name(), len(first.Files), len(next.Files))
			}
			for i, f := range next.Files {
				if f.Path != first.Files[i].Path || !bytes.Equal(f.Content, first.Files[i].Content) {
					t.Fatalf("%s: %s is different the second time", d.Name(), f.Path)
				}
			}
		}
	}
}

// Every file that is YAML parses, and no file of a bundle names a placeholder.
func TestFiles_ValidYAML(t *testing.T) {
	for _, d := range Deployers() {
		for _, f := range mustBundle(t, d, fixture()).Files {
			if strings.Contains(f.Path, "templates/") {
				continue // templates are not YAML yet
			}
			if strings.HasSuffix(f.Path, ".yaml") {
				for _, doc := range strings.Split(string(f.Content), "\n---\n") {
					var v any
					if err := yaml.UnmarshalStrict([]byte(doc), &v); err != nil {
						t.Errorf("%s: %s: %v", d.Name(), f.Path, err)
					}
				}
			}
			for _, bad := range []string{"<YOUR", "TODO", "@repoURL@", "@values@", "@targetRevision@"} {
				if strings.Contains(string(f.Content), bad) {
					t.Errorf("%s: %s has %s", d.Name(), f.Path, bad)
				}
			}
		}
	}
}

func TestChecksums(t *testing.T) {
	for _, d := range Deployers() {
		b := mustBundle(t, d, fixture())
		if lines := strings.Count(content(t, b, "checksums.txt"), "\n"); lines != len(b.Files)-1 {
			t.Errorf("%s: %d checksums for %d other files", d.Name(), lines, len(b.Files)-1)
		}
		dir := filepath.Join(t.TempDir(), "bundle")
		if err := b.WriteTo(dir, false); err != nil {
			t.Fatal(err)
		}
		verify := func() error {
			cmd := exec.Command("sha256sum", "--check", "--strict", "--quiet", "checksums.txt")
			cmd.Dir = dir
			return cmd.Run()
		}
		if _, err := exec.LookPath("sha256sum"); err != nil {
			testskip.Missing(t, "no sha256sum here")
		}
		if err := verify(); err != nil {
			t.Errorf("%s: sha256sum -c: %v", d.Name(), err)
		}
		if err := os.WriteFile(filepath.Join(dir, "recipe.yaml"), []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := verify(); err == nil {
			t.Errorf("%s: a changed file goes unnoticed", d.Name())
		}
	}
}
