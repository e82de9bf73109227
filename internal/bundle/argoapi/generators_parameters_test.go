package argoapi

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
)

func TestMain(m *testing.M) { workers.Main(m, texttemplate.Hidden()) }

// files are those of the repository from which testdata/argocd.yaml was made.
var files = map[string]string{
	".hid/x/dev.yaml": "env: hid\n", ".hid/x/z": "z\n", "apps/My_App.v1/k": "k\n", "svc/a/x": "x\n", "svc/b/sub/y": "x\n",
	"envs/dev.yaml":     "env: dev\nnum: 1000000\nreplicas: 3\napps: [{name: one}, {name: two}]\nnested: {a: {b: true}}\n",
	"envs/eu/prod.yaml": "[{env: prod, apps: [{name: one}]}, {env: prod2}]\n",
}

func source(t *testing.T, goes bool, options []string) GeneratorSource {
	r := &texttemplate.Renderer{}
	t.Cleanup(r.Close)
	return GeneratorSource{
		Own: func(a string) bool { return a == "" }, NotOwn: func(string) string { return "not own" }, Elsewhere: func(a string) (string, bool) { return strings.TrimPrefix(a, "in:"), strings.HasPrefix(a, "in:") }, Goes: goes, Cluster: func() {},
		Files: func() ([]string, error) {
			var names []string
			for name := range files {
				names = append(names, name)
			}
			slices.Sort(names)
			return names, nil
		},
		Read: func(name string) ([]byte, error) { return []byte(files[name]), nil },
		Evaluate: func(texts []string, params map[string]any) (all []string, err error) {
			for _, text := range texts {
				value, err := r.Execute(t.Context(), texttemplate.Template{Name: "t", Text: text, ApplicationSet: &texttemplate.ApplicationSet{Options: options}, Most: 1 << 20}, params)
				if err != nil || strings.Contains(value, "<no value>") {
					return nil, fmt.Errorf("%s: %w", text, err)
				}
				all = append(all, value)
			}
			return all, nil
		},
	}
}

// Generators make what Argo CD's own make of the same files.
func TestParameters_ArgoCD(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/argocd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name      string      `yaml:"name"`
		Go        bool        `yaml:"go"`
		Options   []string    `yaml:"options"`
		Generator yamlv3.Node `yaml:"generator"`
		Texts     []string    `yaml:"texts"`
		Error     bool        `yaml:"error"`
		Want      []struct {
			Params map[string]any `yaml:"params"`
			Texts  []*string      `yaml:"texts"`
		} `yaml:"want"`
	}
	if err := yamlv3.Unmarshal(content, &cases); err != nil || len(cases) < 30 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			s := source(t, tc.Go, tc.Options)
			sets, err := s.Parameters(&tc.Generator)
			if (err != nil) != tc.Error || len(sets) != len(tc.Want) {
				t.Fatalf("got %d sets, %v; want %d, an error: %v", len(sets), err, len(tc.Want), tc.Error)
			}
			slices.SortFunc(sets, func(a, b map[string]any) int { return strings.Compare(text(t, a), text(t, b)) })
			for i, want := range tc.Want {
				if got, want := text(t, sets[i]), text(t, want.Params); got != want {
					t.Errorf("set %d: got\n%s, want\n%s", i, got, want)
				}
				for j, template := range tc.Texts {
					made, err := s.FillTexts([]string{template}, sets[i])
					if want := want.Texts[j]; want == nil && err == nil || want != nil && !reflect.DeepEqual(made, []string{*want}) {
						t.Errorf("%s with set %d: got %q, %v", template, i, made, err)
					}
				}
			}
		})
	}
}

func text(t *testing.T, params map[string]any) string {
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What depends on more than the repository and the cluster is refused; a selected cluster has the labels
// that the selector wants.
func TestParameters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		generator string
		goes      bool
		want, err string
	}{
		"a pull request":      {"pullRequest: {github: {}}", false, "", "pullRequest depends on more than this repository"},
		"another repository":  {"git: {repoURL: other, directories: []}", false, "", "not own"},
		"a number":            {"list: {elements: [{env: 1}]}", false, "", "env is no text"},
		"values of no map":    {"list: {elements: [{values: a}]}", false, "", "values is no text"},
		"a parameter twice":   {"matrix: {generators: [{git: {directories: [{path: svc/a}]}}, {git: {directories: [{path: svc/b}]}}]}", false, "", "both generators of a matrix have the parameter"},
		"no elements":         {"list: {}", false, "", "the list has no elements"},
		"an operator of none": {"{list: {elements: [{env: a}]}, selector: {matchExpressions: [{key: a, operator: Like}]}}", false, "", `operator "Like" is none of`},
		"merge, no key":       {"merge: {mergeKeys: [path.basename], generators: [{git: {directories: [{path: svc/*}]}}, {list: {elements: [{env: a}]}}]}", true, "", "the same values under path.basename"},
		"selected clusters":   {"clusters: {selector: {matchLabels: {env: prod}, matchExpressions: [{key: zone, operator: In, values: [a, b]}]}}", false, `[{"metadata.labels.env":"prod","metadata.labels.zone":"a","name":"in-cluster","nameNormalized":"in-cluster","project":"","server":"https://kubernetes.default.svc"}]`, ""},
		"of them, with Go":    {"clusters: {selector: {matchLabels: {env: prod}}}", true, `[{"metadata":{"labels":{"env":"prod"}},"name":"in-cluster","nameNormalized":"in-cluster","project":"","server":"https://kubernetes.default.svc"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var doc yamlv3.Node
			if err := yamlv3.Unmarshal([]byte(tc.generator), &doc); err != nil {
				t.Fatal(err)
			}
			got, err := source(t, tc.goes, nil).Parameters(doc.Content[0])
			text, _ := json.Marshal(got)
			if tc.err == "" && (err != nil || string(text) != tc.want) || tc.err != "" && !strings.Contains(fmt.Sprint(err), tc.err) {
				t.Errorf("got %s, %v; want %s %s", text, err, tc.want, tc.err)
			}
		})
	}
}

// A cluster of which the user has said labels and annotations has these, and is selected by them.
func TestParameters_Cluster(t *testing.T) {
	t.Parallel()
	for generator, want := range map[string]string{
		"clusters: {}": `[{"metadata":{"annotations":{"zone":"west"},"labels":{"env":"dev"}},"name":"in-cluster","nameNormalized":"in-cluster","project":"","server":"https://kubernetes.default.svc"}]`,
		"clusters: {selector: {matchLabels: {env: prod}}}":                                          "null",
		"clusters: {selector: {matchExpressions: [{key: env, operator: In, values: [prod, dev]}]}}": `[{"metadata":{"annotations":{"zone":"west"},"labels":{"env":"dev"}},"name":"in-cluster","nameNormalized":"in-cluster","project":"","server":"https://kubernetes.default.svc"}]`,
		"clusters: {selector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}":            "null",
	} {
		var doc yamlv3.Node
		if err := yamlv3.Unmarshal([]byte(generator), &doc); err != nil {
			t.Fatal(err)
		}
		s := source(t, true, nil)
		s.Labels, s.Annotations = map[string]string{"env": "dev"}, map[string]string{"zone": "west"}
		got, err := s.Parameters(doc.Content[0])
		if text, _ := json.Marshal(got); err != nil || string(text) != want {
			t.Errorf("%s: got %s, %v; want %s", generator, text, err, want)
		}
	}
}

// A template of Go in the values of a chart is no parameter; a misspelt parameter is an error.
func TestFillTexts(t *testing.T) {
	t.Parallel()
	s, params := source(t, false, nil), map[string]any{"env": "dev", "count": 2.0}
	got, err := s.FillTexts([]string{"{{ .Release.Name }}-{{ env }}-{{ include \"a\" . }}"}, params)
	if want := "{{ .Release.Name }}-dev-{{ include \"a\" . }}"; err != nil || got[0] != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for _, text := range []string{"{{ evn }}", "{{count}}", "{{path[9]}}"} {
		if got, err := s.FillTexts([]string{text}, params); err == nil || !strings.Contains(err.Error(), "no generator has the parameter "+text) {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}
