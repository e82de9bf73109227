package release

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

func TestCheckVersion(t *testing.T) {
	for _, v := range []string{"v0.1.0", "v1.2.3", "v10.20.30"} {
		if err := CheckVersion(v); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	for _, v := range []string{"", "v", "v1", "v1.2", "1.2.3", "v1.2.3-rc.1", "v1.2.3+x", "v01.2.3", "v1.2.3.4", "v1.2.3\n", "$(touch owned)", "v1.2." + strings.Repeat("3", 20)} {
		if err := CheckVersion(v); err == nil || !strings.Contains(err.Error(), "vX.Y.Z") {
			t.Errorf("%q: got %v", v, err)
		}
	}
}

func TestMajorTag(t *testing.T) {
	for _, test := range []struct {
		version string
		tags    []string
		want    string
	}{
		{"v1.0.0", nil, "v1"},
		{"v1.2.3", []string{"v1", "v1.2.2", "v1.2.3", "v2.0.0", "v1.9.0-rc.1", "other"}, "v1"},
		{"v1.2.10", []string{"v1.2.9"}, "v1"},
		{"v1.2.4", []string{"v1.3.0"}, ""},
		{"v0.2.0", []string{"v1.0.0"}, "v0"},
	} {
		if got := MajorTag(test.version, test.tags); got != test.want {
			t.Errorf("%s among %q: got %q, want %q", test.version, test.tags, got, test.want)
		}
	}
}

// dist is a directory with all files of a release but those that are left out.
func dist(t *testing.T, version string, without ...string) string {
	t.Helper()
	key, err := StackKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range Assets(version, key) {
		if slices.ContainsFunc(without, func(part string) bool { return strings.Contains(name, part) }) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"b": "hello\n", "a": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  b\n"
	for range 2 { // its own file does not count
		if err := Checksums(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, checksumsFile)); err != nil || string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := Checksums(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no files") {
		t.Errorf("of an empty directory: %v", err)
	}
}

// Every module that goes into a program has a licence, of which the text is in the file.
func TestLicenses(t *testing.T) {
	testskip.Short(t, "it lists all packages of the stack")
	dir := t.TempDir()
	if err := Licenses(t.Context(), "../../..", dir); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, licensesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"==== helm.sh/helm/v3 v", "==== k8s.io/kubernetes v", "==== github.com/argoproj/argo-cd/v3 v", "==== github.com/nvidia/aicr-action\n", "==== Go, its standard library", "Apache License"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %q", licensesFile, want)
		}
	}
	if _, err := licensesIn(t.TempDir()); err == nil {
		t.Error("a module without a licence was taken")
	}
	readme := t.TempDir()
	if err := os.WriteFile(filepath.Join(readme, "README.md"), []byte("# A\n\n## License\n[Apache-2.0](http://a)\n\nCopyright me\n\n## More\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := licensesIn(readme); err != nil || !strings.Contains(text, "Copyright me") || strings.Contains(text, "More") {
		t.Errorf("got %q, %v", text, err)
	}
}
