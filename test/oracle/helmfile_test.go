//go:build oracle

package oracle

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/kwok"
)

// installer notes what it would install, a line a release: its words, each in base64, with the content of a file of
// values in place of its name. It succeeds, and says that it is Helm.
const installer = `#!/bin/bash
if [ "$1" = version ]; then echo v3.21.4+g0000000; exit; fi
if [ "$1" != upgrade ]; then exit; fi
line= last=
for word; do
  if [ "$last" = --values ]; then word=$(cat "$word"; echo x); word=${word%x}; fi
  line+="$(printf %s "$word" | base64 -w0) "
  last=$word
done
printf '%s\n' "$line" >>"$CALLS"
`

// helmfile installs what our reader of its files says: the releases, their charts and values, each after what it needs.
func TestOracleHelmfile(t *testing.T) {
	testskip.Short(t, "it starts helmfile for each input")
	s, err := stack.NewHelmfile(infratest.Cache(t), kwok.HelmfileMod, kwok.HelmfileSum)
	if err != nil {
		t.Fatal(err)
	}
	program := s.Bin("helmfile")
	if _, err := os.Stat(program); err != nil {
		testskip.Missing(t, "the stack has no helmfile (%v): run `matrix stack build --helmfile`", err)
	}
	if err := madeOf(program, "github.com/helmfile/helmfile", s.Version("github.com/helmfile/helmfile")); err != nil {
		t.Fatal(err)
	}
	dir := infratest.ShortTempDir(t)
	helm := filepath.Join(dir, "helm")
	if err := os.WriteFile(helm, []byte(installer), 0o755); err != nil {
		t.Fatal(err)
	}
	n := 0
	o := &oracle{name: "helmfile", version: s.Version("github.com/helmfile/helmfile"), asked: repositories(t, "helmfile"), generate: (*generator).helmfile}
	o.program = func(ctx context.Context, all []input) (map[string]verdict, error) {
		verdicts := map[string]verdict{}
		for i := range all {
			n++
			v, err := synced(ctx, program, helm, filepath.Join(dir, fmt.Sprint("h", n)), &all[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[i].Name, err)
			}
			verdicts[all[i].Name] = *v
		}
		return verdicts, kept(t, verdicts, o.asked)
	}
	o.compare = func(ctx context.Context, in *input, v *verdict) (*difference, error) {
		n++
		return compareRepository(ctx, filepath.Join(dir, fmt.Sprint("r", n)), o.name, in, v)
	}
	o.run(t, nil)
}

// synced asks helmfile to install everything with a Helm that only notes it.
func synced(ctx context.Context, helmfile, helm, dir string, in *input) (*verdict, error) {
	if err := write(dir, in); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := "helmfile.yaml"
	if files, _, _ := filesOf(in); files["cluster/helmfile.yaml.gotmpl"] != "" {
		file += ".gotmpl"
	}
	record := dir + ".calls"
	args := []string{"--helm-binary", helm, "--file", filepath.Join(dir, "cluster", file), "--no-color"}
	if e := environmentOf(in); e != "" {
		args = append(args, "--environment", e)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, helmfile, append(args, "sync", "--concurrency", "1")...)
	cmd.Env = []string{"HOME=" + filepath.Dir(dir), "PATH=" + os.Getenv("PATH"), "CALLS=" + record, "HELMFILE_UPGRADE_NOTICE_DISABLED=1", "TMPDIR=" + filepath.Dir(dir)}
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("helmfile did not end within a minute:\n%s", in.yaml())
	}
	if err != nil {
		return &verdict{Word: "fails", Message: lastLines(words.String())}, nil
	}
	v := &verdict{Word: "installs"}
	raw, err := os.ReadFile(record)
	if os.IsNotExist(err) {
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(record) }()
	for line := range strings.Lines(string(raw)) {
		o, err := installed(dir, strings.Fields(line))
		if err != nil {
			return nil, err
		}
		v.Objects = append(v.Objects, o)
	}
	return v, nil
}

// installed is the release of a call of helm upgrade.
func installed(dir string, encoded []string) (map[string]any, error) {
	var words []string
	for _, e := range encoded {
		text, err := base64.StdEncoding.DecodeString(e)
		if err != nil {
			return nil, err
		}
		words = append(words, string(text))
	}
	var names []string
	namespace, version, values := "default", "", map[string]any{}
	for i := 1; i < len(words); i++ {
		flag, value, joined := strings.Cut(words[i], "=")
		next := func() string {
			if !joined && i+1 < len(words) {
				i++
				value = words[i]
			}
			return value
		}
		switch flag {
		case "--namespace":
			namespace = next()
		case "--version":
			version = next()
		case "--values":
			more := map[string]any{}
			if err := yaml.Unmarshal([]byte(next()), &more); err != nil {
				return nil, err
			}
			values = chartutil.MergeTables(more, values) // nil stays until the chart is rendered
		case "--set", "--set-string":
			parse := strvals.ParseInto
			if flag == "--set-string" {
				parse = strvals.ParseIntoString
			}
			if err := parse(next(), values); err != nil {
				return nil, err
			}
		case "--history-max", "--timeout", "--kube-context", "--description":
			next()
		default:
			if !strings.HasPrefix(flag, "-") {
				names = append(names, words[i])
			}
		}
	}
	if len(names) != 2 {
		return nil, fmt.Errorf("helm %q: not understood", words)
	}
	chart := names[1]
	if filepath.IsAbs(chart) || strings.HasPrefix(chart, ".") {
		return release(names[0], namespace, "local "+path.Base(chart), values), nil
	}
	return release(names[0], namespace, path.Base(chart)+" "+version, values), nil
}

// helmfile makes files of helmfile.
func (g *generator) helmfile() input {
	pick := func(all ...string) string { return all[g.IntN(len(all))] }
	template := g.IntN(2) == 0
	files := map[string]any{
		"charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "charts/c/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
		"cluster/env.yaml": "color: red\nlist: [a, b]\nmap: {x: 1, w: {z: 2}}\n", "cluster/prod.yaml": "color: blue\nmap: {x: 9, w: null}\nlist: [c]\nenabled: {web: {enabled: true}, db: {enabled: false}}\n",
		"cluster/env.yaml.gotmpl": "made: {{ .Environment.Name }}\nsum: {{ add 1 2 }}\nsize: {{ .Values | get \"size\" 4 }}\n",
		"cluster/values.yaml":     "a: file\nmap: {x: 1, w: 2}\nlist: [1, 2]\n", "cluster/more.yaml": "map: {w: null, z: 3}\nlist: [3]\nempty: {}\n",
		"cluster/values.yaml.gotmpl": "a: {{ .Release.Name }}\nb: {{ .Values | get \"color\" \"none\" | quote }}\nc: {{ .Environment.Name }}\nns: {{ .Release.Namespace | quote }}\nlabels: {{ .Release.Labels | toYaml | nindent 2 }}\n",
		"cluster/prod/values.yaml":   "from: prod\n", "cluster/default/values.yaml": "from: default\n",
		"cluster/base.yaml":                "helmDefaults: {wait: true}\nrepositories: [{name: based, url: https://example.com/based}]\n" + pick("", "environments: {default: {values: [{color: based}]}, prod: {values: [{color: based-prod}]}}\n", "templates: {t: {namespace: based, values: [{from: base}]}}\n", "commonLabels: {base: b}\n", "releases: [{name: frombase, namespace: b, chart: r/b, version: 1.0.0}]\n"),
		"cluster/sub/helmfile.yaml":        "repositories: [{name: r, url: https://example.com/r}]\nreleases: [{name: sub, namespace: s, chart: r/sub, version: 1.0.0, values: [{a: sub}]}]\n",
		"cluster/sub/helmfile.yaml.gotmpl": "releases: [{name: sub, namespace: s, chart: ../../charts/c, values: [{a: {{ .Values | get \"given\" \"none\" }}}]}]\n",
	}
	if g.IntN(2) == 0 {
		delete(files, "cluster/sub/helmfile.yaml.gotmpl")
	} else {
		delete(files, "cluster/sub/helmfile.yaml")
	}
	sub := "sub/helmfile.yaml"
	if files["cluster/sub/helmfile.yaml"] == nil {
		sub += ".gotmpl"
	}
	var docs []string
	head := ""
	if g.IntN(3) == 0 {
		head += "bases: [base.yaml]\n"
	}
	value := func() string {
		return pick("{color: green, size: 1}", "{map: {x: 5, none: null}, list: [z]}", "env.yaml", "prod.yaml", "env.yaml.gotmpl", "'*v.yaml'", "{enabled: {web: {enabled: false}, db: {enabled: true}}}", "{a: {b: {enabled: true}}}")
	}
	if g.IntN(3) > 0 {
		head += "environments:\n  default:\n    values: [" + value() + pick("", ", "+value()) + "]\n  prod:\n    values: [" + value() + ", " + value() + "]\n" + pick("", "    missingFileHandler: Warn\n")
	}
	if head != "" {
		docs = append(docs, head)
	}
	body := "repositories: [{name: r, url: https://example.com/r}]\n"
	body += pick("", "values: ["+value()+"]\n", "helmDefaults: {createNamespace: true}\n", "commonLabels: {team: x}\n", "namespace: forced\n", "helmfiles: ["+sub+"]\n", "helmfiles: [{path: "+sub+", values: [{given: x}]}]\n", "helmfiles: [{path: "+sub+", values: [env.yaml]}]\n", "missingFileHandler: Warn\n", "defaultInherit: [{template: t}]\n")
	if g.IntN(2) == 0 || strings.Contains(body, "template: t") {
		body += "templates:\n  t: {" + pick("namespace: templated", "values: [{t: x, a: t}]", "version: 7.0.0, labels: {l: t}", "inherit: [{template: u}], values: [{t: 1}]", "valuesTemplate: [{name: '{{ .Release.Name }}'}]", "values: ['{{ .Release.Name }}.yaml'], missingFileHandler: Warn", "set: [{name: s, value: t}]", "needs: [x/web]", "installed: false") + "}\n  u: {values: [{u: x}], labels: {u: x}}\n"
	}
	expression := func(text string) string {
		if template {
			return "{{ " + text + " }}"
		}
		return "fixed"
	}
	named := func(name string) string {
		lines := []string{"name: " + name, "chart: " + pick("r/"+name, "r/"+name, "../charts/c")}
		more := []string{"namespace: x", "namespace: '" + expression(".Environment.Name") + "'", "namespace: 'ns-{{ .Release.Name }}'", "version: 1.2.3", "values: [{a: inline, num: 1.0, big: 1000000, t: 'true', date: 2020-01-01}]", "values: [values.yaml, more.yaml]", "values: [values.yaml.gotmpl]", "values: [{map: {x: 1, w: 2}, list: [1, 2]}, more.yaml]", "values: ['{{ .Environment.Name }}/values.yaml']", "values: [none.yaml]", "values: [{a: '" + expression(".Values | get \"color\" \"none\"") + "'}]", "set: [{name: s, value: v}, {name: m.x, value: '5'}]", "set: [{name: l[0], value: a,b}]", "setString: [{name: s, value: '7'}]", "set: [{name: l, values: [a, b]}]", "setTemplate: [{name: s, value: '{{ .Release.Name }}'}]", "valuesTemplate: [{r: '{{ .Release.Name }}', e: '{{ .Environment.Name }}', l: '{{ .Release.Labels }}'}]", "condition: enabled." + name + ".enabled", "condition: a.b.enabled", "condition: 'true'", "installed: " + pick("false", "true", "'"+expression("eq .Environment.Name \"prod\"")+"'"), "installedTemplate: '{{ eq .Environment.Name \"prod\" }}'", "conditionTemplate: 'enabled.{{ .Release.Name }}.enabled'", "labels: {app: " + name + "}", "inherit: [{template: t}]", "inherit: [{template: t, except: [values]}]", "inherit: [{template: u}]", "missingFileHandler: Warn", "wait: true", "needs: [" + pick("web", "x/web", "db", "'x/web', 'db'", "default/web") + "]", "namespace: ''", "version: '~1.2'", "createNamespace: false", "values: [{a: null, map: {x: null}}, {a: over}]", "values: []"}
		used := map[string]bool{}
		for range g.IntN(6) {
			line := more[g.IntN(len(more))]
			if key, _, _ := strings.Cut(line, ":"); !used[key] && !(key == "needs" && name == "web") {
				used[key] = true
				lines = append(lines, line)
			}
		}
		if !used["version"] && !strings.Contains(lines[1], "charts") {
			lines = append(lines, "version: 1.0.0")
		}
		return "- " + strings.Join(lines, "\n  ") + "\n"
	}
	body += "releases:\n"
	names := []string{"web", "db", "cache"}[:1+g.IntN(3)]
	if g.IntN(2) == 0 {
		slices.Reverse(names)
	}
	for _, name := range names {
		body += named(name)
	}
	if template && g.IntN(2) == 0 {
		body += pick("{{ range $i, $n := list \"p\" \"q\" }}\n- {name: loop-{{ $n }}, namespace: x, chart: r/loop-{{ $n }}, version: 1.0.0, values: [{i: {{ $i }}}]}\n{{ end }}", "{{ if eq .Environment.Name \"prod\" }}\n- {name: only, namespace: x, chart: r/only, version: 1.0.0}\n{{ end }}", "- {name: late, namespace: {{ .Values | get \"map.w.z\" \"none\" | quote }}, chart: r/late, version: 1.0.0}\n", "- {name: state, namespace: x, chart: r/s, version: 1.0.0, values: [{all: {{ .Values | toJson }}, same: {{ .StateValues | toJson }}}]}\n", "- {name: read, namespace: x, chart: r/s, version: 1.0.0, values: [{text: {{ readFile \"env.yaml\" | quote }}}]}\n", "- {name: req, namespace: x, chart: r/s, version: 1.0.0, values: [{v: {{ .Values.color | quote }}}]}\n", "- {name: env, namespace: x, chart: r/s, version: 1.0.0, values: [{v: {{ env \"NONE\" | default \"d\" | quote }}}]}\n")
	}
	docs = append(docs, body)
	name := "cluster/helmfile.yaml"
	if template {
		name += ".gotmpl"
	}
	files[name] = strings.Join(docs, "---\n")
	in := repositoryOf("Helmfile", files)
	if g.IntN(2) == 0 {
		in.Subject["environment"] = "prod"
	}
	return in
}
