package kustomization

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tree reads files from memory. A content with the prefix link: is a link, and one with the prefix
// too: a file that is too large.
type tree map[string]string

func (t tree) Read(name string) ([]byte, error) {
	text, ok := t[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	if problem, ok := strings.CutPrefix(text, "refused: "); ok {
		return nil, errors.New(problem)
	}
	return []byte(text), nil
}

func (t tree) Stat(name string) (fs.FileInfo, error) {
	fsys := fstest.MapFS{}
	for file, text := range t {
		fsys[file] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs.Stat(fsys, name)
}

// walk gives the names of the files, and the problems a line each.
func walk(t tree, dir string) (files, problems []string) {
	found, wrong := Walk(t, dir)
	for _, f := range found {
		files = append(files, f.Path)
	}
	for _, p := range wrong {
		problems = append(problems, fmt.Sprintf("%s:%d: %v", p.File, p.Line, p.Err))
	}
	slices.Sort(files)
	return files, problems
}

const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"

// Every file that a build would read is found, through every field that names one, and no other.
func TestWalk_FilesRead(t *testing.T) {
	files, problems := walk(tree{
		"app/prod/kustomization.yaml": `resources: [../base, own.yaml]
components: [../part]
crds: [crd.json]
configurations: [names.yaml]
openapi: {path: schema.json}
patches:
- path: patch.yaml
- patch: "- {op: remove, path: /a}"
  target: {kind: Deployment}
patchesStrategicMerge:
- merge.yaml
- |-
  kind: Deployment
patchesJson6902: [{path: six.yaml, target: {kind: Deployment}}]
replacements: [{path: replace.yaml}]
configMapGenerator: [{name: m, files: [a.txt, key=b@2.bin], envs: [vars.env]}, {name: n, env: old.env, literals: [a=b]}]
secretGenerator: [{name: s, files: [files/secret]}]
generators: [generate.yaml]
transformers:
- |-
  {apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: inner.yaml}
- ../labels
validators: []
`,
		"app/prod/own.yaml": deployment, "app/prod/crd.json": "{}", "app/prod/names.yaml": "a: 1", "app/prod/schema.json": "{}", "app/prod/patch.yaml": deployment,
		"app/prod/merge.yaml": deployment, "app/prod/six.yaml": "- {op: remove, path: /a}", "app/prod/replace.yaml": "[]", "app/prod/a.txt": "{{ no yaml", "app/prod/b2": "x",
		"app/prod/vars.env": "# a comment\n\nA=1\n", "app/prod/old.env": "B=", "app/prod/files/secret": "s", "app/prod/inner.yaml": deployment,
		"app/prod/generate.yaml":     "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: [g.txt]\nenvs: [g.env]\n---\n",
		"app/prod/g.txt":             "g",
		"app/prod/g.env":             "G=1",
		"app/base/kustomization.yml": "bases: [../deeper]\nresources: [base.yaml, ../deeper]\n", "app/base/base.yaml": deployment,
		"app/deeper/Kustomization":      "resources: []\n",
		"app/part/kustomization.yaml":   "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
		"app/labels/kustomization.yaml": "resources: [labels.yaml]\n",
		"app/labels/labels.yaml":        "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\n",
		"app/prod/not-named.yaml":       "x", "app/other/kustomization.yaml": "x",
	}, "app/prod")
	// A name with an @ might be a host of git's.
	if len(problems) != 1 || !strings.HasPrefix(problems[0], `app/prod/kustomization.yaml:16: "b@2.bin" is a remote base or file, or could be taken for one`) {
		t.Errorf("problems: %q", problems)
	}
	want := []string{"app/base/base.yaml", "app/base/kustomization.yml", "app/deeper/Kustomization", "app/labels/kustomization.yaml", "app/labels/labels.yaml", "app/part/kustomization.yaml"}
	for _, name := range []string{"a.txt", "crd.json", "files/secret", "g.env", "g.txt", "generate.yaml", "inner.yaml", "kustomization.yaml", "merge.yaml", "names.yaml", "old.env", "own.yaml", "patch.yaml", "replace.yaml", "schema.json", "six.yaml", "vars.env"} {
		want = append(want, "app/prod/"+name)
	}
	if slices.Sort(want); !slices.Equal(files, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(files, "\n"), strings.Join(want, "\n"))
	}
}

// What would be fetched, started or read elsewhere is refused at its line, through whichever field.
func TestWalk_Invalid(t *testing.T) {
	for name, c := range map[string]struct {
		tree tree // beside app/kustomization.yaml, whose text has no name
		want string
	}{
		"a remote base":                 {tree{"": "resources:\n- a.yaml\n- https://example.com/base\n"}, `app/kustomization.yaml:3: "https://example.com/base" is a remote base or file`},
		"one of git's short forms":      {tree{"": "resources: ['github.com/a/b//c?ref=v1']\n"}, `:1: "github.com/a/b//c?ref=v1" is a remote`},
		"another one":                   {tree{"": "resources: [a.yaml, github.com/a/b]\n"}, `:1: "github.com/a/b" is a remote`},
		"ssh":                           {tree{"": "bases: ['git@example.com:a/b.git']\n"}, `"git@example.com:a/b.git" is a remote`},
		"git over a host of its own":    {tree{"": "resources: [me@example.com/a/b]\n"}, `"me@example.com/a/b" is a remote`},
		"a host with a scheme of git's": {tree{"": "components: ['git::https://example.com/x']\n"}, "is a remote"},
		"a query":                       {tree{"": "resources: ['a.yaml?ref=x']\n"}, "is a remote"},
		"an upper case host":            {tree{"": "resources: [GitHub.com/a/b]\n"}, "is a remote"},
		"a remote patch":                {tree{"": "patches:\n- path: http://example.com/p.yaml\n"}, `app/kustomization.yaml:2: "http://example.com/p.yaml" is a remote`},
		"a remote strategic merge":      {tree{"": "patchesStrategicMerge: ['http://example.com/p.yaml']\n"}, "is a remote"},
		"a remote schema":               {tree{"": "openapi: {path: 'https://example.com/s'}\n"}, "is a remote"},
		"a remote replacement":          {tree{"": "replacements: [{path: 'https://example.com/s'}]\n"}, "is a remote"},
		"a remote file of a map":        {tree{"": "configMapGenerator: [{files: ['k=https://example.com/s']}]\n"}, `"https://example.com/s" is a remote`},
		"remote variables":              {tree{"": "secretGenerator: [{envs: ['https://example.com/s']}]\n"}, "is a remote"},
		"a remote generator":            {tree{"": "generators: ['https://example.com/s']\n"}, "is a remote"},
		"YAML with an address":          {tree{"": "patchesStrategicMerge: ['https://example.com/x: {kind: y}']\n"}, "is a remote"},
		"an address with kind":          {tree{"": "generators: ['example.com/x: y, kind']\n"}, "is a remote"},
		"a base's remote base":          {tree{"": "resources: [b]\n", "app/b/kustomization.yaml": "\n\nresources: ['https://example.com/s']\n"}, "app/b/kustomization.yaml:3: "},
		"under a merge key":             {tree{"": "x: &x {resources: ['https://example.com/s']}\n<<: *x\n"}, "is a remote"},
		"a program": {tree{"": "generators: [g.yaml]\n", "app/g.yaml": "\napiVersion: example.com/v1\nkind: Evil\nmetadata: {annotations: {config.kubernetes.io/function: 'exec: {path: ./x}'}}\n"},
			"app/g.yaml:2: example.com/v1 Evil is a plugin, a program that Kustomize starts, and none is ever started here"},
		"a program inline":         {tree{"": "transformers:\n- |-\n  apiVersion: example.com/v1\n  kind: Evil\n"}, "app/kustomization.yaml:2: example.com/v1 Evil is a plugin"},
		"a program as a validator": {tree{"": "validators: [b]\n", "app/b/kustomization.yaml": "resources: [g.yaml]\n", "app/b/g.yaml": "apiVersion: x/v1\nkind: E\n"}, "app/b/g.yaml:1: x/v1 E is a plugin"},
		"the second of two":        {tree{"": "generators: [g.yaml]\n", "app/g.yaml": "apiVersion: builtin\nkind: LabelTransformer\n---\napiVersion: x/v1\nkind: E\n"}, "app/g.yaml:4: x/v1 E is a plugin"},
		"a builtin that fetches":   {tree{"": "generators: [g.yaml]\n", "app/g.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\n"}, "app/g.yaml:1: HelmChartInflationGenerator has Kustomize start helm, which is never done here"},
		"a builtin's remote file":  {tree{"": "generators: [g.yaml]\n", "app/g.yaml": "apiVersion: builtin\nkind: X\npaths: ['https://example.com/s']\n"}, "app/g.yaml:3: "},
		"charts":                   {tree{"": "resources: []\nhelmCharts: [{name: x}]\n"}, "app/kustomization.yaml:2: helmCharts has Kustomize start helm, which is never done here, and by Argo CD only with --enable-helm; deliver the chart by itself: as a component of type Helm, an Application or a HelmRelease"},
		"charts as before":         {tree{"": "helmChartInflationGenerator: [{chartName: x}]\n"}, "helmChartInflationGenerator has Kustomize"},
		"charts on this machine":   {tree{"": "helmGlobals: {chartHome: /}\n"}, "helmGlobals has Kustomize"},
		"out of everything":        {tree{"": "resources: [../../x.yaml]\n"}, `app/kustomization.yaml:1: "../../x.yaml" leads out of the directory of the recipes`},
		"an absolute path":         {tree{"": "resources: [/etc/passwd]\n"}, `"/etc/passwd" is not a path relative to the kustomization`},
		"with backslashes":         {tree{"": "resources: ['..\\x']\n"}, "is not a path relative"},
		"a file of another's":      {tree{"": "configMapGenerator: [{files: [../other.txt]}]\n", "other.txt": "x"}, "app/kustomization.yaml:1: other.txt is neither in the directory of the kustomization nor below it"},
		"no such file":             {tree{"": "resources:\n- none.yaml\n"}, "app/kustomization.yaml:2: app/none.yaml does not exist; add it or correct the path"},
		"a directory for a file":   {tree{"": "patches: [{path: b}]\n", "app/b/x": ""}, "app/b is a directory; name a file"},
		"a link":                   {tree{"": "resources: [a.yaml, l.yaml]\n", "app/l.yaml": "refused: app/l.yaml is a symbolic link"}, "app/kustomization.yaml:1: app/l.yaml is a symbolic link"},
		"no kustomization":         {tree{"": "resources: [b]\n", "app/b/x.yaml": ""}, "app/kustomization.yaml:1: app/b has no kustomization.yaml"},
		"two kustomizations":       {tree{"": "", "app/Kustomization": ""}, "app has both kustomization.yaml and Kustomization; Kustomize takes one"},
		"an environment's value":   {tree{"": "configMapGenerator: [{envs: [v.env]}]\n", "app/v.env": "\uFEFFA=1\n\nHOME\n"}, `app/v.env:3: "HOME" has no value, so Kustomize takes it from the environment`},
		"no YAML":                  {tree{"": "a: [\n"}, "app/kustomization.yaml:2: malformed YAML"},
		"no YAML in a resource":    {tree{"": "resources: [a.yaml, b.yaml]\n", "app/b.yaml": "\na: b: c\n"}, "app/b.yaml:2: malformed YAML"},
		"aliases without end":      {tree{"": "resources: [b.yaml]\n", "app/b.yaml": "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 100) + "]\n"}, "app/b.yaml:2: "},
		"a list":                   {tree{"": "- a\n"}, "app/kustomization.yaml:1: it has 1 YAML documents; a kustomization is one, and a mapping"},
		"two documents":            {tree{"": "a: 1\n---\nb: 1\n"}, "it has 2 YAML documents"},
		"much text":                {tree{"": "configMapGenerator: [{files: [a, b]}]\n", "app/a": strings.Repeat("x", mostBytes/2), "app/b": strings.Repeat("x", mostBytes/2+1)}, "app/kustomization.yaml:1: with app/b the kustomization has 3 files and 32 MiB; the limits are"},
	} {
		files := tree{"app/kustomization.yaml": c.tree[""], "app/a.yaml": deployment}
		for file, text := range c.tree {
			if file != "" {
				files[file] = text
			}
		}
		_, problems := walk(files, "app")
		if len(problems) != 1 || !strings.Contains(problems[0], c.want) {
			t.Errorf("%s: got %.300q, want %q", name, problems, c.want)
		}
	}
	for dir, want := range map[string]string{"none": ":0: the directory none does not exist; add it or correct the path", "app/a.yaml": ":0: app/a.yaml is not a directory"} {
		if _, problems := walk(tree{"app/a.yaml": ""}, dir); len(problems) != 1 || !strings.HasPrefix(problems[0], want) {
			t.Errorf("%s: got %q", dir, problems)
		}
	}
}

// Bases that name each other, and very many files, end.
func TestWalk_Limits(t *testing.T) {
	files, problems := walk(tree{"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n"}, "a")
	if len(files) != 2 || len(problems) > 0 { // Kustomize refuses the cycle
		t.Errorf("got %q, %q", files, problems)
	}
	many := tree{}
	var names strings.Builder
	for i := range mostFiles + 10 {
		fmt.Fprintf(&names, "- f%d\n", i)
		many[fmt.Sprintf("a/f%d", i)] = ""
	}
	many["a/kustomization.yaml"] = "configMapGenerator:\n- files:\n" + strings.ReplaceAll(names.String(), "- ", "  - ")
	w := &walker{Reader: flat(many), visited: map[string]bool{}}
	w.directory("a", place{}, false)
	if len(w.problems) != 1 || !strings.Contains(w.problems[0].Err.Error(), "2001 files") {
		t.Errorf("got %v", w.problems)
	}
}

// flat is a tree whose Stat does not copy it.
type flat tree

func (f flat) Read(name string) ([]byte, error) { return tree(f).Read(name) }

func (f flat) Stat(name string) (fs.FileInfo, error) {
	text, ok := f[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return fs.Stat(fstest.MapFS{"x": {Data: []byte(text)}}, "x")
}

func TestPatches(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string // patches as LINE ENTRY, or one problem
	}{
		"strategic merge":      {"# about\n" + deployment, []string{`2 {"patch":"# about\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"}`}},
		"two of them":          {deployment + "---\n" + deployment, []string{`1 {"patch":"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"}`, `5 {"patch":"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"}`}},
		"an entry":             {"target: {kind: Deployment}\npatch: |-\n  - op: remove\n    path: /spec\n", []string{`1 {"patch":"- op: remove\n  path: /spec","target":{"kind":"Deployment"}}`}},
		"a list of entries":    {"- patch: a\n  options: {allowNameChange: true}\n- patch: b\n", []string{`1 {"options":{"allowNameChange":true},"patch":"a"}`, `3 {"patch":"b"}`}},
		"operations alone":     {"- op: remove\n  path: /spec\n", []string{"1: a JSON 6902 patch alone does not say what it is for"}},
		"one operation":        {"\nop: remove\n", []string{"2: a JSON 6902 patch alone does not say what it is for"}},
		"a path":               {"- patch: a\n- path: other.yaml\n  target: {kind: Deployment}\n", []string{"2: path is of no use here"}},
		"something else":       {"a: 1\n", []string{"1: it is no patch"}},
		"nothing":              {"# nothing\n", []string{"1: it has no patch"}},
		"no YAML":              {"a: [\n", []string{"2: malformed YAML"}},
		"a key that is a list": {"? [a]\n: 1\npatch: x\n", []string{"1: it cannot be read as a patch"}},
	} {
		patches, problems := Patches("p.yaml", []byte(c.text))
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d: %v", p.Line, p.Err))
		}
		for _, p := range patches {
			got = append(got, fmt.Sprintf("%d %s", p.Line, p.Entry))
		}
		if len(got) != len(c.want) || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if _, problems := Patches("p.yaml", []byte(strings.Repeat("- {patch: a}\n", mostPatches+1))); len(problems) != 1 || problems[0].Line != mostPatches+1 {
		t.Errorf("got %v", problems)
	}
}
