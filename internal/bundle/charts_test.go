package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/chartfile"
	"github.com/nvidia/aicr-action/internal/recipe"
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
		ch, _, err := src.Load(context.Background(), ChartRef{Name: test.name, Version: test.version})
		if err != nil {
			t.Errorf("%s %s: %v", test.name, test.version, err)
		} else if ch.Metadata.Name != test.name || ch.Metadata.Version != test.want {
			t.Errorf("%s %s: got %s %s", test.name, test.version, ch.Metadata.Name, ch.Metadata.Version)
		}
	}
	a, _, err := src.Load(context.Background(), ChartRef{Name: "a", Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Templates) != 1 || a.Templates[0].Name != "templates/_helpers.tpl" || len(a.Files) != 0 {
		t.Errorf("chart a has templates %v and files %v", a.Templates, a.Files)
	}
	for _, test := range []struct {
		name, version string
		want          []string
	}{
		{"a", "3.0.0", []string{"chart a 3.0.0 is not in chart source test, which has a 1.2.3, a v2.0.0", "broken-1.0.0.tgz is not a readable chart", "nameless"}},
		{"zzz", "1.0.0", []string{"which has a 1.2.3, a v2.0.0, b 1.0.0"}},
	} {
		_, _, err := src.Load(context.Background(), ChartRef{Name: test.name, Version: test.version})
		var notFound *ChartNotFoundError
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
	if _, _, err := src.Load(context.Background(), ChartRef{Name: "bad", Version: "1.0.0"}); err == nil || !strings.Contains(err.Error(), "bad-tpl") {
		t.Errorf("a chart that does not load: got %v, want its directory named", err)
	}
}

type sizedFS struct {
	fstest.MapFS
	size int64
}

type sizedFile struct {
	fs.File
	size int64
}

type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (f sizedFS) Open(name string) (fs.File, error) {
	file, err := f.MapFS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".tgz") {
		return file, err
	}
	return sizedFile{file, f.size}, nil
}

func (f sizedFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return sizedInfo{info, f.size}, err
}

func (i sizedInfo) Size() int64 { return i.size }

func TestLargeChartIsRefused(t *testing.T) {
	src := FromFS(sizedFS{fstest.MapFS{"b.tgz": packed(t, "b", "1.0.0")}, chartfile.Max + 1}, "test")
	if _, _, err := src.Load(context.Background(), ChartRef{Name: "b", Version: "1.0.0"}); err == nil || !strings.Contains(err.Error(), "b.tgz is not a readable chart: 100 MB is more") {
		t.Errorf("got %v", err)
	}
	src = FromFS(sizedFS{fstest.MapFS{"b.tgz": packed(t, "b", "1.0.0")}, chartfile.Max}, "test")
	if _, _, err := src.Load(context.Background(), ChartRef{Name: "b", Version: "1.0.0"}); err != nil {
		t.Errorf("a chart of just the allowed size: %v", err)
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
	if _, _, err := src.Load(context.Background(), ChartRef{Name: "x", Version: "1"}); err == nil || !strings.Contains(err.Error(), "which has no charts") {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentLoads(t *testing.T) {
	src := FromFS(os.DirFS("testdata/charts"), "test")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for _, name := range []string{"web", "gpu", "monitor"} {
				if _, _, err := src.Load(context.Background(), ChartRef{Name: name, Version: ""}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Rendering the same loaded chart twice, or from two places at once, must not change it.
func TestRenderingLeavesTheChartAlone(t *testing.T) {
	in := fixture()
	ch, _, err := in.Charts.Load(context.Background(), ChartRef{Name: "web", Version: "v1.4.0"})
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal([]any{ch, ch.Raw})
	if err != nil {
		t.Fatal(err)
	}
	values := len(ch.Values)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := (helmDeployer{}).Bundle(context.Background(), in); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	after, err := json.Marshal([]any{ch, ch.Raw})
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) || len(ch.Values) != values {
		t.Error("the chart was changed")
	}
}

// Within one source a chart of one name and version is one chart, however often it is there; what an archive may have in it is checked.
func TestOneSourceTwoCharts(t *testing.T) {
	unpacked := func(dir, content string) fstest.MapFS {
		return fstest.MapFS{dir + "/Chart.yaml": chartYAML("a", "1.0.0"), dir + "/templates/cm.yaml": {Data: []byte("# " + content)}}
	}
	join := func(all ...fstest.MapFS) fstest.MapFS {
		fsys := fstest.MapFS{}
		for _, one := range all {
			maps.Copy(fsys, one)
		}
		return fsys
	}
	ref := ChartRef{Name: "a", Version: "1.0.0"}
	if _, _, err := FromFS(join(unpacked("a", "x"), unpacked("copy", "x")), "test").Load(context.Background(), ref); err != nil {
		t.Errorf("the same chart twice: %v", err)
	}
	_, _, err := FromFS(join(unpacked("a", "x"), unpacked("other", "y")), "test").Load(context.Background(), ref)
	if err == nil || !strings.Contains(err.Error(), "chart source test has chart a 1.0.0 twice, with different content: a and other") {
		t.Errorf("two charts: got %v", err)
	}
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	text := "{apiVersion: v2, name: a, version: 1.0.0}"
	for _, h := range []*tar.Header{{Name: "a/Chart.yaml", Typeflag: tar.TypeReg, Size: int64(len(text)), Mode: 0o644}, {Name: "a/values.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}} {
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			_, _ = tw.Write([]byte(text))
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, err = FromFS(fstest.MapFS{"a-1.0.0.tgz": {Data: b.Bytes()}}, "test").Load(context.Background(), ref)
	if err == nil || !strings.Contains(err.Error(), "a-1.0.0.tgz: it has a link") {
		t.Errorf("an archive with a link: got %v", err)
	}
}

// byRepository is a chart source that tells repositories apart.
type byRepository map[string]ChartSource

func (byRepository) Name() string { return "test" }

func (s byRepository) Load(ctx context.Context, ref ChartRef) (*chart.Chart, string, error) {
	ch, _, err := s[ref.Repository].Load(ctx, ref)
	return ch, "the one of " + ref.Repository, err
}

// The cell's registry has one chart of a name and version, so that a recipe with two of them is refused. Where charts come from their own
// repositories there is no such limit.
func TestTwoRepositoriesWithDifferentBytes(t *testing.T) {
	source := func(content string) ChartSource {
		return chartFS("apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}}\nspec: {containers: []} # "+content, "")
	}
	in := fixture()
	in.Charts = byRepository{"https://a.example": source("x"), "https://b.example": source("y")}
	in.Components = nil
	for name, repository := range map[string]string{"one": "https://a.example", "two": "https://b.example"} {
		in.Components = append(in.Components, recipe.Component{ComponentRef: recipe.ComponentRef{Name: name, Namespace: name, Chart: "c", Source: repository, Version: "1.0.0"}})
	}
	in.ChartRepository = "oci://127.0.0.1:5500/charts"
	_, err := helmDeployer{}.Bundle(context.Background(), in)
	if err == nil || !strings.Contains(err.Error(), "is not the one of that name and version that component") || !strings.Contains(err.Error(), "the one of https://a.example") || !strings.Contains(err.Error(), "the one of https://b.example") {
		t.Errorf("got %v", err)
	}
	in.ChartRepository = ""
	b, err := helmDeployer{}.Bundle(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if from := b.Expectation.Releases[0].ChartFrom; !strings.HasPrefix(from, "the one of https://") {
		t.Errorf("the release's chart is from %q", from)
	}
}

// Helm takes disabled dependencies out of the chart that it is given.
func TestRenderingKeepsDisabledDependencies(t *testing.T) {
	pod := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {containers: []}}")}
	}
	in := fixture()
	in.Charts = FromFS(fstest.MapFS{
		"c/Chart.yaml":                  {Data: []byte("{apiVersion: v2, name: c, version: 1.0.0, dependencies: [{name: sub, version: 1.0.0, condition: sub.enabled, alias: other}]}")},
		"c/values.yaml":                 {Data: []byte("sub: {enabled: false}")},
		"c/templates/a.yaml":            pod("main"),
		"c/charts/sub/Chart.yaml":       chartYAML("sub", "1.0.0"),
		"c/charts/sub/templates/a.yaml": pod("sub"),
		"c/charts/sub/crds/a.yaml":      {Data: []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: subs.x.y}\n")},
	}, "test")
	component := recipe.Component{ComponentRef: recipe.ComponentRef{Name: "c", Namespace: "ns", Chart: "c", Source: "https://example.com", Version: "1.0.0"}}
	for _, test := range []struct {
		enabled bool
		objects int
	}{{false, 1}, {true, 3}, {false, 1}} {
		component.Values = map[string]any{"sub": map[string]any{"enabled": test.enabled}}
		in.Components = []recipe.Component{component}
		if got := len(mustBundle(t, helmDeployer{}, in).Expectation.Objects); got != test.objects {
			t.Errorf("sub.enabled=%t: %d objects, want %d", test.enabled, got, test.objects)
		}
	}
}
