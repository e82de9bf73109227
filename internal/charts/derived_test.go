package charts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
)

func derivedSource(t *testing.T) *Simulated {
	t.Helper()
	fsys := fstest.MapFS{
		"web/Chart.yaml":                 {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: one\ndependencies:\n- {name: crds, version: 0.0.0, condition: crds.enabled}\n")},
		"web/values.yaml":                {Data: []byte("replicas: 1\nimage: {name: web, tag: a}\n")},
		"web/templates/web.yaml":         {Data: []byte("kind: Web\n")},
		"web/templates/old/extra.yaml":   {Data: []byte("kind: Extra\n")},
		"web/charts/crds/Chart.yaml":     {Data: []byte("apiVersion: v2\nname: crds\nversion: 0.0.0\n")},
		"web/charts/crds/crds/webs.yaml": {Data: []byte("kind: CustomResourceDefinition\n")},
		"more/Chart.yaml":                {Data: []byte("apiVersion: v2\nname: more\nversion: 1.0.0\n")},
		"more/templates/mores.yaml":      {Data: []byte("kind: CustomResourceDefinition\nname: more\n")},
		"more/templates/_common.tpl":     {Data: []byte("{{/* nothing */}}\n")},
		derivedFile: {Data: []byte(`charts:
- {name: web, version: 2.0.0, appVersion: two, from: web, without: [templates/old], values: {image: {tag: b}}}
- {name: site, version: v3.0.0, from: web, crdsOf: more}
- {name: site, version: v3.1.0, from: web}
- {name: web-crds, version: 1.1.0, from: web, only: [charts/crds/crds/], crdsInTemplates: true}
- {name: lost, version: 1.0.0, from: nowhere}
`)},
	}
	derived, err := readDerived(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return &Simulated{Source: catalog.FromFS(fsys, "simulated"), Derived: derived}
}

func TestDerived(t *testing.T) {
	s := derivedSource(t)
	for _, test := range []struct {
		name, version string
		want          string // version and appVersion
		files         []string
	}{
		{"web", "1.0.0", "1.0.0 one", []string{"Chart.yaml", "values.yaml", "templates/web.yaml", "templates/old/extra.yaml", "charts/crds/Chart.yaml", "charts/crds/crds/webs.yaml"}},
		{"web", "v2.0.0", "2.0.0 two", []string{"Chart.yaml", "values.yaml", "templates/web.yaml"}},
		{"web", "", "1.0.0 one", nil},
		{"site", "3.0.0", "v3.0.0 one", []string{"Chart.yaml", "values.yaml", "templates/web.yaml", "templates/old/extra.yaml", "charts/crds/Chart.yaml", "charts/crds/crds/webs.yaml", "crds/mores.yaml"}},
		{"site", "", "v3.1.0 one", nil},
		{"web-crds", "1.1.0", "1.1.0 one", []string{"Chart.yaml", "values.yaml", "templates/webs.yaml"}},
	} {
		ch, _, err := s.Load(t.Context(), catalog.Ref{Name: test.name, Version: test.version})
		if err != nil {
			t.Errorf("%s %s: %v", test.name, test.version, err)
			continue
		}
		if got := ch.Metadata.Version + " " + ch.Metadata.AppVersion; ch.Metadata.Name != test.name || got != test.want {
			t.Errorf("%s %s: got %s %s", test.name, test.version, ch.Metadata.Name, got)
		}
		var files []string
		for _, f := range ch.Raw {
			files = append(files, f.Name)
		}
		slices.Sort(files)
		slices.Sort(test.files)
		if test.files != nil && test.name != "web" && !slices.Equal(files, test.files) {
			t.Errorf("%s %s: files %q, want %q", test.name, test.version, files, test.files)
		}
	}
	ch, _, err := s.Load(t.Context(), catalog.Ref{Name: "web", Version: "2.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	if image := ch.Values["image"].(map[string]any); image["tag"] != "b" || image["name"] != "web" || ch.Values["replicas"] != 1.0 {
		t.Errorf("values %v", ch.Values)
	}
	again, _, _ := s.Load(t.Context(), catalog.Ref{Name: "web", Version: "2.0.0"})
	if again != ch {
		t.Error("it is made more than once")
	}
}

func TestDerived_Missing(t *testing.T) {
	s := derivedSource(t)
	for ref, want := range map[catalog.Ref]string{
		{Name: "lost", Version: "1.0.0"}: "chart lost 1.0.0 is made of nowhere",
		{Name: "site", Version: "4.0.0"}: "it has this chart as it was written for v3.1.0",
	} {
		_, _, err := s.Load(context.Background(), ref)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", ref, err, want)
		}
	}
	_, err := readDerived(fstest.MapFS{derivedFile: {Data: []byte("charts: [{name: a, form: b}]\n")}})
	if err == nil || !strings.Contains(err.Error(), derivedFile) {
		t.Errorf("a field that is not known: %v", err)
	}
}

// Who asks for another version is told all that there are, also those that are made of others.
func TestDerived_Told(t *testing.T) {
	for ref, want := range map[catalog.Ref]string{
		{Name: "web", Version: "9.0.0"}:  "which has web 1.0.0, web 2.0.0:",
		{Name: "site", Version: "9.0.0"}: "which has site v3.0.0, site v3.1.0:",
		{Name: "none", Version: "9.0.0"}: "which has more 1.0.0, web 1.0.0:",
	} {
		if _, _, err := derivedSource(t).Load(t.Context(), ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", ref, err, want)
		}
	}
}

// A directory of charts with a list of derivations has what they make; one without has its charts alone.
func TestFromDir(t *testing.T) {
	shipped := "../../kwok/charts"
	source, err := FromDir(shipped)
	if err != nil {
		t.Fatal(err)
	}
	ref := catalog.Ref{Name: "cert-manager", Version: "v1.20.2"}
	if ch, _, err := source.Load(t.Context(), ref); err != nil || ch.Metadata.Version != ref.Version {
		t.Errorf("a copy of the simulated charts: %v", err)
	}
	if _, simulated := source.(*Simulated); simulated {
		t.Error("what a user's directory lacks would be skipped in a sweep, as what the program lacks")
	}
	alone := t.TempDir()
	if err := os.CopyFS(filepath.Join(alone, "cert-manager"), os.DirFS(filepath.Join(shipped, "cert-manager"))); err != nil {
		t.Fatal(err)
	}
	if source, err = FromDir(alone); err != nil {
		t.Fatal(err)
	}
	var missing *catalog.NotFoundError
	if _, _, err := source.Load(t.Context(), ref); !errors.As(err, &missing) {
		t.Errorf("one chart: %v", err)
	}
	if err := os.WriteFile(filepath.Join(alone, derivedFile), []byte("charts: [{name: a, form: b}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := FromDir(alone); err == nil || !strings.Contains(err.Error(), "form") {
		t.Errorf("a list with a mistake: %v", err)
	}
}
