package statefile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

func TestMain(m *testing.M) { workers.Main(m, texttemplate.Hidden()) }

// files writes a repository; the one named first is the state file.
func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range all {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read gives the releases that are installed as JSON, each with the values that its files have, and
// what the reader noted.
func read(t *testing.T, dir, name, environment string, given map[string]any) (releases []string, notes string, err error) {
	t.Helper()
	repo, rel, err := checkout.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var noted []string
	r := &Reader{Repo: repo, Environment: environment, Note: func(format string, args ...any) { noted = append(noted, fmt.Sprintf(format, args...)) }}
	defer r.Close()
	s, err := r.Read(t.Context(), rel, given)
	if err != nil {
		return nil, "", err
	}
	for _, n := range yamlx.Find(s.Node, "releases").Content {
		ok, why, err := r.Settle(t.Context(), s, n)
		if err != nil {
			return nil, "", err
		}
		if !ok {
			noted = append(noted, why)
			continue
		}
		release := map[string]any{}
		if err := n.Decode(&release); err != nil {
			t.Fatal(err)
		}
		list, _ := release["values"].([]any)
		for i, v := range list {
			if file, ok := v.(string); ok {
				content, _, err := r.ValuesFile(t.Context(), s, n, filepath.Join(s.Dir, file))
				if err != nil {
					return nil, "", err
				}
				list[i] = strings.TrimSpace(string(content))
			}
		}
		text, err := json.Marshal(release)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, string(text))
	}
	return releases, strings.Join(noted, "; "), nil
}

// What is read is what `helmfile build` of helmfile 1.8 printed for the same files.
func TestRead_AsHelmfile(t *testing.T) {
	for what, c := range map[string]struct {
		files       map[string]string
		name        string
		environment string
		given       map[string]any
		want        []string
		noted       string
	}{
		"what one release inherits, and the fields that name others": {
			name: "helmfile.yaml", files: map[string]string{"helmfile.yaml": `templates:
  base: &base
    namespace: kube-{{ .Release.Labels.tier }}
    chart: ./c
    values: [base.yaml]
  more:
    inherit: [{template: base}]
    labels: {tier: more}
    values: [{b: 1}]
releases:
- name: a
  <<: *base
  namespace: other
  labels: {tier: front}
- name: b
  inherit: [{template: more, except: [labels]}]
  labels: {tier: back}
  values: [{own: 1}]
- name: c
  inherit: [{template: more}]
  namespace: mine
  needs: ["{{ .Release.Namespace }}/x"]
`, "base.yaml": "x: 1"},
			want: []string{
				`{"chart":"./c","labels":{"tier":"front"},"name":"a","namespace":"other","values":["x: 1"]}`,
				`{"chart":"./c","labels":{"tier":"back"},"name":"b","namespace":"kube-back","values":["x: 1",{"b":1},{"own":1}]}`,
				`{"chart":"./c","labels":{"tier":"more"},"name":"c","namespace":"mine","needs":["mine/x"],"values":["x: 1",{"b":1}]}`,
			},
		},
		"a later template, and a release, win with what is not empty": {
			name: "helmfile.yaml", files: map[string]string{"helmfile.yaml": `templates:
  one: {namespace: one, chart: ./one, wait: true, values: [{n: 1}]}
  two: {namespace: two, chart: ./two, wait: false, values: [{n: 2}]}
defaultInherit: [one]
releases:
- {name: a, inherit: [{template: two}], values: [{n: 3}]}
- {name: b, chart: ./own, wait: false}
`},
			want: []string{
				`{"chart":"./two","name":"a","namespace":"two","values":[{"n":1},{"n":2},{"n":3}],"wait":true}`,
				`{"chart":"./own","name":"b","namespace":"one","values":[{"n":1}],"wait":true}`,
			},
		},
		"documents, which see the environments before them": {
			name: "helmfile.yaml.gotmpl", environment: "prod", files: map[string]string{"helmfile.yaml.gotmpl": `environments:
  default: {values: [{image: i}]}
  prod:
    values:
    - env.yaml
    - prod.yaml.gotmpl
    - {list: [3], off: false, none: null}
---
bases: [base.yaml.gotmpl]
values: [{top: yes, image: lower}]
releases:
- name: a-{{ .Environment.Name }}
  namespace: {{ .Values.ns | default "default" }}
  chart: ./c
  condition: flags.enabled
  values:
  - v.yaml.gotmpl
  - all: {{ .StateValues | toYaml | nindent 6 }}
  - who: '{{` + "`{{ .Release.Name }}`" + `}}'
{{- range $i := until 2 }}
- name: r{{ $i }}
  chart: ./c
  condition: f{{ $i }}.enabled
{{- end }}
`, "env.yaml": "{ns: n1, list: [1, 2], off: true, flags: {enabled: true}, f0: {enabled: false}, f1: {other: 1}}", "prod.yaml.gotmpl": `image: "p-{{ .Environment.Name }}"`,
				"v.yaml.gotmpl":    "rel: {{ .Release.Name }} {{ .Values.image }} {{ .Values.top }}",
				"base.yaml.gotmpl": "releases:\n- {name: 'base-{{ .Values.image }}', chart: ./c}\n"},
			want: []string{
				`{"chart":"./c","name":"base-p-prod"}`,
				`{"chart":"./c","name":"a-prod","namespace":"n1","values":["rel: a-prod p-prod yes",{"all":{"f0":{"enabled":false},"f1":{"other":1},"flags":{"enabled":true},"image":"p-prod","list":[3],"none":null,"ns":"n1","off":false}},{"who":"{{ .Release.Name }}"}]}`,
			},
			noted: "its condition f0.enabled is not true in the environment prod; its condition f1.enabled is not true in the environment prod",
		},
		"values of several files, where the earlier one wins": {
			name: "h.yaml.gotmpl", files: map[string]string{"h.yaml.gotmpl": `environments:
  default: {mergeStrategy: fallback, values: [a.yaml, "b*.yaml.gotmpl"]}
---
releases:
- {name: a, chart: ./c, values: [{all: {{ .Values | toJson }}}]}
`, "a.yaml": "{a: {k: a, n: null}, n: 5, l: []}", "b1.yaml.gotmpl": "{a: {k: b, q: {{ .Values.n }}, n: 1}, l: [7], new: 1}"},
			want: []string{`{"chart":"./c","name":"a","values":[{"all":{"a":{"k":"a","n":1,"q":5},"l":[],"n":5,"new":1}}]}`},
		},
		"values that another file gives": {
			name: "sub.yaml.gotmpl", given: map[string]any{"v": "given", "w": "given"}, files: map[string]string{"sub.yaml.gotmpl": `environments: {default: {values: [{v: own, o: own}]}}
values: [{w: low, u: low}]
---
releases: [{name: "a-{{ .Values.v }}-{{ .Values.w }}-{{ .Values.u }}-{{ .Values | get "p" "none" }}-{{ .Environment.Values.o }}", chart: ./c}]
`},
			want: []string{`{"chart":"./c","name":"a-given-given-low-none-own"}`},
		},
		"functions": {
			name: "h.yaml.gotmpl", files: map[string]string{"h.yaml.gotmpl": `releases:
- name: {{ include "n" (dict "n" 3) }}
  chart: ./c
  installedTemplate: '{{` + "`{{ eq .Release.Name \"x-3\" }}`" + `}}'
  valuesTemplate: [{name: '{{` + "`{{ .Release.Name }}`" + `}}', n: '{{` + "`{{ 3 }}`" + `}}'}]
  values:
  - g: {{ .Values | getOrNil "a.b" | default "nil" }}
    f: {{ readFile "d/t.txt" | trim }}
    i: {{ isFile "d/nope" }}{{ isDir "d" }}
    r: {{ readDir "d" | toJson }}
    u: {{ env "NOPE" | default "unset" }}
    t: {{ tpl "{{ .x }}-y" (dict "x" "q") }}
    s: {{ (dict "a" (dict "b" 1) | setValueAtPath "a.c" 2) | toJson }}
    y: {{ (fromYaml "a: [1, b]").a | toJson }}
`, "_h.tpl": `{{- define "n" -}}x-{{ .n }}{{- end -}}`, "d/t.txt": "hi\n", "d/sub/x": ""},
			want:  []string{`{"chart":"./c","installed":true,"name":"x-3","values":[{"n":"3","name":"x-3"},{"f":"hi","g":"nil","i":"falsetrue","r":["d/t.txt"],"s":{"a":{"b":1,"c":2}},"t":"q-y","u":"unset","y":[1,"b"]}]}`},
			noted: "the variable NOPE, which a template reads from the environment, is empty",
		},
		"releases of two documents, of which the later ones replace the others": {
			name: "helmfile.yaml", files: map[string]string{"helmfile.yaml": "releases:\n- {name: a, chart: ./c}\n---\nreleases:\n- {name: b, chart: ./c}\n"},
			want: []string{`{"chart":"./c","name":"b"}`}, noted: "helmfile.yaml:4: these releases replace those of an earlier document",
		},
		"bases, whose lists come first": {
			name: "helmfile.yaml", files: map[string]string{"helmfile.yaml": "bases: [b/one.yaml, b/two.yaml]\nenvironments:\n  default: {values: [{m: main}]}\n---\nreleases:\n- {name: main, chart: ./c}\n",
				"b/one.yaml": "templates: {t: {namespace: '{{ .Values.m }}-{{ .Values.one }}'}}\nenvironments:\n  default: {values: [one.yaml, {m: one}]}\n", "b/two.yaml": "defaultInherit: t\n", "one.yaml": "one: 1\n"},
			want: []string{`{"chart":"./c","name":"main","namespace":"main-1"}`},
		},
	} {
		t.Run(what, func(t *testing.T) {
			got, noted, err := read(t, files(t, c.files), c.name, c.environment, c.given)
			if err != nil || !slices.Equal(got, c.want) || !strings.Contains(noted, c.noted) || c.noted == "" && noted != "" {
				t.Errorf("got\n%s\n%s %v\nwant\n%s\n%s", strings.Join(got, "\n"), noted, err, strings.Join(c.want, "\n"), c.noted)
			}
		})
	}
}

// What cannot be read is refused with file and line, and nothing of the machine is.
func TestRead_Refused(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", "a secret of the job")
	state := func(text string) map[string]string { return map[string]string{"h.yaml.gotmpl": text} }
	for want, all := range map[string]map[string]string{
		`h.yaml.gotmpl:3: <.Values.none>: map has no entry for key "none"`: state("releases:\n- name: a\n  chart: {{ .Values.none }}\n"),
		`h.yaml.gotmpl:2: function "nope" not defined`:                     state("releases:\n- name: {{ nope }}\n"),
		`the variable AICR_TEST_TOKEN of the environment is required`:      state("releases: [{name: {{ requiredEnv \"AICR_TEST_TOKEN\" }}}]"),
		`exec runs a program`:                                                     state("releases: [{name: {{ exec \"sh\" (list \"-c\" \"id\") }}}]"),
		`fetchSecretValue reads a secret store`:                                   state("releases: [{name: {{ fetchSecretValue \"ref+file:///etc/passwd\" }}}]"),
		`/etc/passwd is no file of this repository`:                               state("releases: [{name: {{ readFile \"/etc/passwd\" }}}]"),
		`../../../../etc/passwd is no file of this repository`:                    state("releases: [{name: {{ readFile \"../../../../etc/passwd\" }}}]"),
		`h.yaml.gotmpl:3: environments and releases: helmfile wants environments`: state("environments: {}\n\nreleases: []\n"),
		`h.yaml.gotmpl:3: bases and releases: helmfile wants bases`:               state("releases: []\n---\nbases: []\n"),
		`it has no environment prod, only: default`:                               state("releases: []\n"),
		`h.yaml.gotmpl:2: it has no environment prod, only: default, test`:        state("environments:\n  test: {}\n---\nreleases: [{name: {{ .Values.x }}}]\n"),
		`h.yaml.gotmpl:1: the base b.yaml is no file`:                             state("bases: [b.yaml]\n"),
		`b.yaml:1: a base that has bases itself`:                                  {"h.yaml.gotmpl": "bases: [b.yaml]\n", "b.yaml": "bases: [c.yaml]\n"},
		`the file of values gone.yaml is no file of this repository`:              state("environments: {prod: {values: [gone.yaml]}}\n"),
		`e.hcl is written in HCL`:                                                 {"h.yaml.gotmpl": "environments: {prod: {values: [e.hcl]}}\n", "e.hcl": ""},
		`secrets of environment prod`:                                             state("environments: {prod: {secrets: [s.yaml]}}\n"),
		`the template a inherits itself`:                                          state("environments: {prod: {}}\n---\ntemplates: {a: {inherit: [{template: a}]}}\nreleases: [{name: a, inherit: [{template: a}]}]\n"),
		`there is no template "b" under templates`:                                state("environments: {prod: {}}\n---\nreleases: [{name: a, inherit: [{template: b}]}]\n"),
		`"x" is no path that ends in .enabled`:                                    state("environments: {prod: {}}\n---\nreleases: [{name: a, condition: x}]\n"),
		`no environment has a mapping "x" among its values; there are: y`:         state("environments: {prod: {values: [{y: 1}]}}\n---\nreleases: [{name: a, condition: x.enabled}]\n"),
		`name each other without end`:                                             state("environments: {prod: {}}\n---\nreleases: [{name: '{{`{{ .Release.Chart }}x`}}', chart: '{{`{{ .Release.Name }}x`}}'}]\n"),
		`h.yaml.gotmpl:4: did not find expected`:                                  state("environments: {prod: {}}\n---\nreleases:\n- {name: a\n"),
		`only a file whose name ends in .gotmpl is a template of helmfile`:        {"h.yaml": "environments: {prod: {}}\n---\nreleases:\n- name: {{ .Environment.Name }}\n"},
		`a document of helmfile is a mapping`:                                     state("- a\n"),
		`v.yaml:1: yaml: did not find expected node content`:                      {"h.yaml.gotmpl": "environments: {prod: {values: [v.yaml]}}\n", "v.yaml": "1: [}"},
	} {
		name := "h.yaml.gotmpl"
		if _, ok := all[name]; !ok {
			name = "h.yaml"
		}
		got, _, err := read(t, files(t, all), name, "prod", nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a secret of the job") {
			t.Errorf("want %s\n got %s, %v", want, got, err)
		}
	}
}

// The lines of what a template makes are those of the template.
func TestAligned(t *testing.T) {
	template := "releases:\n{{- range .Values.list }}\n- name: {{ . }}\n  chart: ./c\n{{- end }}\n- name: last\n  values:\n  - a: {{ .x\n    }}\n    b: 1\n    {{- toYaml .y | nindent 4 }}\n"
	made := "releases:\n- name: a\n  chart: ./c\n- name: b\n  chart: ./c\n- name: last\n  values:\n  - a: 1\n    b: 1\n    q: 3\n"
	want := []int{1, 3, 4, 3, 4, 6, 7, 8, 10, 10, 10}
	if got := aligned(template, made); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
