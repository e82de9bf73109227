package bundle

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
)

// applicationSetFile are the ApplicationSet and the AppProject of a bundle, as Argo CD reads them.
type applicationSetFile struct {
	Spec struct {
		Generators []struct {
			Matrix struct {
				Generators []struct {
					List     *struct{ Elements []map[string]string }
					Clusters *struct {
						Selector struct{ MatchLabels map[string]string }
					}
				}
			}
		}
		Strategy struct {
			RollingSync struct {
				Steps []struct {
					MatchExpressions []struct {
						Key    string
						Values []string
					}
				}
			}
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct{ Project string }
		}
	}
}

func readYAML[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func wantLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The list is the first generator, because the matrix generator renders templates in the second
// one. So values that look like templates are not rendered.
func TestAppSet(t *testing.T) {
	in := goldenInput(ArgoCDAppSet)
	in.Components[3].ComponentRef.DependencyRefs = nil // tuning waits for nothing: it is in the first wave, though last in the order
	b := mustBundle(t, argoAppSet{}, in)
	set := readYAML[applicationSetFile](t, content(t, b, argoapi.AppSetFile))
	inner := set.Spec.Generators[0].Matrix.Generators
	if len(inner) != 2 || inner[0].List == nil || inner[1].Clusters == nil || inner[1].Clusters.Selector.MatchLabels[argoapi.ClusterLabel] != argoapi.ClusterValue {
		t.Fatalf("generators: got %+v, want the list first, then clusters by label", inner)
	}
	var got []string
	for _, e := range inner[0].List.Elements {
		got = append(got, strings.Join([]string{e["wave"], e["component"], e["namespace"], e["repoURL"], e["targetRevision"], "chart " + e["chart"], "path " + e["path"]}, " "))
		keys := make([]string, 0, len(e))
		for k := range e {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if want := "chart component helmValues namespace path repoURL targetRevision wave"; strings.Join(keys, " ") != want {
			t.Errorf("%s has the keys %s; the template asks for %s", e["component"], keys, want)
		}
	}
	wantLines(t, "elements", got, []string{
		"1 web web-system https://charts.example.com/stable v1.4.0 chart web path ",
		"2 monitor monitoring oci://registry.example.com/charts/monitor 82.8.0 chart  path .",
		"3 gpu gpu https://charts.example.com/nvidia v25.10.1 chart gpu path ",
		"4 gpu-post gpu oci://registry.example.com/aicr/demo 1a2b3c4-argocd-appset chart  path gpu-post/chart",
		"1 tuning tuning oci://registry.example.com/aicr/demo 1a2b3c4-argocd-appset chart  path tuning/chart",
	})
	for _, part := range []string{"removed: null", "{{ .Release.Name }}", "big: 12345678"} {
		if values := inner[0].List.Elements[0]["helmValues"]; !strings.Contains(values, part) {
			t.Errorf("the values have no %q:\n%s", part, values)
		}
	}
	if steps := set.Spec.Strategy.RollingSync.Steps; len(steps) != 4 || steps[3].MatchExpressions[0].Values[0] != "4" || steps[3].MatchExpressions[0].Key != argoapi.WaveLabel {
		t.Errorf("steps: got %+v, want one for each of 4 waves", steps)
	}
	if set.Spec.Template.Metadata.Labels[argoapi.WaveLabel] != "{{ .wave }}" || set.Spec.Template.Spec.Project != argoapi.AppSetName {
		t.Errorf("template: got %+v", set.Spec.Template)
	}
}

// The project permits what is delivered. For an input that names a project the bundle includes
// none, and its Applications belong to the named one.
func TestAppSetProject(t *testing.T) {
	type project struct {
		Spec struct {
			SourceRepos              []string
			Destinations             []struct{ Namespace string }
			ClusterResourceWhitelist []struct{ Group, Kind string }
		}
	}
	in := fixture()
	of := func(in Input) (namespaces, kinds []string) {
		p := readYAML[project](t, content(t, mustBundle(t, argoAppSet{}, in), argoapi.ProjectFile))
		for _, d := range p.Spec.Destinations {
			namespaces = append(namespaces, d.Namespace)
		}
		for _, k := range p.Spec.ClusterResourceWhitelist {
			kinds = append(kinds, k.Kind+"."+k.Group)
		}
		if len(p.Spec.SourceRepos) != 4 || slices.Contains(p.Spec.SourceRepos, "*") {
			t.Errorf("sources: got %q", p.Spec.SourceRepos)
		}
		return namespaces, kinds
	}
	namespaces, kinds := of(in)
	// Prometheus has no definition among the charts, so that its scope is not known.
	wantLines(t, "namespaces", namespaces, []string{"elsewhere", "gpu", "monitoring", "tuning", "web-system"})
	wantLines(t, "kinds", kinds, []string{"Namespace.", "CustomResourceDefinition.apiextensions.k8s.io", "Widget.example.com", "Prometheus.monitoring.coreos.com", "ClusterRole.rbac.authorization.k8s.io"})
	blind := in
	blind.Charts, blind.Unrendered = nil, true
	namespaces, kinds = of(blind)
	wantLines(t, "namespaces without charts", namespaces, []string{"*"})
	wantLines(t, "kinds without charts", kinds, []string{"*.*"})
	in.Project = "gpu-team"
	b := mustBundle(t, argoAppSet{}, in)
	if slices.ContainsFunc(b.Files, func(f File) bool { return f.Path == argoapi.ProjectFile }) {
		t.Error("a bundle for a project that exists brings one of its own")
	}
	if set := readYAML[applicationSetFile](t, content(t, b, argoapi.AppSetFile)); set.Spec.Template.Spec.Project != "gpu-team" {
		t.Errorf("got the project %q", set.Spec.Template.Spec.Project)
	}
}
