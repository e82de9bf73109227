package app

import (
	"path/filepath"
	"strings"
	"testing"
)

// Of a directory without kustomization.yaml Flux takes every YAML file, but for those that its source leaves
// out; a directory of Kustomize in it is built.
func TestOpen_Artifact(t *testing.T) {
	const (
		map1   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "
		source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec:\n  url: ssh://git@example.com/team/apps\n"
	)
	for name, tc := range map[string]struct {
		files map[string]string
		err   string
	}{
		"values beside objects":       {map[string]string{"base/values.yaml": "size: 1\n"}, "base/values.yaml:1: a document without apiVersion or kind: of "},
		"a chart beside objects":      {map[string]string{"base/chart/Chart.yaml": webChart}, "base/chart/Chart.yaml:1: a document without apiVersion or kind"},
		"values that are left out":    {map[string]string{"base/values.yaml": "size: 1\n", ".sourceignore": "values.yaml\n"}, ""},
		"by spec.ignore":              {map[string]string{"base/values.yaml": "size: 1\n", "cluster/source.yaml": source + "  ignore: |\n    base/values.yaml\n"}, ""},
		"by Flux's own list":          {map[string]string{"base/.sops.yaml": "creation_rules: []\n"}, ""},
		"which .sourceignore ends":    {map[string]string{"base/.sops.yaml": "creation_rules: []\n", ".sourceignore": "docs/\n"}, "base/.sops.yaml:1: a document without"},
		"a picture for a ConfigMap":   {map[string]string{"base/logo.png": "x", "base/kustomization.yaml": "resources: [redis.yaml]\nconfigMapGenerator: [{name: a, files: [logo.png]}]\n"}, "logo.png"},
		"a path that is left out":     {map[string]string{".sourceignore": "/base\n"}, `path "./base" of Kustomization base is no directory of this repository that Flux gets: spec.ignore of its GitRepository or .sourceignore leaves it out`},
		"one object in two files":     {map[string]string{"base/a.yaml": map1 + "a}\n", "base/b.yaml": map1 + "a}\n"}, "already registered id"},
		"a directory of Kustomize":    {map[string]string{"base/in/kustomization.yaml": "resources: [a/map.yaml]\nnamePrefix: x-\n", "base/in/a/map.yaml": map1 + "a, namespace: default}\n", "base/in/other.yaml": "size: 1\n"}, ""},
		"sources that do not agree":   {map[string]string{"cluster/source.yaml": source + "  ignore: a\n---\n" + strings.Replace(source, "name: flux-system", "name: other", 1)}, ""},
		"values files that are not":   {map[string]string{"apps/web.yaml": strings.Replace(webRelease, "      sourceRef:", "      valuesFiles: [env/none.yaml]\n      sourceRef:", 1)}, "values file env/none.yaml of HelmRelease web is no file"},
		"values files that may miss":  {map[string]string{"apps/web.yaml": strings.Replace(webRelease, "      sourceRef:", "      valuesFiles: [env/none.yaml]\n      ignoreMissingValuesFiles: true\n      sourceRef:", 1)}, ""},
		"a directory without objects": {map[string]string{"base/redis.yaml": "# nothing yet\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := open(t, filepath.Join(repo(t, flux(tc.files)), "cluster"), "")
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v, want %q", err, tc.err)
			}
		})
	}
}
