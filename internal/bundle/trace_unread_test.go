package bundle

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
)

//go:embed testdata/objects/unread_template.yaml
var unreadTemplate string

// withChart is a recipe of one component, whose chart has these files; each value that the recipe
// sets is on a line of its own, in the order of paths.
func withChart(metadata, template string, values map[string]any, paths ...string) Input {
	in := fixture()
	origins := map[string]recipe.Origin{}
	for i, path := range paths {
		origins[path] = recipe.Origin{File: "recipes/components/app/values.yaml", Line: i + 1}
	}
	in.Components = []recipe.Component{{
		ComponentRef: recipe.ComponentRef{Name: "app", Namespace: "app", Chart: "app", Source: "https://charts.example.com", Version: "1.0.0"},
		Values:       values, Origins: origins,
	}}
	in.Recipe.DeploymentOrder = []string{"app"}
	in.Charts = catalog.FromFS(fstest.MapFS{
		"app/Chart.yaml":         {Data: []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n" + metadata)},
		"app/values.yaml":        {Data: []byte("operator: {replicas: 1}\nworker: {policy: Always}\nresources: {limits: {cpu: 1}}\nextra: {a: b}\n")},
		"app/templates/app.yaml": {Data: []byte(template)},
	}, "test")
	return in
}

func unreadOf(t *testing.T, in Input) []string {
	t.Helper()
	return slices.DeleteFunc(mustBundle(t, helmDeployer{}, in).Expectation.Warnings, func(w string) bool { return !strings.Contains(w, "has no value") })
}

// Each misspelt key is one warning with its places, and what any template reads is none.
func TestUnreadValues(t *testing.T) {
	in := withChart("", unreadTemplate, map[string]any{
		"opreator":  map[string]any{"replicas": 3, "image": "x"},
		"operator":  map[string]any{"replicas": 2, "replcas": 4},
		"worker":    map[string]any{"polciy": "Never"},
		"resources": map[string]any{"requests": map[string]any{"cpu": "1"}},
		"extra":     map[string]any{"zone": "a"},
		"flag":      true,
		"mine":      1,
	}, "opreator.replicas", "opreator.image", "operator.replicas", "operator.replcas", "worker.polciy", "resources.requests.cpu", "extra.zone")
	in.Components[0].Origins["flag"] = recipe.Origin{File: "--set app:flag=true"}
	// What has no place was put in by the harness.
	want := []string{
		"app: chart app 1.0.0 has no value flag, set at --set app:flag=true; nothing reads it",
		`app: chart app 1.0.0 has no value operator.replcas, set at recipes/components/app/values.yaml:4; nothing reads it: did you mean "operator.replicas"?`,
		`app: chart app 1.0.0 has no value opreator (2 values), set at recipes/components/app/values.yaml:2, recipes/components/app/values.yaml:1; nothing reads it: did you mean "operator"?`,
		`app: chart app 1.0.0 has no value worker.polciy, set at recipes/components/app/values.yaml:5; nothing reads it: did you mean "worker.policy"?`,
	}
	if got := unreadOf(t, in); !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, d := range Deployers() { // the plan is shared
		if b := mustBundle(t, d, in); !slices.ContainsFunc(b.Expectation.Warnings, func(w string) bool { return w == want[1] }) || len(b.Expectation.NotVerified) > 0 {
			t.Errorf("%s: warnings %q, not verified %q", d.Name(), b.Expectation.Warnings, b.Expectation.NotVerified)
		}
	}
}

// A value that changes what is rendered is read, however the template gets at it.
func TestUnreadValues_Rendered(t *testing.T) {
	hidden := unreadTemplate + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: {{ index .Values (printf \"%s%s\" \"hid\" \"den\") | quote }}\n"
	values := map[string]any{"hidden": "x", "one": 1, "two": 2, "three": 3}
	got := unreadOf(t, withChart("", hidden, values, "hidden", "one", "two", "three"))
	if len(got) != 3 || slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "hidden") }) {
		t.Errorf("got %q", got)
	}
	// One that makes something else each time shows nothing; then the text of the templates tells.
	random := unreadTemplate + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: {{ randAlphaNum 20 | quote }}}\n"
	got = unreadOf(t, withChart("", random, map[string]any{"one": 1, "worker": map[string]any{"polciy": "x"}, "operator": map[string]any{"replcas": 1}}, "one", "worker.polciy", "operator.replcas"))
	if len(got) != 2 || !strings.Contains(got[0], "one") || !strings.Contains(got[1], "operator.replcas") {
		t.Errorf("random: got %q", got)
	}
}

// A key with dots is one name to Helm, and not the path that it looks like.
func TestUnreadValues_Dotted(t *testing.T) {
	want := []string{"app: chart app 1.0.0 has no value operator.replicas, set at recipes/components/app/values.yaml:1; nothing reads it: Helm takes a key with dots as one name; write it nested"}
	if got := unreadOf(t, withChart("", unreadTemplate, map[string]any{"operator.replicas": 2}, "operator.replicas")); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Of a simulated chart it is not known, and said once, unless the name is misspelt.
func TestUnreadValues_Simulated(t *testing.T) {
	in := withChart("annotations: {aicr.nvidia.com/simulated: \"true\"}\n", unreadTemplate, map[string]any{
		"opreator": 1, "operators": 1, "operand": 1, "operator.replicas": 3, "worker": map[string]any{"polciy": "x", "polic": "x"}, "extra": map[string]any{"c": "d"}, "policy": 1,
	}, "opreator", "operators", "operand", "operator.replicas", "worker.polciy", "worker.polic", "extra.c", "policy")
	want := []string{
		`app: the simulated chart app 1.0.0 has no value operator.replicas, set at recipes/components/app/values.yaml:4; nothing reads it: Helm takes a key with dots as one name; write it nested`,
		`app: the simulated chart app 1.0.0 has no value operators, set at recipes/components/app/values.yaml:2; nothing reads it: did you mean "operator"?`,
		`app: the simulated chart app 1.0.0 has no value opreator, set at recipes/components/app/values.yaml:1; nothing reads it: did you mean "operator"?`,
		`app: the simulated chart app 1.0.0 has no value worker.polic, set at recipes/components/app/values.yaml:6; nothing reads it: did you mean "worker.policy"?`,
	}
	if got := unreadOf(t, in); !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	in = withChart("annotations: {aicr.nvidia.com/simulated: \"true\"}\n", unreadTemplate, map[string]any{"operand": 1}, "operand")
	for _, set := range []bool{true, false} {
		if !set {
			in.Components[0].Values, in.Components[0].Origins = nil, nil
		}
		if got := mustBundle(t, helmDeployer{}, in).Expectation.NotVerified; len(got) == 1 != set {
			t.Errorf("values set: %v; not verified: %q", set, got)
		}
	}
}
