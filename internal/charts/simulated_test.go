package charts

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
)

func simulated(anyVersion bool) *Simulated {
	name := "simulated"
	if anyVersion {
		name = AnyVersionName
	}
	return &Simulated{AnyVersion: anyVersion, Source: catalog.FromFS(fstest.MapFS{
		"web/Chart.yaml":            {Data: []byte("apiVersion: v2\nname: web\nversion: 2.0.0\nannotations:\n  aicr.nvidia.com/also-versions: 1.8.0, v1.9.0\n")},
		"web/templates/own.yaml":    {Data: []byte("version: {{ .Chart.Version }}\n")},
		"web/charts/sub/Chart.yaml": {Data: []byte("apiVersion: v2\nname: sub\nversion: 0.1.0\n")},
	}, name)}
}

func TestSimulatedVersions(t *testing.T) {
	for _, test := range []struct {
		version, strict, any string // where the chart comes from, "" for not found
	}{
		{"", "simulated", "simulated-any-version"},
		{"2.0.0", "simulated", "simulated-any-version"},
		{"v2.0.0", "simulated", "simulated-any-version"},
		{"1.8.0", "simulated", "simulated-any-version"},
		{"v1.8.0", "simulated", "simulated-any-version"},
		{"1.9.0", "simulated", "simulated-any-version"},
		{"1.8.1", "", "simulated-any-version (2.0.0 in place of 1.8.1)"},
		{"3.0.0-rc.1", "", "simulated-any-version (2.0.0 in place of 3.0.0-rc.1)"},
		{"^1.0.0", "", ""},
		{"latest", "", ""},
	} {
		for anyVersion, want := range map[bool]string{false: test.strict, true: test.any} {
			ch, from, err := simulated(anyVersion).Load(context.Background(), catalog.Ref{Name: "web", Version: test.version})
			var missing *catalog.NotFoundError
			if want == "" {
				if !errors.As(err, &missing) || !strings.Contains(err.Error(), "web 2.0.0") {
					t.Errorf("%q, any version %v: got %v, want that it is not found, and what is there", test.version, anyVersion, err)
				}
				if offered := strings.Contains(err.Error(), "pass --charts "+AnyVersionName); offered != (!anyVersion && test.any != "") {
					t.Errorf("%q, any version %v: %v", test.version, anyVersion, err)
				}
				continue
			}
			if err != nil || from != want {
				t.Errorf("%q, any version %v: from %q, %v; want %q", test.version, anyVersion, from, err, want)
				continue
			}
			wanted := strings.TrimPrefix(test.version, "v")
			if wanted == "" {
				wanted = "2.0.0"
			}
			if strings.TrimPrefix(ch.Metadata.Version, "v") != wanted || len(ch.Dependencies()) != 1 || len(ch.Templates) != 1 {
				t.Errorf("%q: version %s, %d dependencies, %d templates", test.version, ch.Metadata.Version, len(ch.Dependencies()), len(ch.Templates))
			}
		}
	}
	if _, _, err := simulated(true).Load(context.Background(), catalog.Ref{Name: "other", Version: "1.0.0"}); err == nil {
		t.Error("a chart that does not exist was found")
	}
}

// Packing a chart copies its files, so Chart.yaml must have the version too. Two versions are two
// charts.
func TestSimulatedVersion_InFiles(t *testing.T) {
	s := simulated(true)
	load := func(version string) *chart.Chart {
		ch, _, err := s.Load(context.Background(), catalog.Ref{Name: "web", Version: version, Repository: "https://charts.example.com/" + version})
		if err != nil {
			t.Fatal(err)
		}
		again, _, _ := s.Load(context.Background(), catalog.Ref{Name: "web", Version: version})
		if again != ch {
			t.Errorf("%s: made twice", version)
		}
		for _, f := range ch.Raw {
			if f.Name == "Chart.yaml" && !strings.Contains(string(f.Data), "version: "+version) {
				t.Errorf("Chart.yaml of %s: %s", version, f.Data)
			}
		}
		return ch
	}
	if a, b := load("4.0.0"), load("5.0.0"); archive.Same(a, b) {
		t.Error("two versions have the same files")
	}
}
