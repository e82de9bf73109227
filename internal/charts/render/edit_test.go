package render

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// What a deployer sets is written into the kustomization, as that deployer does it, and not laid over it.
func TestEdited(t *testing.T) {
	const base = "namePrefix: a-\nnameSuffix: -z\nimages: [{name: web, newTag: '1', digest: sha256:1}, {name: old, newName: other}]\nreplicas: [{name: web, count: 1}]\n" +
		"commonLabels: {team: a}\nlabels: [{pairs: {l: a}, includeSelectors: true}, {pairs: {m: a}}]\npatches: [{path: own.yaml}]\n"
	for name, c := range map[string]struct {
		edit, settings string
		patches        []string
		want, wrong    string // parts, with commas between
	}{
		"a prefix replaces the kustomization's":      {EditFlux, `{"namePrefix": "f-", "namespace": "other"}`, nil, "namePrefix: f-\n,nameSuffix: -z\n,namespace: other\n", ""},
		"Flux merges the fields of an image":         {EditFlux, `{"images": [{"name": "web", "newName": "new"}]}`, nil, "- digest: sha256:1\n  name: web\n  newName: new\n  newTag: \"1\"\n", ""},
		"a tag and a digest are one to Flux":         {EditFlux, `{"images": [{"name": "web", "newTag": "2"}]}`, nil, "- name: web\n  newTag: \"2\"\n- name: old\n", ""},
		"Argo CD replaces the whole image":           {EditArgo, `{"images": [{"name": "web", "newName": "new"}]}`, nil, "- name: old\n  newName: other\n- name: web\n  newName: new\nlabels:", ""},
		"* keeps what the kustomization has":         {EditArgo, `{"images": [{"name": "web", "newName": "*", "newTag": "*"}, {"name": "more", "newTag": "*"}]}`, nil, "- name: more\n,- name: web\n  newTag: \"1\"\n", ""},
		"replicas by name":                           {EditArgo, `{"replicas": [{"name": "web", "count": 3}, {"name": "db", "count": 2}]}`, nil, "- count: 3\n  name: web\n- count: 2\n  name: db\n", ""},
		"a label that is there":                      {EditArgo, `{"commonLabels": {"team": "b"}}`, nil, "", "label team is in the kustomization already"},
		"the same, forced":                           {EditArgo, `{"commonLabels": {"team": "b"}, "forceCommonLabels": true}`, nil, "commonLabels:\n  team: b\n", ""},
		"labels without selectors":                   {EditArgo, `{"commonLabels": {"x": "b"}, "labelWithoutSelector": true}`, nil, "- pairs:\n    m: a\n    x: b\n", ""},
		"labels in templates":                        {EditArgo, `{"commonLabels": {"m": "b"}, "labelWithoutSelector": true, "labelIncludeTemplates": true}`, nil, "- includeTemplates: true\n  pairs:\n    m: b\n", ""},
		"labels in templates need it":                {EditArgo, `{"commonLabels": {"m": "b"}, "labelIncludeTemplates": true}`, nil, "", "needs labelWithoutSelector"},
		"patches come behind those of its own":       {EditFlux, ``, []string{`{"patch": "p"}`}, "patches:\n- path: own.yaml\n- patch: p\n", ""},
		"without anything it stays as it is written": {EditFlux, ``, nil, "", ""},
	} {
		in := KustomizationInput{Dir: "apps", Files: map[string][]byte{"apps/kustomization.yml": []byte(base)}, Edit: c.edit, Settings: []byte(c.settings), Patches: c.patches}
		file, text, err := in.edited()
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: got %v, want %q", name, err, c.wrong)
			}
			continue
		}
		if err != nil || (file == "") != (c.want == "") {
			t.Errorf("%s: got %q, %v", name, file, err)
		}
		for _, want := range strings.Split(c.want, "\n,") {
			if !strings.Contains(string(text), strings.TrimSuffix(want, "\n")) {
				t.Errorf("%s: it lacks %q:\n%s", name, want, text)
			}
		}
		var any map[string]any
		if err := yaml.Unmarshal(text, &any); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A patch of Flux comes before the names and images of its kustomization are changed, and the prefix is one.
func TestBuild_Edited(t *testing.T) {
	in := KustomizationInput{Dir: ".", Edit: EditFlux, Settings: []byte(`{"namePrefix": "f-"}`), Patches: []string{`{"patch": "- {op: replace, path: /spec/template/spec/containers/0/image, value: web}", "target": {"kind": "Deployment", "name": "web"}}`},
		Files: map[string][]byte{
			"kustomization.yaml": []byte("resources: [web.yaml]\nnamePrefix: a-\nimages: [{name: web, newTag: '2'}]\n"),
			"web.yaml":           []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: a, image: old}]}}}\n"),
		}}
	out, err := buildKustomization(in)
	if err != nil {
		t.Fatal(err)
	}
	if o := out.Objects[0]; o.Name != "f-web" || !strings.Contains(o.YAML, "image: web:2") || o.From != "web.yaml" || len(o.Changed) != 1 || o.Changed[0].Patch != 0 || len(out.Unused) > 0 {
		t.Errorf("got %+v, unused %v", o, out.Unused)
	}
}
