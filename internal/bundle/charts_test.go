package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// Rendering the same loaded chart twice, or from two places at once, must not change it.
func TestRender_ChartUnchanged(t *testing.T) {
	in := fixture()
	ch, _, err := in.Charts.Load(context.Background(), catalog.Ref{Name: "web", Version: "v1.4.0"})
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

// Within one source a chart of one name and version is one chart, however often it is there; what
// an archive may have in it is checked.
func TestCharts_DuplicateInSource(t *testing.T) {
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
	ref := catalog.Ref{Name: "a", Version: "1.0.0"}
	if _, _, err := catalog.FromFS(join(unpacked("a", "x"), unpacked("copy", "x")), "test").Load(context.Background(), ref); err != nil {
		t.Errorf("the same chart twice: %v", err)
	}
	_, _, err := catalog.FromFS(join(unpacked("a", "x"), unpacked("other", "y")), "test").Load(context.Background(), ref)
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
	_, _, err = catalog.FromFS(fstest.MapFS{"a-1.0.0.tgz": {Data: b.Bytes()}}, "test").Load(context.Background(), ref)
	if err == nil || !strings.Contains(err.Error(), "a-1.0.0.tgz: it has a link") {
		t.Errorf("an archive with a link: got %v", err)
	}
}

// byRepository is a chart source that has another chart for each repository.
type byRepository map[string]catalog.Source

func (byRepository) Name() string { return "test" }

func (s byRepository) Load(ctx context.Context, ref catalog.Ref) (*chart.Chart, string, error) {
	ch, _, err := s[ref.Repository].Load(ctx, ref)
	return ch, "the one of " + ref.Repository, err
}

// The cell's registry has one chart of a name and version, so that a recipe with two of them is
// refused. Where charts come from their own repositories there is no such limit.
func TestCharts_SameNameTwoRepositories(t *testing.T) {
	source := func(content string) catalog.Source {
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
func TestRender_DisabledDependencies(t *testing.T) {
	pod := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {containers: []}}")}
	}
	in := fixture()
	in.Charts = catalog.FromFS(fstest.MapFS{
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

func chartYAML(name, version string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("{apiVersion: v2, name: " + name + ", version: " + version + "}")}
}

// Helm leaves out the byte order mark of a file that it reads.
func TestManifests_ByteOrderMark(t *testing.T) {
	in := fixture()
	want := len(mustBundle(t, helmDeployer{}, in).Expectation.Objects)
	for i := range in.Components {
		for j := range in.Components[i].Manifests {
			m := &in.Components[i].Manifests[j]
			m.Content = append([]byte("\ufeff"), m.Content...)
		}
	}
	if got := len(mustBundle(t, helmDeployer{}, in).Expectation.Objects); got != want {
		t.Errorf("got %d objects, want %d", got, want)
	}
}
