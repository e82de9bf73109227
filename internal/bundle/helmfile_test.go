package bundle

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// helmfileFile is what the tests read of a file for helmfile.
type helmfileFile struct {
	Helmfiles    []struct{ Path string }
	Repositories []struct {
		Name, URL      string
		OCI, PlainHTTP bool
	}
	HelmDefaults struct {
		Wait, CreateNamespace, DisableValidation bool
		Timeout                                  int
	}
	Releases []struct {
		Name, Namespace, Chart, Version string
		Values, Needs                   []string
	}
}

func readHelmfile(t *testing.T, b *Bundle, path string) helmfileFile {
	t.Helper()
	var f helmfileFile
	if err := yaml.UnmarshalStrict([]byte(content(t, b, path)), &f); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

// A value that helmfile would replace by a file of the machine is refused, and not delivered as it is
// as in the other lanes.
func TestHelmfile_Reference(t *testing.T) {
	in := fixture()
	in.Components[0].Values["text"] = "ref+file:///etc/passwd"
	if _, err := (helmfileDeployer{}).Bundle(t.Context(), in); err == nil || !strings.Contains(err.Error(), "one of its values has a reference (ref+…://)") {
		t.Errorf("got %v", err)
	}
	mustBundle(t, helmDeployer{}, in)
}

// Levels follow the dependencies, the releases of a level come one after another, and each has the
// chart, the version and the values that the helm bundle installs.
func TestHelmfile(t *testing.T) {
	in := fixture()
	in.ChartRepository, in.PlainHTTP = "oci://127.0.0.1:5500/charts", true
	b := mustBundle(t, helmfileDeployer{}, in)
	level := map[string]int{}
	seen := 0
	for i, child := range readHelmfile(t, b, HelmfileRoot).Helmfiles {
		f := readHelmfile(t, b, child.Path)
		if !f.HelmDefaults.Wait || !f.HelmDefaults.CreateNamespace || !f.HelmDefaults.DisableValidation || f.HelmDefaults.Timeout == 0 {
			t.Errorf("%s: helmDefaults %+v", child.Path, f.HelmDefaults)
		}
		for j, r := range f.Releases {
			level[r.Name] = i
			seen++
			at := slices.IndexFunc(b.Installs, func(in Install) bool { return in.Release.Name == r.Name })
			if at < 0 {
				t.Fatalf("release %s is not in the plan", r.Name)
			}
			want := b.Installs[at].Release
			var needs []string
			if j > 0 {
				needs = []string{f.Releases[j-1].Namespace + "/" + f.Releases[j-1].Name}
			}
			if r.Namespace != want.Namespace || !reflect.DeepEqual(r.Needs, needs) {
				t.Errorf("%s: namespace %s, needs %q; want %s, %q", r.Name, r.Namespace, r.Needs, want.Namespace, needs)
			}
			if want.Local {
				if r.Chart != "./"+r.Name+"/chart" || content(t, b, r.Name+"/chart/Chart.yaml") == "" {
					t.Errorf("%s: chart %s", r.Name, r.Chart)
				}
				continue
			}
			repository := f.Repositories[0]
			if r.Chart != repository.Name+"/"+want.Chart || r.Version != want.ChartVersion || repository.URL != "127.0.0.1:5500/charts" || !repository.OCI || !repository.PlainHTTP {
				t.Errorf("%s: chart %s %s of %+v; want %s %s", r.Name, r.Chart, r.Version, repository, want.Chart, want.ChartVersion)
			}
			if !reflect.DeepEqual(r.Values, []string{"./" + r.Name + "/values.yaml"}) || content(t, b, r.Name+"/values.yaml") == "" {
				t.Errorf("%s: values %q", r.Name, r.Values)
			}
		}
	}
	if seen != len(b.Installs) {
		t.Errorf("%d releases in the levels, %d in the plan", seen, len(b.Installs))
	}
	for _, in := range b.Installs {
		for _, d := range in.Release.DependsOn {
			own := slices.ContainsFunc(b.Installs, func(other Install) bool {
				return other.Release.Name == d && other.Release.Component == in.Release.Component
			})
			if got := level[in.Release.Name] - level[d]; own && got != 0 || !own && got < 1 {
				t.Errorf("%s is %d levels after %s, which it depends on", in.Release.Name, got, d)
			}
		}
	}
}
