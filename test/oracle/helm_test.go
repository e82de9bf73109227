//go:build oracle

package oracle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// `helm template` makes the same objects of a chart, in a directory or packed, as our rendering.
func TestOracleHelm(t *testing.T) {
	testskip.Short(t, "no real stack")
	_, _, s := theStack(t)
	helm := s.Bin("helm")
	if _, err := os.Stat(helm); err != nil {
		testskip.Missing(t, "the stack has no Helm (%v): run `matrix stack build`", err)
	}
	if err := madeOf(helm, "helm.sh/helm/v3", s.Version("helm.sh/helm/v3")); err != nil {
		t.Fatal(err)
	}
	dir, renderer := infratest.ShortTempDir(t), &render.Renderer{}
	t.Cleanup(renderer.Close)
	n := 0
	at := func() string { n++; return filepath.Join(dir, fmt.Sprint("c", n)) }
	o := &oracle{name: "helm", version: s.Version("helm.sh/helm/v3"), generate: (*generator).chart}
	o.program = func(ctx context.Context, all []input) (map[string]verdict, error) {
		verdicts := map[string]verdict{}
		for i := range all {
			v, err := template(ctx, helm, at(), &all[i])
			if err != nil {
				return nil, err
			}
			verdicts[all[i].Name] = *v
		}
		return verdicts, nil
	}
	o.compare = func(ctx context.Context, in *input, v *verdict) (*difference, error) {
		own, err := rendered(ctx, renderer, at(), in)
		if err != nil {
			own = "fails: " + err.Error()
		}
		if v.Word == "fails" && err != nil || v.Word == "renders" && own == v.Message {
			return nil, nil
		}
		theirs := v.Message
		if v.Word == "renders" && err == nil { // only what differs
			a, b := strings.Split(theirs, "\n"), strings.Split(own, "\n")
			theirs = strings.Join(slices.DeleteFunc(slices.Clone(a), func(l string) bool { return slices.Contains(b, l) }), "; ")
			own = strings.Join(slices.DeleteFunc(b, func(l string) bool { return slices.Contains(a, l) }), "; ")
		}
		return &difference{*in, v.Word + ": " + theirs, own}, nil
	}
	o.run(t, nil)
}

// lay writes the chart of an input, and returns where it is.
func lay(dir string, in *input) (string, error) {
	files, _, packed := filesOf(in)
	if !packed {
		for name, text := range files {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return "", err
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return "", err
			}
		}
		return dir, os.MkdirAll(dir, 0o755)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	tape := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := tape.WriteHeader(&tar.Header{Name: "c/" + name, Size: int64(len(files[name])), Mode: 0o644}); err != nil {
			return "", err
		}
		if _, err := tape.Write([]byte(files[name])); err != nil {
			return "", err
		}
	}
	if err := tape.Close(); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	return dir + ".tgz", os.WriteFile(dir+".tgz", out.Bytes(), 0o600)
}

// template asks Helm.
func template(ctx context.Context, helm, dir string, in *input) (*verdict, error) {
	at, err := lay(dir, in)
	if err != nil {
		return nil, err
	}
	_, values, _ := filesOf(in)
	raw, err := yaml.Marshal(values)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(dir+".values", raw, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, helm, "template", "r", at, "--namespace", "n", "--kube-version", kubeVersion, "--include-crds", "--values", dir+".values")
	cmd.Env = []string{"HOME=" + filepath.Dir(dir), "PATH=/nowhere"}
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("helm template did not end within a minute: %s", in.yaml())
	}
	if err != nil {
		return &verdict{Word: "fails", Message: lastLines(words.String())}, nil
	}
	objects, err := rendering.Parse(out.String(), "")
	if err != nil {
		return &verdict{Word: "fails", Message: "at the API server: " + err.Error()}, nil
	}
	objects = slices.DeleteFunc(objects, func(o rendering.Object) bool { // Helm prints every hook
		hooks := rendering.HelmHooks(o.GetAnnotations())
		return len(hooks) > 0 && !rendering.RunsInHelm(o.GetAnnotations(), "pre-install", "post-install")
	})
	return &verdict{Word: "renders", Message: outline(objects)}, nil
}

// rendered asks our rendering.
func rendered(ctx context.Context, renderer *render.Renderer, dir string, in *input) (string, error) {
	at, err := lay(dir, in)
	if err != nil {
		return "", err
	}
	var files []*loader.BufferedFile
	_, values, packed := filesOf(in)
	if packed {
		raw, err := os.ReadFile(at)
		if err != nil {
			return "", err
		}
		if files, err = archive.Archive(raw); err != nil {
			return "", err
		}
	} else {
		if files, err = archive.Directory(os.DirFS(filepath.Dir(at)), filepath.Base(at)); err != nil {
			return "", err
		}
	}
	ch, err := loader.LoadFiles(files)
	if err != nil {
		return "", err
	}
	crds, err := rendering.CRDs(ch, values)
	if err != nil {
		return "", err
	}
	r, err := rendering.Release(ctx, renderer, render.Request{Chart: ch, Values: values, Name: "r", Namespace: "n", KubeVersion: kubeVersion, APIVersions: chartutil.DefaultVersionSet}, false)
	if err != nil {
		return "", err
	}
	return outline(append(crds, r.Objects...)), nil
}

// outline is a line an object, sorted.
func outline(all []rendering.Object) string {
	var lines []string
	for _, o := range all {
		u := unstructured.Unstructured{Object: o.Object}
		lines = append(lines, fmt.Sprintf("%s %s/%s %s", u.GetKind(), u.GetNamespace(), u.GetName(), short(u.Object["data"])))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// chart makes one of the files and values that charts have.
func (g *generator) chart() input {
	pick := func(all ...string) string { return all[g.IntN(len(all))] }
	object := func(name, more string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" + more
	}
	value := func() string {
		return pick(".Values.a", ".Values.map.x", ".Values.none", ".Values.list", ".Values.number", ".Values.sub.a", ".Chart.Version", ".Release.Service", ".Release.Revision", ".Release.IsInstall", ".Capabilities.KubeVersion.Minor", ".Capabilities.KubeVersion.Version",
			`(.Capabilities.APIVersions.Has "apps/v1")`, `(.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")`, `(.Files.Get "file.txt")`, `(.Files.Glob "*.txt")`, `(include "helper" .)`, `(lookup "v1" "Secret" "n" "x")`, `(tpl "{{ .Values.a }}" .)`, "(toYaml .Values.map)", ".Template.Name", ".Chart.Type", ".Values.global", `(.Values.a | default "d")`, `(required "want b" .Values.b)`, "(fromYaml \"a: 1\")", "(semverCompare \">=1.30-0\" .Capabilities.KubeVersion.GitVersion)")
	}
	files := map[string]any{
		"Chart.yaml":                  "apiVersion: v2\nname: c\nversion: 1.0.0" + pick("", "\ntype: library", "\nkubeVersion: '>=1.20.0-0'", "\nkubeVersion: '<1.20.0'", "\ndependencies: [{name: sub, version: 1.0.0, repository: '', condition: sub.enabled}]", "\ndependencies: [{name: sub, version: 1.0.0, repository: '', alias: other, tags: [t]}]", "\ndependencies: [{name: sub, version: 1.0.0, repository: '', import-values: [data]}]", "\nappVersion: 1.10", "+b") + "\n",
		"values.yaml":                 pick("a: 1\nmap: {x: 1, y: null}\nlist: [a, b]\nnumber: 1e6\n", "a: yes\nmap: {x: {y: z}}\nsub: {a: 5, enabled: false}\n", "number: 1000000\na: 0123\n", "", "a: null\nsub: null\n"),
		"templates/a.yaml":            object("a", "data: {a: {{ "+value()+" | quote }}, b: {{ toJson "+value()+" | quote }}}\n"),
		"templates/_helpers.tpl":      "{{ define \"helper\" }}" + pick("h", "{{ .Chart.Name }}", "{{ .Values.a }}") + "{{ end }}",
		"file.txt":                    "text",
		"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/values.yaml":      "a: sub\nexports: {data: {a: imported}}\n",
		"charts/sub/templates/s.yaml": object("sub", "data: {a: {{ .Values.a | quote }}, g: {{ .Values.global | toJson | quote }}}\n"),
	}
	more := []struct{ name, text string }{
		{"templates/notes/NOTES.txt", "no object {{ .Values.a }}"}, {"templates/NOTES.txt", "no: object"}, {"templates/x.yml", object("yml", "")}, {"templates/x.json", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}}`}, {"templates/x.txt", object("txt", "")}, {"templates/_x.yaml", object("underscore", "")},
		{"templates/deep/er/x.yaml", object("deep", "")}, {"templates/tests/t.yaml", object("t", "  annotations: {helm.sh/hook: test}\n")}, {"templates/hook.yaml", object("hook", "  annotations: {helm.sh/hook: \""+pick("pre-install", "post-install,post-upgrade", "pre-delete", "pre-upgrade", "crd-install", "test-success", "nonsense", " pre-install ", "")+"\"}\n")},
		{"crds/d.yaml", object("crd", "")}, {"crds/deep/d.yaml", object("deepcrd", "")}, {"crds/d.txt", object("txtcrd", "")}, {"crds/two.yaml", object("one", "---\n"+object("two", ""))}, {"charts/sub/crds/d.yaml", object("subcrd", "")}, {"crds/README.md", "# text"},
		{"templates/.hidden.yaml", object("hidden", "")}, {"templates/x.yaml.bak", object("bak", "")}, {"templates/x.yaml~", object("tilde", "")}, {".helmignore", pick("file.txt\n", "templates/x*\n", "*.txt\n", "/templates/deep\n", "!file.txt\n", "# c\n\ncrds/\n", "charts/\n", "templates/?.yaml\n", "values.yaml\n")}, {"templates/list.yaml", "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(object("item", ""), "\n", "\n  ")},
		{"templates/many.yaml", object("m1", "---\n"+object("m2", "")+"---\n# only a comment\n---\n"+object("m3", "")+"\n...\n")}, {"templates/empty.yaml", "{{ if .Values.none }}" + object("none", "") + "{{ end }}"}, {"templates/bad.yaml", pick("a: b: c", "just text", "kind: X", "- list", "{{ fail \"no\" }}", "{{ .Values.none.x }}", "{{ .Values.a.b }}", "a: [", "apiVersion: v1\nkind: ConfigMap\nmetadata: {}")}, {"values.schema.json", pick(`{"type": "object", "required": ["b"]}`, `{"properties": {"a": {"type": "integer"}}}`, `{"type": "object"}`)},
		{"templates/crlf.yaml", strings.ReplaceAll(object("crlf", "data: {a: b}\n"), "\n", "\r\n")}, {"templates/bom.yaml", "\ufeff" + object("bom", "")}, {"templates/twice.yaml", object("a", "")}, {"requirements.yaml", "dependencies: [{name: sub, version: 1.0.0, repository: ''}]\n"}, {"templates/dup.yaml", object("dup", "data: {a: b, a: c}\n")}, {"templates/num.yaml", object("num", "data: {a: 1, b: true}\n")}, {"templates/NS.yaml", object("ns", "  namespace: {{ .Release.Namespace }}\n")},
	}
	for range g.IntN(4) {
		f := more[g.IntN(len(more))]
		files[f.name] = f.text
	}
	values := map[string]any{}
	for range g.IntN(3) {
		values[pick("a", "b", "map", "sub", "global", "list", "number", "tags", "other")] = deepCopy([]any{nil, "text", int64(5), true, map[string]any{"x": nil, "enabled": true, "a": "given"}, map[string]any{"enabled": "false", "t": false}, []any{"z"}, map[string]any{}, 1e21, int64(1000000)}[g.IntN(10)])
	}
	return input{From: "chart", Subject: map[string]any{"apiVersion": "oracle/v1", "kind": "Chart", "metadata": map[string]any{"name": "c"}, "files": files, "values": values, "packed": g.IntN(2) == 0}}
}
