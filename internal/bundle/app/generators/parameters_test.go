package generators

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Generators make what Argo CD's make, from files, and refuse what Argo CD refuses.
func TestParameters(t *testing.T) {
	t.Parallel()
	files := map[string]string{"envs/dev.yaml": "env: dev\napps: [{name: one}, {name: two}]\n", "envs/prod.yaml": "[{env: prod, apps: [{name: one}]}]", "svc/a/x": "", "svc/b/x": ""}
	for name, tc := range map[string]struct {
		generator string
		goes      bool
		want, err string
	}{
		"merge":                 {"merge: {mergeKeys: [env], generators: [{list: {elements: [{env: a, n: 1}, {env: b, n: 1}]}}, {list: {elements: [{env: b, n: 2}, {env: c, n: 3}]}}]}", false, `[{"env":"a","n":1},{"env":"b","n":2}]`, ""},
		"merge, an empty value": {"merge: {mergeKeys: [env], generators: [{list: {elements: [{env: a, n: 1}]}}, {list: {elements: [{env: a, n: ''}]}}]}", true, `[{"env":"a","n":1}]`, ""},
		"merge of a matrix": {"merge: {mergeKeys: [path.basename, env], generators: [{matrix: {generators: [{git: {directories: [{path: svc/*}]}}, {list: {elements: [{env: d}]}}]}}, {list: {elements: [{path.basename: b, env: d, n: 2}]}}]}", false,
			`[{"env":"d","path":{"basename":"a","basenameNormalized":"a","path":"svc/a","segments":["svc","a"]}},{"env":"d","n":2,"path":{"basename":"b","basenameNormalized":"b","path":"svc/b","segments":["svc","b"]},"path.basename":"b"}]`, ""},
		"merge, no key":           {"merge: {mergeKeys: [path.basename], generators: [{git: {directories: [{path: svc/*}]}}, {list: {elements: [{n: 2}]}}]}", true, "", "the same values under path.basename"},
		"a selector":              {"{list: {elements: [{env: a}, {env: b}]}, selector: {matchExpressions: [{key: env, operator: NotIn, values: [a]}]}}", false, `[{"env":"b"}]`, ""},
		"parameters of the other": {"matrix: {generators: [{list: {elements: [{dir: svc}]}}, {git: {directories: [{path: '{{dir}}/a'}]}}]}", false, `[{"dir":"svc","path":{"basename":"a","basenameNormalized":"a","path":"svc/a","segments":["svc","a"]}}]`, ""},
		"elements of the other":   {"matrix: {generators: [{git: {files: [{path: envs/dev.yaml}], pathParamPrefix: at}}, {list: {elementsYaml: '{{apps}}'}}]}", true, `[{"apps":[{"name":"one"},{"name":"two"}],"at":{"path":{"basename":"envs","basenameNormalized":"envs","filename":"dev.yaml","filenameNormalized":"dev.yaml","path":"envs","segments":["envs"]}},"env":"dev","name":"one"},{"apps":[{"name":"one"},{"name":"two"}],"at":{"path":{"basename":"envs","basenameNormalized":"envs","filename":"dev.yaml","filenameNormalized":"dev.yaml","path":"envs","segments":["envs"]}},"env":"dev","name":"two"}]`, ""},
		"values":                  {"list: {elements: [{env: a}], values: {x: '{{env}}-1'}}", false, `[{"env":"a","values":{"x":"a-1"}}]`, ""},
		"a pull request":          {"pullRequest: {github: {}}", false, "", "pullRequest depends on more than this repository"},
		"another repository":      {"git: {repoURL: other, directories: []}", false, "", "not own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var doc yamlv3.Node
			if err := yamlv3.Unmarshal([]byte(tc.generator), &doc); err != nil {
				t.Fatal(err)
			}
			s := Source{
				Own: func(a string) bool { return a == "" }, NotOwn: func(string) string { return "not own" }, Goes: tc.goes,
				Files: func() ([]string, error) {
					return []string{"envs/dev.yaml", "envs/prod.yaml", "svc/a/x", "svc/b/x"}, nil
				},
				Read: func(name string) ([]byte, error) { return []byte(files[name]), nil },
				Evaluate: func(texts []string, params map[string]any) ([]string, error) {
					text, err := json.Marshal(params[strings.Trim(texts[0], "{}")])
					return []string{string(text)}, err
				},
			}
			got, err := s.Parameters(doc.Content[0])
			text, _ := json.Marshal(got)
			if tc.err == "" && (err != nil || string(text) != tc.want) || tc.err != "" && !strings.Contains(fmt.Sprint(err), tc.err) {
				t.Errorf("got %s, %v; want %s %s", text, err, tc.want, tc.err)
			}
		})
	}
}
