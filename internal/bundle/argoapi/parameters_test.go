package argoapi

import (
	"encoding/json"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

func list(t *testing.T, text string) *yamlv3.Node {
	t.Helper()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0]
}

// A parameter is set as `helm --set` sets it, with the commas that Argo CD escapes.
func TestApply(t *testing.T) {
	for text, want := range map[string]string{
		`[{name: a.b, value: "3"}]`:                                         `{"a":{"b":3,"c":1}}`,
		`[{name: a.b, value: "3", forceString: true}]`:                      `{"a":{"b":"3","c":1}}`,
		`[{name: a.b, value: "x,y"}]`:                                       `{"a":{"b":"x,y","c":1}}`,
		`[{name: a.b, value: 'x\,y'}]`:                                      `{"a":{"b":"x,y","c":1}}`,
		`[{name: a.b, value: "{x,y}"}]`:                                     `{"a":{"b":["x","y"],"c":1}}`,
		`[{name: 'a.k\.io/os', value: linux}]`:                              `{"a":{"c":1,"k.io/os":"linux"}}`,
		`[{name: "l[0].n", value: q}]`:                                      `{"a":{"c":1},"l":[{"n":"q"}]}`,
		`[{name: a.c, value: "null"}]`:                                      `{"a":{"c":null}}`,
		`[{name: n, value: "$ARGOCD_APP_NAME-${ARGOCD_APP_NAMESPACE}$$X"}]`: `{"a":{"c":1},"n":"app-ns$X"}`,
		`[{name: n, value: a}, {name: n, value: b}]`:                        `{"a":{"c":1},"n":"b"}`,
	} {
		values := map[string]any{"a": map[string]any{"c": 1}}
		if _, err := ApplyParameters(values, list(t, text), "app", "ns"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got, _ := json.Marshal(values); string(got) != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestApply_Refused(t *testing.T) {
	for text, want := range map[string]string{
		"\n\n- {value: a}":                               "line 3: parameter : it has no name",
		"- {name: a.c.d, value: x}":                      "line 1: parameter a.c.d: unable to parse key: interface conversion",
		"- {name: r, value: $ARGOCD_APP_REVISION}":       "line 1: parameter r: $ARGOCD_APP_REVISION is another one in the cell",
		"{name: a}":                                      "line 1: parameter : want a list",
		"- {name: 'a[999999999]', value: x}":             "line 1: parameter a[999999999]: unable to parse key",
		"- {name: a, value: 1}\n- {name: '[', value: 1}": "line 2: parameter [",
	} {
		_, e := ApplyParameters(map[string]any{"a": map[string]any{"c": 1}}, list(t, text), "app", "ns")
		if e == nil {
			t.Errorf("%s: it was taken, want %s", text, want)
			continue
		}
		if got := "line " + string(rune('0'+e.Line)) + ": " + e.Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// The paths of a name lead to the value and to those around it.
func TestPaths(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "a.b": "a a.b", `a.k\.io/os`: "a a.k.io/os", "a.l[0].b": "a a.l", "l[1]": "l"} {
		if got := strings.Join(paths(name), " "); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
