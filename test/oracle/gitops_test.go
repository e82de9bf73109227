//go:build oracle

package oracle

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

var update = flag.Bool("update", false, "keep what the programs say of testdata/repositories")

// repositoryURL is that of the repository that an input is.
const repositoryURL = "https://example.com/team/apps.git"

// What kustomize-controller makes of a Kustomization is what the reader of repositories expects, object by object.
func TestOracleFlux(t *testing.T) {
	gitops(t, "flux", "github.com/fluxcd/pkg/kustomize", (*generator).flux)
}

// What the repo-server makes of an Application's source is what the reader of repositories expects.
func TestOracleArgo(t *testing.T) {
	gitops(t, "argo", "github.com/argoproj/argo-cd/v3", (*generator).argo)
}

// The applicationset-controller generates the Applications that the reader of repositories expects.
func TestOracleAppSet(t *testing.T) {
	gitops(t, "appset", "github.com/argoproj/argo-cd/v3", (*generator).appset)
}

// laidOut is the directory in which an input was laid out, another one each time.
var laidOut = regexp.MustCompile(`/\S*/(repository-|h)\d+/`)

// kept compares what a program says of the kept inputs with what it said when they were, or keeps that with -update.
func kept(t *testing.T, verdicts map[string]verdict, asked []input) error {
	for i := range asked {
		v, ok := verdicts[asked[i].Name]
		if !ok {
			continue // while a difference is made small
		}
		v.Message = laidOut.ReplaceAllString(v.Message, "")
		raw, err := json.MarshalIndent(&v, "", " ")
		if err != nil {
			return err
		}
		file := answerFile(&asked[i])
		if *update {
			if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
				return err
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%w; -update writes it", err)
		}
		if strings.TrimSpace(string(have)) != string(raw) {
			t.Errorf("%s: the program says something else now: see what, and write it with -update", file)
		}
	}
	return nil
}

func gitops(t *testing.T, part, module string, generate func(*generator) input) {
	testskip.Short(t, "it compiles libraries of controllers")
	_, version, s := theStack(t)
	d := *theProgram(t, "renders", version)
	d.of, d.version, d.env = module, s.Version(module), []string{"PATH=" + filepath.Dir(s.Bin("kustomize")) + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	dir := infratest.ShortTempDir(t)
	o := &oracle{name: part, version: d.version, asked: repositories(t, part), generate: generate}
	o.program = func(ctx context.Context, all []input) (map[string]verdict, error) {
		seen, done := make(chan []string), make(chan struct{})
		go func() { seen <- networkOf(d.path, done) }()
		a, err := d.ask(ctx, part, dir, all, 0)
		close(done)
		if sockets := <-seen; len(sockets) > 1 {
			t.Errorf("the process has sockets of a network: %v", sockets[1:])
		}
		if err != nil {
			return nil, err
		}
		return a.Verdicts, kept(t, a.Verdicts, o.asked)
	}
	n := 0
	o.compare = func(ctx context.Context, in *input, v *verdict) (*difference, error) {
		n++
		return compareRepository(ctx, filepath.Join(dir, fmt.Sprint("r", n)), part, in, v)
	}
	o.run(t, nil)
}

// kustomized are files of a kustomization and what it may need, in apps/.
func (g *generator) kustomized() map[string]any {
	pick := func(all ...string) string { return all[g.IntN(len(all))] }
	files := map[string]any{
		"apps/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web, labels: {app: web}}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - {name: main, image: \"" + pick("nginx", "nginx:1.0", "example.com/a/nginx:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef") + "\", envFrom: [{configMapRef: {name: settings}}]}\n",
		"apps/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: web" + pick("", "", ", annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}", ", labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}") + "}\ndata:\n  text: " + pick("plain", "'${A}'", "'$${A}'", "'${A:-x}'", "'${A:=y}'", "'${B}'", "'$A'", "'${A/a/b}'", "'${A^^}'", "'${A:0:1}'", "'${#A}'", "'${NUM:-}'", "'a${A}b${B}c'", "'{{ .x }}'", "'$(A)'", "|\n    line ${A}\n    two", "'${A%a}'", "'$${B} ${A}'", "'${A:+x}'", "'${1}'", "'${A-d}'", "'${NONE}'", "'${A'", "\"123\"", "\"${NUM}\"") +
			"\n  number: " + pick("\"1\"", "'${NUM}'", "'${NUM:=5}'", "\"yes\"") + "\n",
		"apps/service.yaml":               "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n",
		"components/c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + pick("patches:\n- patch: |\n    - {op: replace, path: /spec/replicas, value: 7}\n  target: {kind: Deployment}\n", "configMapGenerator:\n- {name: more, namespace: web, literals: [a=b]}\n", "namePrefix: c-\n", "commonLabels: {of: c}\n", "images: [{name: nginx, newTag: c}]\n"),
		"base/kustomization.yaml":         "resources: [more.yaml]\n" + pick("", "namePrefix: base-\n", "labels: [{pairs: {from: base}, includeSelectors: true}]\n", "images: [{name: busybox, newName: example.com/box}]\n"),
		"base/more.yaml":                  "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job, namespace: web}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: busybox}]}}}\n",
	}
	if g.IntN(6) == 0 {
		return files // none
	}
	lines := []string{"resources: [web.yaml, config.yaml, service.yaml" + pick("", "", ", ../base") + "]"}
	more := []string{"namePrefix: a-", "nameSuffix: -z", "namespace: other", "commonLabels: {team: a}", "commonAnnotations: {note: a}", "images: [{name: nginx, newTag: '2'}]", "images: [{name: nginx, newName: example.com/n, newTag: '3'}]", "images: [{name: nginx, digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]", "replicas: [{name: web, count: 3}]",
		"labels: [{pairs: {l: a}}]", "labels: [{pairs: {l: a}, includeSelectors: true}]", "labels: [{pairs: {l: a}, includeTemplates: true}]", "patches: [{path: patch.yaml}]", "patches:\n- patch: '- {op: add, path: /metadata/labels/p, value: x}'\n  target: {kind: Deployment, name: web}", "configMapGenerator: [{name: made, literals: [a=1, b=${A}]}]", "configMapGenerator: [{name: made, namespace: web, files: [file.txt], options: {disableNameSuffixHash: true}}]", "secretGenerator: [{name: hidden, namespace: web, literals: [a=1]}]",
		"generatorOptions: {disableNameSuffixHash: true, labels: {g: a}}", "components: [../components/c]", "replacements:\n- source: {kind: ConfigMap, name: settings, fieldPath: data.number}\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.n], options: {create: true}}]", "configMapGenerator: [{name: settings, namespace: web, behavior: merge, literals: [extra=1]}]", "patchesStrategicMerge: [patch.yaml]", "buildMetadata: [originAnnotations]", "sortOptions: {order: fifo}", "sortOptions: {order: legacy}", "patchesJson6902: [{target: {version: v1, kind: Service, name: web}, patch: '- {op: replace, path: /spec/ports/0/port, value: 81}'}]"}
	used := map[string]bool{}
	for range g.IntN(5) {
		line := more[g.IntN(len(more))]
		if key, _, _ := strings.Cut(line, ":"); !used[key] {
			used[key] = true
			lines = append(lines, line)
		}
	}
	files["apps/patch.yaml"] = pick("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\nspec: {replicas: 5}\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\nspec: {template: {spec: {containers: [{name: main, image: busybox}]}}}\n", "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: web}\n$patch: delete\n")
	files["apps/file.txt"] = "text ${A}\n"
	files[pick("apps/kustomization.yaml", "apps/kustomization.yaml", "apps/kustomization.yml", "apps/Kustomization")] = pick("", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n") + strings.Join(lines, "\n") + "\n"
	return files
}

// patch is an entry of patches, as text of YAML.
func (g *generator) patch() string {
	return []string{
		"{patch: '- {op: replace, path: /spec/replicas, value: 9}', target: {kind: Deployment}}",
		"{patch: '- {op: add, path: /metadata/annotations, value: {p: y}}', target: {kind: Deployment, name: web}}",
		"{patch: '- {op: replace, path: /spec/template/spec/containers/0/image, value: busybox}', target: {kind: Deployment, name: w.*}}",
		"{patch: \"apiVersion: apps/v1\\nkind: Deployment\\nmetadata: {name: web, namespace: web}\\nspec: {replicas: 8}\\n\"}",
		"{patch: \"apiVersion: v1\\nkind: Service\\nmetadata: {name: web, namespace: web}\\n$patch: delete\\n\"}",
		"{patch: '- {op: add, path: /metadata/labels, value: {only: this}}', target: {labelSelector: app=web}}",
		"{patch: '- {op: replace, path: /data/text, value: \"${A}\"}', target: {kind: ConfigMap, name: settings}}",
		"{patch: \"kind: x\\nmetadata: {name: y, labels: {all: z}}\\napiVersion: v1\\n\", target: {kind: ConfigMap|Service}}",
	}[g.IntN(8)]
}

// flux makes a Kustomization of Flux over files of Kustomize.
func (g *generator) flux() input {
	pick := func(all ...string) string { return all[g.IntN(len(all))] }
	files := g.kustomized()
	spec := []string{"interval: 10m", "path: " + pick("./apps", "apps", "/apps", "./apps/"), "prune: true", "sourceRef: {kind: GitRepository, name: flux-system}"}
	more := []string{"targetNamespace: target", "namePrefix: f-", "nameSuffix: -f", "images: [{name: nginx, newTag: '9'}]", "images: [{name: nginx, newName: example.com/f}]", "images: [{name: example.com/n, newTag: f}]", "images: [{name: busybox, newTag: f}]", "images: [{name: nginx, digest: sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb}]", "components: [../components/c]", "commonMetadata: {labels: {team: f, c: m}, annotations: {c: m}}", "patches: [" + g.patch() + "]", "patches: [" + g.patch() + ", " + g.patch() + "]"}
	used := map[string]bool{}
	for range g.IntN(4) {
		line := more[g.IntN(len(more))]
		if key, _, _ := strings.Cut(line, ":"); !used[key] {
			used[key] = true
			spec = append(spec, line)
		}
	}
	if g.IntN(2) == 0 {
		post := []string{}
		if g.IntN(3) > 0 {
			post = append(post, "substitute: {A: "+pick("a", "'1'", "\"two\\nlines\"", "''", "'yes'", "'a: b'", "'${B}'", "'\"'", "'#x'")+pick("", ", B: b", ", NUM: '5'", ", B: '', NUM: 'true'")+"}")
		}
		if g.IntN(3) == 0 {
			post = append(post, "substituteFrom: ["+pick("{kind: ConfigMap, name: vars}", "{kind: Secret, name: hidden-vars}", "{kind: ConfigMap, name: vars}, {kind: Secret, name: hidden-vars}", "{kind: ConfigMap, name: none, optional: true}")+"]")
		}
		if g.IntN(4) == 0 {
			post = append(post, "substituteStrategy: "+pick("Always", "WithVariables"))
		}
		spec = append(spec, "postBuild:")
		for _, line := range post {
			spec = append(spec, "  "+line)
		}
		if len(post) == 0 {
			spec[len(spec)-1] = "postBuild: {}"
		}
	}
	files["cluster/apps.yaml"] = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec:\n  " + strings.Join(spec, "\n  ") + "\n"
	files["cluster/vars.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {A: from, B: \"x\\ny\"}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: hidden-vars, namespace: flux-system}\nstringData: {B: secret, NUM: \"7\"}\n"
	return repositoryOf("Repository", files)
}

func repositoryOf(kind string, files map[string]any) input {
	return input{From: kind, Subject: map[string]any{"apiVersion": "oracle/v1", "kind": kind, "metadata": map[string]any{"name": "r"}, "files": files}}
}

// argo makes an Application over files of Kustomize, a directory or a chart.
func (g *generator) argo() input {
	files := g.kustomized()
	source := []string{"repoURL: " + repositoryURL, "targetRevision: HEAD"}
	add := func(under string, most int, more ...string) {
		used := map[string]bool{}
		var lines []string
		for range g.IntN(most) {
			line := more[g.IntN(len(more))]
			if key, _, _ := strings.Cut(line, ":"); !used[key] {
				used[key] = true
				lines = append(lines, "  "+line)
			}
		}
		if len(lines) > 0 {
			source = append(append(source, under+":"), lines...)
		}
	}
	kustomization := slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "apps/kustomization") })
	switch kind := g.IntN(8); {
	case kind > 4:
		files = map[string]any{}
		source = append(source, g.directory(files)...)
	case kind < 3 && kustomization:
		source = append(source, "path: apps")
		add("kustomize", 4, "namePrefix: f-", "nameSuffix: -f", "namespace: target", "images: ['nginx:9']", "images: ['nginx=example.com/f:1']", "images: ['nginx=example.com/f@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'busybox=*:x']", "images: ['nginx=*:8']", "replicas: [{name: web, count: 4}]", "replicas: [{name: web, count: '6'}]", "commonLabels: {team: f}", "commonLabels: {l: f}", "labelWithoutSelector: true", "labelIncludeTemplates: true", "forceCommonLabels: true", "commonAnnotations: {note: f}", "commonAnnotations: {other: f}", "forceCommonAnnotations: true", "components: [../components/c]", "patches: ["+g.patch()+"]", "patches: ["+g.patch()+", "+g.patch()+"]")
	case kind < 4 && !kustomization || kind == 3:
		for name := range files { // plain manifests
			if strings.HasPrefix(strings.ToLower(name), "apps/kustomization") || name == "apps/patch.yaml" {
				delete(files, name)
			}
		}
		source = append(source, "path: apps")
		list := map[string]string{"apps/sub/deep.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: deep, namespace: web}\n", "apps/x.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json", "namespace": "web"}}`, "apps/values.yaml": "a: 1\n", "apps/list.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: item, namespace: web}}\n", "apps/two.yml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: web}\n---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two, namespace: web}\n", "apps/text.yaml": "just text\n", "apps/skip.yaml": "# +argocd:skip-file-rendering\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: skipped, namespace: web}\n", "apps/empty.yaml": "", "apps/comment.yaml": "# nothing\n", "apps/tpl.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tpl, namespace: web}\ndata: {a: '{{ .Values.x }}'}\n", "apps/.hidden.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dot, namespace: web}\n"}
		names := slices.Sorted(maps.Keys(list))
		for range g.IntN(7) {
			name := names[g.IntN(len(names))]
			files[name] = list[name]
		}
		add("directory", 5, "recurse: true", "recurse: true", "exclude: 'sub/*'", "exclude: 'd*'", "include: '*.yaml'", "include: '{config,web}.yaml'", "exclude: 'w*'", "exclude: '*/deep.yaml'", "include: '**/*.yaml'", "exclude: '{x.json,text.yaml,values.yaml}'")
	default:
		files["charts/c/Chart.yaml"], files["charts/c/values.yaml"] = "apiVersion: v2\nname: c\nversion: 1.0.0\n", "a: 1\nmap: {x: 1, w: 2}\nlist: [1]\n"
		files["charts/c/templates/c.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\ndata:\n  values: {{ toJson .Values | quote }}\n  kube: {{ .Capabilities.KubeVersion.Minor | quote }}\n"
		files["charts/c/crds/d.yaml"] = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ds.example.com}\nspec: {group: example.com, names: {kind: D, plural: ds}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
		files["charts/c/more.yaml"] = "a: more\nmap: {w: null, z: 3}\n"
		source = append(source, "path: charts/c")
		add("helm", 5, "releaseName: rel", "values: 'a: 5'", "values: 'map: {x: null}'", "valuesObject: {a: object, map: {x: 7}}", "valuesObject: {list: []}", "valueFiles: [more.yaml]", "valueFiles: [/charts/c/more.yaml, none.yaml]", "ignoreMissingValueFiles: true", "parameters: [{name: a, value: '7'}]", "parameters: [{name: map.x, value: '8', forceString: true}, {name: 'list[0]', value: z}]", "parameters: [{name: a, value: 'x,y'}]", "skipCrds: true", "fileParameters: [{name: a, path: more.yaml}]", "parameters: [{name: a, value: 'true'}]", "namespace: elsewhere", "parameters: [{name: a, value: '{x}'}]")
	}
	files["cluster/app.yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n  source:\n    " + strings.Join(source, "\n    ") + "\n"
	return repositoryOf("Repository", files)
}

// directory makes directories of manifests in apps/, each file with an object that has its path's name, and the fields of
// a source that reads some of them.
func (g *generator) directory(files map[string]any) (source []string) {
	pick := func(all ...string) string { return all[g.IntN(len(all))] }
	dirs, names := []string{"", "a/", "b/", "a/deep/", "web/", "a.d/", ".h/"}, []string{"one.yaml", "two.yml", "three.json", "web.yaml", "web-2.yaml", "UPPER.YAML", "notes.txt"}
	for range 3 + g.IntN(7) {
		at := pick(dirs...) + pick(names...)
		name := strings.Trim(strings.Map(func(r rune) rune {
			if r == '/' || r == '.' {
				return '-'
			}
			return r
		}, strings.ToLower(at)), "-")
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: web}\n"
		if strings.HasSuffix(at, ".json") {
			text = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "` + name + `", "namespace": "web"}}`
		}
		files["apps/"+at] = text
	}
	if g.IntN(8) == 0 { // which a source that says directory reads as any other
		files["apps/"+pick("", "a/")+"kustomization.yaml"] = pick("resources: [one.yaml]\n", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [one.yaml]\n", "")
	}
	if g.IntN(12) == 0 {
		files["apps/"+pick("", "a/")+"Chart.yaml"] = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
	}
	pattern := func() string {
		return pick("*", "**", "*.yaml", "*.y*ml", "*.y?ml", "a/*", "a/**", "*/one.yaml", "**/one.yaml", "*one.yaml", "one.yaml", "./one.yaml", "/a/*", "a", "a/", "web", "web*", "web.yaml", "web/*", "[ab]/*", "[!a]*", "?/*", "a/deep/one.yaml", "a/*/*", "*/deep/*", ".*", "*.d/*", "{a,b}/*", "{a,b}/{one,two}.*", "{one.yaml,a/*}", "{*.json,web/*,a/deep/*}", "{web.yaml,web-2.yaml}", "{a/one.yaml,b/two.yml}", "{**/web.yaml,three.json}", "{a/*, b/*}", "*-2*", "apps/*", "*.YAML", "a\\\\/one.yaml", "[a")
	}
	fields := []string{pick("recurse: true", "recurse: true", "recurse: true", "recurse: false", "")}
	if g.IntN(2) == 0 {
		fields = append(fields, "include: '"+pattern()+"'")
	}
	if g.IntN(2) == 0 {
		fields = append(fields, "exclude: '"+pattern()+"'")
	}
	fields = slices.DeleteFunc(fields, func(f string) bool { return f == "" })
	source = []string{"path: " + pick("apps", "apps", "apps", "./apps", "apps/", "apps/a", ".")}
	if len(fields) > 0 || g.IntN(3) == 0 {
		source = append(source, "directory: {"+strings.Join(fields, ", ")+"}")
	}
	return source
}

// appset makes an ApplicationSet with some generators.
func (g *generator) appset() input {
	pick := func(all ...string) string { return all[g.IntN(len(all))] }
	goes := g.IntN(2) == 0
	files := map[string]any{
		"charts/one/Chart.yaml": "apiVersion: v2\nname: one\nversion: 1.0.0\n", "charts/two/Chart.yaml": "apiVersion: v2\nname: two\nversion: 1.0.0\n", "charts/one/values.yaml": "{}\n",
		"charts/one/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "charts/two/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c2}\n",
		"env/dev/config.yaml": "name: dev\nsize: 1\nnested: {a: b, list: [x]}\n", "env/prod/config.yaml": "name: prod\nsize: 1000000\nflag: true\nnested: {a: c}\n", "env/prod/many.yaml": "- {name: m1, size: 1}\n- {name: m2, size: 2.5}\n", "env/x.json": `{"name": "json", "nested": {"a": null}}`,
	}
	variable := func(name string) string {
		if goes {
			return "{{ ." + name + " }}"
		}
		return "{{" + name + "}}"
	}
	var leaf, any func(depth int) string
	leaf = func(int) string {
		switch g.IntN(5) {
		case 0:
			return "{list: {elements: [" + pick("{name: a, size: 1}", "{name: a, size: '2', nested: {a: b}}", "{name: a}, {name: b, size: 5}", "{name: dev, extra: x}, {name: prod, extra: y}", "{name: 'a b', size: null}", "{name: a, flag: false}") + "]}}"
		case 1:
			return "{git: {repoURL: '" + repositoryURL + "', revision: HEAD, files: [" + pick("{path: env/*/config.yaml}", "{path: 'env/**/config.yaml'}", "{path: env/*.json}", "{path: 'env/*'}", "{path: env/prod/many.yaml}", "{path: env/dev/config.yaml}, {path: env/prod/config.yaml}", "{path: 'env/*/config.yaml'}, {path: env/dev/config.yaml, exclude: true}", "{path: '*.json'}") + "]" + pick("", ", values: {v: '"+variable("name")+"'}", ", pathParamPrefix: p") + "}}"
		case 2:
			return "{git: {repoURL: '" + repositoryURL + "', revision: HEAD, directories: [" + pick("{path: 'env/*'}", "{path: charts/*}", "{path: '*'}", "{path: 'env/*'}, {path: env/dev, exclude: true}", "{path: env/prod}", "{path: 'e*/*'}") + "]" + pick("", ", values: {name: fixed}", ", pathParamPrefix: p") + "}}"
		case 3:
			return "{clusters: {" + pick("", "values: {name: of}", "values: {name: '"+variable("name")+"'}") + "}}"
		}
		return "{list: {elements: [{name: one}, {name: two}]" + pick("", ", template: {metadata: {labels: {from: list}}, spec: {project: default, destination: {}}}") + "}}"
	}
	any = func(depth int) string {
		switch n := g.IntN(6); {
		case depth < 2 && n == 0:
			return "{matrix: {generators: [" + any(depth+1) + ", " + any(depth+1) + "]}}"
		case depth < 2 && n == 1:
			return "{merge: {mergeKeys: [" + pick("name", "name", "name, size") + "], generators: [" + any(depth+1) + ", " + any(depth+1) + "]}}"
		}
		text := leaf(depth)
		if g.IntN(6) == 0 {
			text = strings.TrimSuffix(text, "}") + ", selector: {" + pick("matchLabels: {name: dev}", "matchExpressions: [{key: name, operator: NotIn, values: [a, one]}]", "matchExpressions: [{key: size, operator: Exists}]") + "}}"
		}
		return text
	}
	values := []string{"n: '" + variable("name") + "'"}
	if goes {
		values = append(values, pick("s: '{{ .size | default 3 }}'", "s: '{{ index . \"nested\" | toJson }}'", "s: '{{ if .flag }}on{{ end }}'", "s: '{{ .name | upper | trunc 3 }}'", "s: '{{ .path.basename | default \"none\" }}'", "s: '{{ toYaml .nested }}'", "s: '{{ .none }}'", "s: '{{ get . \"size\" }}'", "s: '{{ printf \"%v\" .size }}'", "s: '{{ normalize .name }}'", "s: '{{ slugify .name }}'", "s: '{{ range .nested.list }}{{ . }}{{ end }}'", "s: x"))
	} else {
		values = append(values, pick("s: '{{size}}'", "s: '{{nested.a}}'", "s: '{{path}}'", "s: '{{path.basename}}'", "s: '{{path[0]}}'", "s: '{{values.v}}'", "s: '{{p.path.basename}}'", "s: '{{metadata.labels.x}}'", "s: x", "s: '{{flag}}'", "s: '{{ name }}-{{server}}'", "s: '{{nested.list[0]}}'"))
	}
	name := variable("name")
	if goes && g.IntN(3) == 0 {
		name = pick("{{ .name | normalize }}", "{{ .path.basename }}", "app-{{ .name }}")
	} else if !goes && g.IntN(3) == 0 {
		name = pick("{{path.basename}}", "{{path.basenameNormalized}}", "app-{{name}}", "{{nameNormalized}}")
	}
	options := ""
	if goes {
		options = "  goTemplate: true\n" + pick("", "  goTemplateOptions: [missingkey=error]\n")
	}
	patch := ""
	if g.IntN(5) == 0 {
		patch = "  templatePatch: |\n    spec:\n      source:\n        helm:\n          valuesObject: {patched: '" + variable("name") + "'}\n"
	}
	files["cluster/set.yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec:\n" + options + "  generators:\n  - " + any(0) + "\n" + patch +
		"  template:\n    metadata: {name: '" + name + "'}\n    spec:\n      project: default\n      destination: {server: https://kubernetes.default.svc, namespace: web}\n      source:\n        repoURL: " + repositoryURL + "\n        targetRevision: HEAD\n        path: charts/one\n        helm:\n          valuesObject:\n            " + strings.Join(values, "\n            ") + "\n"
	return repositoryOf("Repository", files)
}
