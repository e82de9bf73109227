package bundle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// chartOf loads a chart of files; Chart.yaml is made.
func chartOf(t *testing.T, dependencies string, files map[string]string) *chart.Chart {
	t.Helper()
	all := []*loader.BufferedFile{{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n" + dependencies)}}
	for name, text := range files {
		all = append(all, &loader.BufferedFile{Name: name, Data: []byte(text)})
	}
	ch, err := loader.LoadFiles(all)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// found lists what Find gives for dotted paths, as "path", "path near", and "path?" if a map around
// it is taken as a whole.
func found(ch *chart.Chart, manifest string, paths ...string) []string {
	var given [][]string
	for _, p := range paths {
		given = append(given, strings.Split(p, "."))
	}
	var lines []string
	for _, v := range findUnused(ch, "web", given, [][]byte{[]byte(manifest)}) {
		line := v.Path()
		if v.Whole {
			line += "?"
		}
		if v.Near != "" {
			line += " " + v.Near
		}
		if len(v.Paths) > 1 {
			line += fmt.Sprint(" ", len(v.Paths))
		}
		lines = append(lines, line)
	}
	return lines
}

const (
	values = "operator: {replicas: 1, image: {repository: a, tag: b}}\nannotations: {}\nresources: {limits: {cpu: 1}}\nconfig: \"{{ .Values.fromText }}\"\nextra:\n"
	web    = `{{- $o := .Values.operator }}
a: {{ $o.replicas }}{{ with .Values.operator.image }}{{ .repository }}{{ .tag | default .digest }}{{ end }}
b: {{ toYaml .Values.resources }}{{ (.Values.tls).secret }}{{ ((.Values.deep).er).est }}{{ index .Values "quoted-key" }}
{{- if .Values.off }}{{ .Values.offOnly.here }}{{ end }}{{ tpl .Values.config . }}{{ .Files.Get "more.txt" }}
replica: not a value
`
)

func TestFind(t *testing.T) {
	ch := chartOf(t, "", map[string]string{"values.yaml": values, "templates/web.yaml": web, "more.txt": "{{ .Values.fromFile }}", "templates/broken.tpl": "{{ .Values.inBroken"})
	for path, want := range map[string]string{
		"operator.replicas":       "",
		"opreator.replicas":       "opreator operator",
		"operator.replcas":        "operator.replcas? operator.replicas",
		"operator.image.digest":   "", // no default, and read
		"operator.image.digset":   "operator.image.digset? operator.image.digest",
		"annotations.any.thing":   "", // below an empty default
		"extra.any":               "", // below a null
		"resources.requests.cpu":  "", // of what is printed whole, any key may be read
		"resources.limits.memory": "",
		"tls.secret":              "",
		"tls.secert":              "tls.secert tls.secret",
		"deep.er.est":             "",
		"quoted-key":              "",
		"off":                     "",
		"offOnly.here":            "",
		"fromText":                "",
		"fromFile":                "",
		"inBroken":                "",
		"replica":                 "replica", // text outside of {{ }} reads nothing
		"cpu":                     "cpu resources.limits.cpu",
		"replicas":                "", // by its name, the one of $o may be it
		"tag":                     "",
	} {
		got := strings.Join(found(ch, "", path), ";")
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if got, want := found(ch, "", "opreator.b", "operator.replicas", "opreator.a", "nothing"), []string{"nothing", "opreator operator 2"}; !slices.Equal(got, want) {
		t.Errorf("several: got %q, want %q", got, want)
	}
	// The manifests of the component see its values too.
	for _, manifest := range []string{`{{ $v := index .Values "web" }}{{ $v.mine }}`, `{{ .Values.web.mine }}`, `{{ index .Values "web" "mine" }}`} {
		if got := found(ch, manifest, "mine"); got != nil {
			t.Errorf("%s: got %q", manifest, got)
		}
	}
}

const (
	subValues = "port: 1\nauth: {user: a}\n"
	subText   = "{{ .Values.port }}{{ .Values.auth.user }}{{ .Values.global.region }}{{ include \"lib.name\" . }}"
)

func TestFind_Subcharts(t *testing.T) {
	ch := chartOf(t, `dependencies:
- {name: db, version: 1.0.0, alias: store, condition: "store.wanted,global.db"}
- {name: cache, version: 1.0.0, tags: [fast]}
- {name: absent, version: 1.0.0}
- {name: lib, version: 1.0.0}
`, map[string]string{
		"values.yaml": "store: {auth: {user: b}}\n", "templates/a.yaml": "{{ .Values.store.ofParent }}",
		"charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n", "charts/db/values.yaml": subValues, "charts/db/templates/a.yaml": subText,
		"charts/cache/Chart.yaml": "apiVersion: v2\nname: cache\nversion: 1.0.0\n", "charts/cache/templates/a.yaml": "{{ .Values.size }}",
		"charts/lib/Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n", "charts/lib/templates/_a.tpl": `{{ define "lib.name" }}{{ .Values.nameOverride }}{{ end }}`,
		"charts/extra/Chart.yaml": "apiVersion: v2\nname: extra\nversion: 1.0.0\n", "charts/extra/templates/a.yaml": "{{ .Values.size }}",
	})
	for path, want := range map[string]string{
		"store.port": "", "store.ofParent": "", "store.wanted": "", "store.prot": "store.prot store.port", "store.auth.usr": "store.auth.usr store.auth.user",
		"db.port":       "db", // its values are under the alias
		"cache.size":    "",   // no default, in a subchart
		"cache.sise":    "cache.sise cache.size",
		"absent.any":    "", // that subchart is not in the archive
		"extra.size":    "", // one that Chart.yaml does not list
		"tags.fast":     "",
		"tags.slow":     "tags",
		"global.db":     "",
		"global.regoin": "global.regoin global.region", "global.region": "",
		"store.nameOverride": "", "nameOverride": "", // a named template may be anybody's
		"stroe.port": "stroe store",
	} {
		if got := strings.Join(found(ch, "", path), ";"); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestFind_Schema(t *testing.T) {
	ch := chartOf(t, "", map[string]string{"values.yaml": "a: {b: 1}\n", "templates/a.yaml": "{{ .Values.a.b }}", "values.schema.json": `{
		"type": "object", "$defs": {"size": {"properties": {"cpu": {}}}},
		"properties": {"named": {"type": "object", "properties": {"one": {"$ref": "#/$defs/size"}}}, "more": {"additionalProperties": {"properties": {"x": {}}}},
			"like": {"patternProperties": {"^a": {}}}, "either": {"anyOf": [{"type": "string"}, {"properties": {"y": {}}}]}, "far": {"$ref": "https://example.com/s"}, "loop": {"$ref": "#/properties/loop"}}}`})
	for path, want := range map[string]string{
		"named.one.cpu": "", "named.one.cup": "named", "more.any.x": "", "more.any.z": "more", "like.abc": "", "either.y": "", "either.z": "either", "far.any": "", "loop.x": "loop", "other": "other",
	} {
		if got := strings.Join(found(ch, "", path), ";"); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if inSchema([]byte("{"), []string{"a"}) || inSchema([]byte("[]"), []string{"a"}) {
		t.Error("what is no schema names a value")
	}
}

func TestFind_Dumped(t *testing.T) {
	for text, want := range map[string]string{
		"{{ toYaml .Values }}": "other?", "{{ range $k, $v := .Values }}{{ $k }}{{ end }}": "other?", "{{ mustToJson $.Values }}": "other?",
		"{{ include \"x\" .Values }}": "other", "{{ if .Values }}{{ end }}": "other",
	} {
		if got := strings.Join(found(chartOf(t, "", map[string]string{"templates/a.yaml": text}), "", "other"), ";"); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestSimulated(t *testing.T) {
	if unusedSimulated(chartOf(t, "", nil)) || !unusedSimulated(chartOf(t, "annotations: {aicr.nvidia.com/simulated: \"true\"}\n", nil)) {
		t.Error("the annotation is not read")
	}
}

// A schema whose definitions each refer to the next one twice is read once, though there are 2⁵⁰ ways through it.
func TestInSchema_References(t *testing.T) {
	var definitions []string
	for i := range 50 {
		definitions = append(definitions, fmt.Sprintf(`"d%d": {"allOf": [{"$ref": "#/definitions/d%d"}, {"$ref": "#/definitions/d%[2]d"}]}`, i, i+1))
	}
	text := []byte(`{"$ref": "#/definitions/d0", "definitions": {` + strings.Join(definitions, ", ") + `, "d50": {"properties": {"a": {"properties": {"b": {}}}}}}}`)
	for key, want := range map[string]bool{"a": true, "b": false} {
		if got := inSchema(text, []string{key}); got != want {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
	}
	if !inSchema(text, []string{"a", "b"}) {
		t.Error("a.b is not found")
	}
}
