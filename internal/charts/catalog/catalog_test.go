package catalog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

func chartYAML(name, version string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("{apiVersion: v2, name: " + name + ", version: " + version + "}")}
}

func packed(t *testing.T, name, version string) *fstest.MapFile {
	t.Helper()
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: version}}
	ch.AddDependency(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "sub", Version: "9.9.9"}})
	file, err := chartutil.Save(ch, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tgz, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: tgz}
}

func TestChartSource(t *testing.T) {
	src := FromFS(fstest.MapFS{
		"a/Chart.yaml":             chartYAML("a", "1.2.3"),
		"a/templates/_helpers.tpl": {Data: []byte("{{- define \"x\" }}{{ end }}")},
		"a/templates/x.yaml~":      {Data: []byte("backup")},
		"a/.helmignore":            {Data: []byte("*~\n")},
		"a/.git/config":            {Data: []byte("")},
		"a-v/Chart.yaml":           chartYAML("a", "v2.0.0"),
		"b-1.tgz":                  packed(t, "b", "1.0.0"),
		"b-2.tgz":                  packed(t, "b", "v1.0.0"),
		"c.tgz":                    packed(t, "c", "1.10.0"),
		"c-old.tgz":                packed(t, "c", "1.9.0"),
		"docs/README.md":           {Data: []byte("not a chart")},
		"README.md":                {Data: []byte("not a chart")},
		"broken-1.0.0.tgz":         {Data: []byte("not an archive")},
		"nameless/Chart.yaml":      {Data: []byte("{apiVersion: v2}")},
		"bad-tpl/Chart.yaml":       chartYAML("bad", "1.0.0"),
		"bad-tpl/values.yaml":      {Data: []byte("a: [")},
	}, "test")
	for _, test := range []struct{ name, version, want string }{
		{"a", "1.2.3", "1.2.3"},
		{"a", "v1.2.3", "1.2.3"},
		{"a", "2.0.0", "v2.0.0"},
		{"b", "1.0.0", "1.0.0"}, // exact before the leading v
		{"b", "v1.0.0", "v1.0.0"},
		{"c", "", "1.10.0"}, // the newest, as versions go, not as text does
	} {
		ch, _, err := src.Load(context.Background(), Ref{Name: test.name, Version: test.version})
		if err != nil {
			t.Errorf("%s %s: %v", test.name, test.version, err)
		} else if ch.Metadata.Name != test.name || ch.Metadata.Version != test.want {
			t.Errorf("%s %s: got %s %s", test.name, test.version, ch.Metadata.Name, ch.Metadata.Version)
		}
	}
	a, _, err := src.Load(context.Background(), Ref{Name: "a", Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Templates) != 1 || a.Templates[0].Name != "templates/_helpers.tpl" || len(a.Files) != 1 {
		t.Errorf("chart a has templates %v and files %v", a.Templates, a.Files)
	}
	for _, test := range []struct {
		name, version string
		want          []string
	}{
		{"a", "3.0.0", []string{"chart a 3.0.0 is not in chart source test, which has a 1.2.3, a v2.0.0", "broken-1.0.0.tgz is not a readable chart", "nameless"}},
		{"zzz", "1.0.0", []string{"which has a 1.2.3, a v2.0.0, b 1.0.0"}},
	} {
		_, _, err := src.Load(context.Background(), Ref{Name: test.name, Version: test.version})
		var notFound *NotFoundError
		if !errors.As(err, &notFound) {
			t.Errorf("%s: got %v, want a ChartNotFoundError", test.name, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	}
	if _, _, err := src.Load(context.Background(), Ref{Name: "bad", Version: "1.0.0"}); err == nil || !strings.Contains(err.Error(), "bad-tpl") {
		t.Errorf("a chart that does not load: got %v, want its directory named", err)
	}
}

// A file of a gigabyte takes no room on the disk, and would take all of the memory.
func TestChart_TooLarge(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"b.tgz", "c/Chart.yaml", "d/values.yaml"} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<30)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "d", "Chart.yaml"), []byte("apiVersion: v2\nname: d\nversion: 1.0.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := FromDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for chart, want := range map[string]string{
		"b": "b.tgz is not a readable chart: b.tgz is larger than 100 MiB", "c": "c is not a readable chart: c/Chart.yaml is larger than 5 MiB", "d": "d/values.yaml is larger than 5 MiB",
	} {
		if _, _, err := src.Load(context.Background(), Ref{Name: chart, Version: "1.0.0"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", chart, err, want)
		}
	}
}

// A link in a directory of charts must not add a file of the machine to a chart, since a template
// could print it.
func TestLinks_OutsideDirectory(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write := func(text string, path ...string) {
		t.Helper()
		file := filepath.Join(path...)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to string, path ...string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(path...)); err != nil {
			t.Fatal(err)
		}
	}
	meta := func(name string) string { return "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n" }
	write("a secret of the runner", outside, "secret")
	write(meta("elsewhere"), outside, "elsewhere", "Chart.yaml")
	for _, name := range []string{"file", "relative", "directory", "inside", "device"} {
		write(meta(name), dir, name, "Chart.yaml")
	}
	link(filepath.Join(outside, "secret"), dir, "file", "secret")
	up, err := filepath.Rel(filepath.Join(dir, "relative"), filepath.Join(outside, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	link(up, dir, "relative", "secret")
	link(outside, dir, "directory", "files")
	link("../file/Chart.yaml", dir, "inside", "copy.yaml")
	link("/dev/zero", dir, "device", "values.yaml")
	link(filepath.Join(outside, "elsewhere"), dir, "elsewhere")
	link("inside", dir, "same")
	src, err := FromDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for chart, want := range map[string]string{
		"file": "file/secret is a symbolic link that leads nowhere, or out of", "relative": "relative/secret is a symbolic link", "directory": "directory/files is a symbolic link",
		"device": "device/values.yaml is a symbolic link", "elsewhere": "elsewhere is a symbolic link",
	} {
		if ch, _, err := src.Load(context.Background(), Ref{Name: chart, Version: "1.0.0"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want %q", chart, ch, err, want)
		}
	}
	if ch, _, err := src.Load(context.Background(), Ref{Name: "inside", Version: "1.0.0"}); err != nil || len(ch.Files) != 1 || string(ch.Files[0].Data) != meta("file") {
		t.Errorf("a link that stays inside: got %v", err)
	}
}

// A chart's name becomes part of addresses and of paths.
func TestChartName_IsPath(t *testing.T) {
	for _, name := range []string{"..", "../../x", "/etc", "a/b", "a\\b", "a..b", ".", "-x", "x\n::error::y", strings.Repeat("x", 200)} {
		meta, err := yaml.Marshal(map[string]string{"apiVersion": "v2", "name": name, "version": "1.0.0"})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = FromFS(fstest.MapFS{"c/Chart.yaml": {Data: meta}}, "test").Load(context.Background(), Ref{Name: name, Version: "1.0.0"})
		if err == nil || !strings.Contains(err.Error(), "cannot be the name of a chart") {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

func TestFromDir(t *testing.T) {
	dir := t.TempDir()
	if _, err := FromDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := FromDir(file); err == nil {
		t.Error("a file was taken for a directory")
	}
	src, err := FromDir(dir)
	if err != nil || src.Name() != "dir:"+dir {
		t.Errorf("got %v, %v", src, err)
	}
	if _, _, err := src.Load(context.Background(), Ref{Name: "x", Version: "1"}); err == nil || !strings.Contains(err.Error(), "which has no charts") {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentLoads(t *testing.T) {
	src := FromFS(os.DirFS("../../bundle/testdata/charts"), "test")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for _, name := range []string{"web", "gpu", "monitor"} {
				if _, _, err := src.Load(context.Background(), Ref{Name: name, Version: ""}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
