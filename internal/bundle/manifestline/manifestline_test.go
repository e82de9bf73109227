package manifestline

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/objects/plain.yaml
var plain string

//go:embed testdata/objects/template.yaml
var template string

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		o     Object
		path  string
		line  int
		exact bool
	}{
		"after an action":        {"{{ if .Values.on }}\n" + plain, Object{"ConfigMap", "a"}, "", 4, true},
		"object":                 {plain, Object{"Deployment", "web"}, "", 8, true},
		"first object":           {plain, Object{"ConfigMap", "a"}, "", 3, true},
		"no such object":         {plain, Object{"ConfigMap", "web"}, "x", 0, false},
		"by field alone":         {plain, Object{}, "spec.template.spec", 12, true},
		"second container":       {plain, Object{"Deployment", "web"}, "spec.template.spec.containers.1.image", 17, true},
		"flow":                   {plain, Object{"Deployment", "web"}, "metadata.labels.x/y", 9, true},
		"field that is absent":   {plain, Object{"Deployment", "web"}, "spec.template.spec.nodeSelector", 12, false},
		"template":               {template, Object{"DaemonSet", "b-x"}, "spec.template.spec.nodeSelector", 9, true},
		"template, second":       {template, Object{"DaemonSet", "b-x"}, "spec.template.spec.containers.1.image", 16, true},
		"template, item":         {template, Object{"DaemonSet", "b-x"}, "spec.template.spec.containers.1", 15, true},
		"template, past its end": {template, Object{"DaemonSet", "b-x"}, "spec.template.spec.containers.2.image", 10, false},
		"name is an action":      {"kind: Service\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  ports:\n  - port: 80\n", Object{"Service", "s"}, "spec.ports.0.name", 6, false},
		"name in one line":       {"kind: Service\nmetadata: {name: s, namespace: {{ .Release.Namespace }}}\nspec:\n{{- if .Values.x }}\n  type: A\n{{- end }}\n", Object{"Service", "s"}, "spec.type", 5, true},
		"other name in one line": {"kind: Service\nmetadata: {name: t}\nspec:\n{{- if .Values.x }}\n  type: A\n{{- end }}\n", Object{"Service", "s"}, "spec.type", 0, false},
		"template of other kind": {template, Object{"Deployment", "b-x"}, "spec", 0, false},
	} {
		var path []string
		if tc.path != "" {
			path = strings.Split(tc.path, ".")
		}
		if line, exact := Find(tc.text, tc.o, path...); line != tc.line || exact != tc.exact {
			t.Errorf("%s: line %d, exact %t; want %d, %t", name, line, exact, tc.line, tc.exact)
		}
	}
	path := []string{"spec", "template", "spec", "containers", "1", "resources", "limits", "nvidia.com/gpu"}
	if line, exact := Find(plain, Object{Name: "web"}, path...); line != 20 || !exact {
		t.Errorf("a key with dots: line %d, %t", line, exact)
	}
}

// The line at which a manifest is malformed, although its actions are no YAML either.
func TestMalformed(t *testing.T) {
	const good = "{{- if .Values.on }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-x\n{{- end }}\n"
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"none":               {good, 0},
		"a value in a value": {strings.Replace(good, "kind: ConfigMap", "kind: Config: Map", 1), 3},
		"a tab":              {strings.Replace(good, "  name", "\tname", 1), 5},
		"a later document":   {good + "---\n" + strings.Replace(good, "kind: ConfigMap", "kind: Config: Map", 1), 10},
		"Windows line ends":  {strings.ReplaceAll(good, "\n", "\r\n"), 0},
	} {
		if got := Malformed(tc.text); got != tc.want {
			t.Errorf("%s: line %d, want %d", name, got, tc.want)
		}
	}
}

func TestHeadless(t *testing.T) {
	const good = "{{- if .Values.on }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-x\n{{- end }}\n---\n# a comment\n---\n"
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"none":        {good, 0},
		"no kind":     {good + "apiVersion: v1\nmetadata: {name: a}\n", 10},
		"no name":     {good + "\napiVersion: v1\nkind: ConfigMap\n", 11},
		"a list":      {good + "- a\n", 10},
		"a text":      {good + "text\n", 10},
		"another":     {good + "apiVersion: v1\nkind: ConfigMap\nmetadata: a\n", 10},
		"a generated": {good + "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}\n", 0},
	} {
		if got := Headless(tc.text); got != tc.want {
			t.Errorf("%s: line %d, want %d", name, got, tc.want)
		}
	}
}

// A name is looked for in the object that refers to it, before the object that has it and before the
// object's own name.
func TestMention(t *testing.T) {
	const text = `kind: ConfigMap
metadata:
  name: web
---
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      volumes:
      - name: one
        configMap:
          name: web
      - secret: {secretName: web-login}
---
kind: RoleBinding
metadata:
  name: reads
roleRef: {name: web}
`
	for name, c := range map[string]struct {
		o    Object
		name string
		want int
	}{
		"mount":             {Object{"Deployment", "web"}, "web", 14},
		"longer name":       {Object{"Deployment", "web"}, "web-login", 15},
		"without spec":      {Object{"RoleBinding", "reads"}, "web", 20},
		"its own name":      {Object{"ConfigMap", "web"}, "web", 3},
		"in another object": {Object{"ConfigMap", "web"}, "web-login", 0},
		"no such object":    {Object{"Job", "web"}, "web", 0},
		"no object":         {Object{}, "web", 3},
		"nowhere":           {Object{"Deployment", "web"}, "db", 0},
	} {
		if got := Mention(text, c.o, c.name); got != c.want {
			t.Errorf("%s: line %d, want %d", name, got, c.want)
		}
	}
}
