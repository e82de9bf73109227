package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// oneTemplate is a request for a chart with one template.
func oneTemplate(text string) Request {
	return Request{Name: "r", Namespace: "n", Values: map[string]any{}, KubeVersion: "v1.36.1", APIVersions: []string{"v1"}, Chart: &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(text)}},
	}}
}

func newRenderer(t *testing.T, l Limits) *Renderer {
	t.Helper()
	r := &Renderer{Limits: l}
	t.Cleanup(r.Close)
	return r
}

func rendered(t *testing.T, r *Renderer, req Request) string {
	t.Helper()
	rel, err := r.Release(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return rel.Manifest
}

// What the process makes is what Helm makes in this one: values keep their types on the way.
func TestRelease_SameAsWithoutProcess(t *testing.T) {
	values := map[string]any{
		"empty": []any{}, "emptyMap": map[string]any{}, "null": nil, "float": 1e6, "number": json.Number("1000000"), "int": 3, "large": int64(1 << 60), "yes": true,
		"list": []any{nil, []any{}, map[string]any{"a": []any{"x"}}}, "text": "a\n\x00é",
	}
	req := oneTemplate(`{{ define "t" }}{{ toYaml .Values | quote }} {{ printf "%T" .Values.number }} {{ .Capabilities.APIVersions }} {{ .Capabilities.KubeVersion.Minor }} {{ .Release.Namespace }} {{ (.Files.Get "x") }} {{ .Subcharts.sub.Values.a }}{{ range $k, $v := .Values }} {{ printf "%s=%T %v" $k $v $v }}{{ end }}{{ end }}a: {{ include "t" . | quote }}`)
	req.Values = values
	req.Chart.Files = []*chart.File{{Name: "x", Data: []byte("of the chart")}}
	sub := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "sub", Version: "1.0.0"}, Values: map[string]any{"a": []any{}}, Templates: []*chart.File{
		{Name: "templates/hook.yaml", Data: []byte("kind: Job\napiVersion: batch/v1\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: \"3\", helm.sh/hook-delete-policy: hook-succeeded}}\n")},
	}}
	req.Chart.AddDependency(sub)
	before := fmt.Sprintf("%#v", values)
	got, err := newRenderer(t, Limits{}).Release(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	Register()
	want, _, err := template(encode(req))
	if err != nil {
		t.Fatal(err)
	}
	if got.Manifest != want.Manifest || !strings.Contains(got.Manifest, "of the chart") || !strings.Contains(got.Manifest, "empty=[]interface {} []") {
		t.Errorf("got\n%s\nwant\n%s", got.Manifest, want.Manifest)
	}
	if len(got.Hooks) != 1 || len(want.Hooks) != 1 {
		t.Fatalf("got hooks %+v, want %+v", got.Hooks, want.Hooks)
	}
	h, w := got.Hooks[0], want.Hooks[0]
	if h.Manifest != w.Manifest || h.Path != w.Path || h.Weight != 3 || !reflect.DeepEqual(h.Events, w.Events) || !reflect.DeepEqual(h.DeletePolicies, w.DeletePolicies) {
		t.Errorf("got hook %+v, want %+v", h, w)
	}
	if after := fmt.Sprintf("%#v", values); after != before || len(req.Chart.Dependencies()) != 1 {
		t.Errorf("the request was changed: %s", after)
	}
}

// Numbers of values are those that a file of values has for Helm: of floating point.
func TestRelease_Numbers(t *testing.T) {
	req := oneTemplate(`a: [{{ .Values.a | quote }}, {{ kindOf .Values.b }}, {{ index .Values.m.list 0 | quote }}]`)
	req.Values = map[string]any{"a": int64(1000000), "b": 5, "m": map[string]any{"list": []any{uint64(2000000)}}}
	if got := rendered(t, newRenderer(t, Limits{}), req); !strings.Contains(got, `a: ["1e+06", float64, "2e+06"]`) {
		t.Errorf("got %s", got)
	}
}

// Ten million objects, a template without an end, and what else does not fit: each ends soon, with
// its cause, and the next chart renders.
func TestLimits(t *testing.T) {
	// Only the rows about time meet the time limit: a machine may be slow, and the race detector
	// is.
	limits := Limits{Time: 2 * time.Minute, Memory: 300 << 20, Text: 1 << 20, Values: 50_000, Documents: 100}
	patient := newRenderer(t, limits)
	limits.Time = 3 * time.Second
	hasty := newRenderer(t, limits)
	for name, c := range map[string]struct{ text, want string }{
		"ten million objects":          {`{{ range $i := until 10000000 }}` + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a{{ $i }}}}\n" + `{{ end }}`, "rendering it takes "},
		"no end":                       {`{{ $n := until 1000 }}{{ range $n }}{{ range $n }}{{ range $n }}{{ range $n }}{{ end }}{{ end }}{{ end }}{{ end }}`, "rendering it takes longer than 3s"},
		"one enormous text":            {`{{ repeat 2000000000 "x" }}`, "rendering it takes more than 300 MiB of memory"},
		"a text that doubles":          {`{{ $s := "x" }}{{ range until 40 }}{{ $s = print $s $s }}{{ end }}{{ $s }}`, "rendering it takes more than 300 MiB of memory"},
		"much text":                    {`a: {{ repeat 2000000 "x" }}`, "its templates make 1 MiB of text; the limit is 1 MiB"},
		"many objects":                 {`{{ range until 200 }}` + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n" + `{{ end }}`, "its templates make 200 objects; the limit is 100"},
		"a list without end":           {`a: [{{ repeat 60000 "x," }}]`, "values; the limit is 50000"},
		"a template that is in itself": {`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, "nested reference"},
	} {
		r := patient
		if strings.HasPrefix(c.want, "rendering it takes ") && !strings.Contains(c.want, "MiB") {
			r = hasty
		}
		start := time.Now()
		_, err := r.Release(t.Context(), oneTemplate(c.text))
		var limit *LimitError
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &limit) == (c.want == "nested reference") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if took := time.Since(start); r == hasty && took > 30*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
		if got := rendered(t, patient, oneTemplate("a: 1")); !strings.Contains(got, "a: 1") {
			t.Errorf("%s: the next chart renders as %q", name, got)
		}
	}
}

// A template reads nothing of this machine: no file, no variable, no name, no cluster.
func TestTemplates_NoFilesNoVariables(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of the runner"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AICR_TEST_TOKEN", "a secret of the runner")
	r := newRenderer(t, Limits{})
	for _, text := range []string{
		`[{{ .Files.Get "` + secret + `" }}]`, `[{{ .Files.Get "../../../../../../../../../../..` + secret + `" }}]`, `[{{ range $p, $_ := .Files.Glob "/**" }}{{ $p }}{{ end }}]`,
		`[{{ (.Files.Glob "../../**").AsConfig }}]`, `[{{ tpl "{{ .Files.Get \"` + secret + `\" }}" . }}]`, `[{{ range .Files.Lines "/etc/passwd" }}{{ . }}{{ end }}]`,
		`[{{ getHostByName "localhost" }}]`, `[{{ range $k, $v := lookup "v1" "Secret" "" "" }}{{ $k }}{{ end }}]`,
	} {
		if got := strings.TrimSpace(rendered(t, r, oneTemplate("a: "+text))); !strings.HasSuffix(got, "a: []") && !strings.HasSuffix(got, "a: [{}]") {
			t.Errorf("%s rendered %q", text, got)
		}
	}
	for _, text := range []string{`{{ env "AICR_TEST_TOKEN" }}`, `{{ expandenv "$AICR_TEST_TOKEN" }}`} {
		if _, err := r.Release(t.Context(), oneTemplate(text)); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// A chart's schema may name a file or an address, which Helm reads when it checks the values. The
// process has neither.
func TestSchemas_NoFilesNoNetwork(t *testing.T) {
	if strings.HasPrefix(sandbox.Support(), "none") {
		t.Logf("without a sandbox the file is read: %s", sandbox.Support())
		return
	}
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"required": ["a secret of the runner"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dialled := make(chan bool, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			dialled <- true
			_ = c.Close()
		}
	}()
	refs := []string{"file://" + file}
	if strings.Contains(sandbox.Support(), "TCP") {
		refs = append(refs, "http://"+l.Addr().String()+"/latest/meta-data")
	}
	for _, ref := range refs {
		req := oneTemplate("a: 1")
		req.Chart.Schema = []byte(`{"$ref": "` + ref + `"}`)
		_, err := newRenderer(t, Limits{}).Release(t.Context(), req)
		if err == nil || !strings.Contains(err.Error(), "permission denied") || strings.Contains(err.Error(), "a secret") {
			t.Errorf("%s: got %v", ref, err)
		}
	}
	select {
	case <-dialled:
		t.Error("the address that the schema names was dialled")
	default:
	}
}

// A cancelled rendering returns at once, and leaves no process.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r := newRenderer(t, Limits{})
	start := time.Now()
	_, err := r.Release(ctx, oneTemplate(`{{ $n := until 1000 }}{{ range $n }}{{ range $n }}{{ range $n }}{{ range $n }}{{ end }}{{ end }}{{ end }}{{ end }}`))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 20*time.Second || r.process != nil {
		t.Errorf("got %v after %s", err, time.Since(start))
	}
	if _, err := r.Release(ctx, oneTemplate("a: 1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// A killed process makes the current rendering fail. The next rendering starts another process.
func TestRelease_ProcessKilled(t *testing.T) {
	r := newRenderer(t, Limits{})
	rendered(t, r, oneTemplate("a: 1"))
	r.process.Kill()
	_, err := r.Release(t.Context(), oneTemplate("a: 1"))
	var limit *LimitError
	if err == nil || errors.As(err, &limit) || !strings.Contains(err.Error(), "the process that renders charts ended") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(rendered(t, r, oneTemplate("a: 1")), "a: 1") {
		t.Error("it was not started again")
	}
	if out, err := exec.Command(os.Args[0], "-test.list", "TestLimits").CombinedOutput(); err != nil || !strings.Contains(string(out), "TestLimits") {
		t.Errorf("without the variable this program is itself: %v, %s", err, out)
	}
	if chartutil.DefaultCapabilities.KubeVersion.Major == "" {
		t.Error("Helm's defaults were changed")
	}
}

// Helm's CLI looks at a chart before it renders it; its library does not.
func TestRelease_NotInstallable(t *testing.T) {
	r := newRenderer(t, Limits{})
	for want, edit := range map[string]func(*chart.Chart){
		"the chart has the file .argocd-source.yaml": func(c *chart.Chart) { c.Files = append(c.Files, &chart.File{Name: ".argocd-source.yaml"}) },
		"library charts are not installable":         func(c *chart.Chart) { c.Metadata.Type = "library" },
		"found in Chart.yaml, but missing in charts/ directory: redis": func(c *chart.Chart) {
			c.Metadata.Dependencies = []*chart.Dependency{{Name: "redis", Version: "1.x", Repository: "https://example.com"}}
		},
		"": func(c *chart.Chart) {
			c.Metadata.Type, c.Metadata.Dependencies = "application", []*chart.Dependency{{Name: "redis", Version: "1.x"}}
			c.AddDependency(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "redis", Version: "1.0.0"}})
		},
	} {
		req := oneTemplate("a: b")
		edit(req.Chart)
		if _, err := r.Release(t.Context(), req); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
