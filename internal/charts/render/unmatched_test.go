package render

import (
	"fmt"
	"strings"
	"testing"
)

const twoDeployments = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec: {template: {spec: {containers: [{name: web, image: "ghcr.io/team/web:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: data}
spec: {template: {spec: {containers: [{name: db, image: "postgres:1"}]}}}
`

// What selects nothing is found, by Kustomize's own rules: renamed, deleted and moved objects are selected by either name.
func TestUnmatched(t *testing.T) {
	const replicas = `patch: '[{"op": "add", "path": "/spec/replicas", "value": 2}]'`
	patch := func(target string) string {
		return "patches:\n- target: " + target + "\n  " + replicas + "\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"hit":                    {patch("{kind: Deployment, name: web}"), ""},
		"hit by a pattern":       {patch("{kind: Deployment, name: w.*}"), ""},
		"hit by a label":         {patch("{labelSelector: tier=front}"), ""},
		"a prefix, both names":   {"namePrefix: p-\n" + patch("{name: web}"), ""},
		"another name":           {patch("{kind: Deployment, name: wep}"), "patches 0: kind Deployment, name wep; Deployment web (named)"},
		"another kind":           {patch("{kind: Deploymnet}"), "patches 0: kind Deploymnet; Deployment db in the namespace data (named)"},
		"a kind that is not":     {patch("{kind: StatefulSet}"), "patches 0: kind StatefulSet; "},
		"the name of another":    {patch("{kind: StatefulSet, name: web}"), "patches 0: kind StatefulSet, name web; Deployment web (named)"},
		"another namespace":      {patch("{kind: Deployment, name: db, namespace: date}"), "patches 0: kind Deployment, name db, namespace date; Deployment db in the namespace data (named)"},
		"another label":          {patch("{labelSelector: tier=back}"), "patches 0: labelSelector tier=back; "},
		"deleted by a later one": {"patches:\n- target: {name: web}\n  " + replicas + "\n- patch: |\n    {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, $patch: delete}\n", ""},
		"renamed by an earlier": {"patches:\n- target: {name: web}\n  options: {allowNameChange: true}\n  patch: '[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"new\"}]'\n- target: {name: new}\n  " +
			replicas + "\n", ""},
		"image hit":              {"images: [{name: postgres, newTag: '2'}, {name: ghcr.io/team/web, newTag: '2'}]\n", ""},
		"image renamed":          {"images: [{name: postgres, newName: pg}, {name: pg, newTag: '2'}]\n", ""},
		"image without its host": {"images: [{name: web, newTag: '2'}]\n", "images 0: image web; ghcr.io/team/web"},
		"a replacement": {"replacements:\n- source: {kind: Deployment, name: web, fieldPath: metadata.name}\n  targets: [{select: {kind: Deployment, name: db}, fieldPaths: [metadata.annotations.a], options: {create: true}}, {select: {kind: Deployment, name: dbs}, fieldPaths: [metadata.annotations.a], options: {create: true}}]\n",
			"replacements 0: kind Deployment, name dbs; Deployment db in the namespace data (named)"},
		"digest": {"images: [{name: postgre, digest: 'sha256:0'}]\n", "images 0: image postgre; postgres"},
	} {
		in := kustomization("resources: [resources.yaml]\n"+c.text, twoDeployments)
		out, err := buildKustomization(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, u := range in.unmatched(out.Objects) {
			text := fmt.Sprintf("%s %d: %s; %s", u.Field, u.Index, u.Selects, u.Near)
			if u.Named {
				text += " (named)"
			}
			got = append(got, text)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Patches and images that a deployer writes into a kustomization are told from its own; those of a component are looked at
// where it is used.
func TestUnmatched_Edited(t *testing.T) {
	in := kustomization("resources: [resources.yaml]\ncomponents: [../part]\npatches:\n- target: {name: web}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/replicas\", \"value\": 2}]'\n", twoDeployments)
	in.Files["part/kustomization.yaml"] = []byte("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {name: db}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/replicas\", \"value\": 2}]'\n- target: {name: none}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/replicas\", \"value\": 2}]'\n")
	in.Edit, in.Settings = EditFlux, []byte(`{"images": [{"name": "postgre", "newTag": "2"}]}`)
	in.Patches = []string{`{"target": {"kind": "Deployment", "name": "dbs"}, "patch": "[{\"op\": \"add\", \"path\": \"/spec/replicas\", \"value\": 3}]"}`}
	out, err := buildKustomization(in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range in.unmatched(out.Objects) {
		got = append(got, fmt.Sprintf("%d %s %s %d %s", u.Patch, u.File, u.Field, u.Index, u.Selects))
	}
	want := "0 app/kustomization.yaml patches 1 kind Deployment, name dbs\n-1 part/kustomization.yaml patches 1 name none\n-1  images 0 image postgre"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}
