package texttemplate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/util/confined"
)

func renderer(t *testing.T) *Renderer {
	t.Helper()
	r := &Renderer{}
	t.Cleanup(r.Close)
	return r
}

// The process renders values of all types of YAML as a template in this process would.
func TestExecute(t *testing.T) {
	values := map[string]any{
		"n": 3, "text": "a\né", "yes": true, "float": 1.5, "null": nil, "list": []any{1, nil, map[string]any{"a": "b"}}, "none": []any{}, "map": map[any]any{1: "x"},
		"time": time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), "large": uint64(1 << 63),
	}
	r := renderer(t)
	got, err := r.Execute(t.Context(), Template{Name: "a", Text: `{{mul .n 2}} {{.text}} {{.yes}} {{.float}} {{.null}} {{range .list}}[{{.}}]{{end}} {{len .none}} {{.map}} {{.time}} {{.large}} {{.gone}}`, Arithmetic: true, Most: 1 << 20}, values)
	want := "6 a\né true 1.5 <no value> [1][<no value>][map[a:b]] 0 map[1:x] 2026-01-02 00:00:00 +0000 UTC 9223372036854775808 <no value>"
	if err != nil || got != want {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
	here := answer(question{Template{Name: "a", Text: `{{printf "%T %T %T %T" .n .float .list .time}} {{.list}} {{.none}} {{.map}}`, Most: 1 << 20}, values})
	if there, err := r.Execute(t.Context(), Template{Name: "a", Text: `{{printf "%T %T %T %T" .n .float .list .time}} {{.list}} {{.none}} {{.map}}`, Most: 1 << 20}, values); err != nil || there != here.Text {
		t.Errorf("the process makes %q, %v; this one makes %q, %s", there, err, here.Text, here.Err)
	}
	for _, c := range []struct {
		tpl  Template
		want string
	}{
		{Template{Name: "b", Text: "{{.gone}}", Strict: true, Most: 1 << 20}, `map has no entry for key "gone"`},
		{Template{Name: "b", Text: "{{div 1 0}}", Arithmetic: true, Most: 1 << 20}, "division by zero"},
		{Template{Name: "b", Text: "{{index .list 9}}", Most: 1 << 20}, "out of range"},
		{Template{Name: "b", Text: `{{range 9}}{{printf "%999999d" 1}}{{end}}`, Most: 1 << 20}, "it becomes longer than 1 MiB"},
	} {
		if _, err := r.Execute(t.Context(), c.tpl, values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.tpl.Text, err, c.want)
		}
	}
}

// A template calls nothing that reads the machine: there is no such function, neither here nor in
// the process.
func TestExecute_NoFilesNoNetwork(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", "a secret of the job")
	for _, text := range []string{`{{env "AICR_TEST_TOKEN"}}`, `{{expandenv "$AICR_TEST_TOKEN"}}`, `{{getHostByName "localhost"}}`, `{{now}}`, `{{lookup "v1" "Secret" "" ""}}`, `{{mul 2 2}}`, `{{readFile "/etc/passwd"}}`} {
		tpl := Template{Name: "attack", Text: text, Most: 1 << 20}
		if _, err := tpl.Parse(); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%s: got %v", text, err)
		}
		if got, err := renderer(t).Execute(t.Context(), tpl, nil); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%s in the process: got %q, %v", text, got, err)
		}
	}
}

// One of an ApplicationSet has more functions, and none that tells about the machine.
func TestApplicationSet_NoVariables(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", "a secret of the job")
	of := func(text string, options ...string) Template {
		return Template{Name: "set", Text: text, ApplicationSet: &ApplicationSet{Options: options}, Most: 1 << 20}
	}
	for text, want := range map[string]string{
		`{{env "AICR_TEST_TOKEN"}}`: "not defined", `{{expandenv "$AICR_TEST_TOKEN"}}`: "not defined", `{{getHostByName "localhost"}}`: "not defined", `{{slugify true "a"}}`: "argument 1 of slugify is true",
	} {
		if got, err := renderer(t).Execute(t.Context(), of(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	if _, err := of("a", "missingkey=maybe").Parse(); err == nil || !strings.Contains(err.Error(), "is none of missingkey=default") {
		t.Errorf("got %v", err)
	}
	got, err := renderer(t).Execute(t.Context(), of(`{{ (fromYaml .text).a }} {{ index (fromYamlArray .list) 1 }} {{ .map | toYaml }} {{ .none | default "x" }}`), map[string]any{"text": "a: b", "list": "[c, d]", "map": map[string]any{"e": "f"}})
	if err != nil || got != "b d e: f x" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A template that never ends, or grows without end, is an error that says so, and the next one is
// executed.
func TestLimits(t *testing.T) {
	for text, want := range map[string]string{
		`{{range 1000000000000000}}{{end}}`:                              "it takes longer than 2s; no template needs that",
		`{{$s := "x"}}{{range 40}}{{$s = print $s $s}}{{end}}{{len $s}}`: "it takes more than 512 MiB of memory; no template needs that",
		`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`:          "exceeded maximum template depth",
	} {
		r := renderer(t)
		if _, err := r.Execute(t.Context(), Template{Name: "x", Text: "{{.}}", Most: 1 << 20}, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(want, "2s") {
			r.Close()
			r.worker.Limits.Time = 2 * time.Second
		}
		_, err := r.Execute(t.Context(), Template{Name: "x", Text: text, Most: 1 << 20}, nil)
		var limit *confined.LimitError
		if err == nil || !strings.Contains(err.Error(), want) || errors.As(err, &limit) != strings.Contains(want, "no template") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if got, err := r.Execute(t.Context(), Template{Name: "x", Text: "next", Most: 1 << 20}, nil); got != "next" || err != nil {
			t.Errorf("%s: the next one: %q, %v", text, got, err)
		}
	}
}
