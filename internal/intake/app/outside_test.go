package app

import (
	"path/filepath"
	"strings"
	"testing"
)

// An app in no clone reads what is in its own directory, wherever the program was started: by none of the
// ways in which a file can be named does it get one beside it, and the error says how to make more the
// repository.
func TestOpen_Outside(t *testing.T) {
	const own = "since no .git shows where it begins: run `git init` in its root"
	release := strings.Replace(webRelease, "      chart: charts/web\n", "      chart: charts/web\n      valuesFiles: [../.kube/config]\n", 1)
	for name, c := range map[string]struct {
		files map[string]string
		at    string
		want  string
	}{
		"valueFiles":                   {argo(map[string]string{"apps/web.yaml": strings.Replace(webApp, "../../env/test.yaml", "../../../../.kube/config", 1)}), "apps/web.yaml", own},
		"valueFiles from the root":     {argo(map[string]string{"apps/web.yaml": strings.Replace(webApp, "../../env/test.yaml", "/../../.kube/config", 1)}), "apps", own},
		"the path of a chart":          {argo(map[string]string{"apps/web.yaml": strings.Replace(webApp, "charts/web", "../../.kube", 1)}), "apps", own},
		"valuesFiles of a HelmRelease": {flux(map[string]string{"apps/web.yaml": release}), ".", own},
		"the path of a Kustomization":  {flux(map[string]string{"cluster/base.yaml": strings.Replace(flux(nil)["cluster/base.yaml"], "./base", "../../.kube", 1)}), ".", own},
		"values of a helmfile":         {helmfile(map[string]string{"env/test.yaml": "", "helmfile.yaml": strings.Replace(helmfile(nil)["helmfile.yaml"], "- env/test.yaml", "- ../../.kube/config", 1)}), ".", own},
		"readFile in a helmfile":       {map[string]string{"helmfile.yaml.gotmpl": "releases:\n- name: a\n  chart: ./a\n  values: [{a: {{ readFile \"../../.kube/config\" | quote }}}]\n", "a/Chart.yaml": webChart}, ".", ".kube/config"},
		"a resource":                   {map[string]string{"kustomization.yaml": "resources: [../../.kube/config]\n"}, ".", own},
		"a generator":                  {map[string]string{"kustomization.yaml": "configMapGenerator: [{name: a, files: [../../.kube/config]}]\n"}, ".", own},
		"Git's own":                    {argo(map[string]string{".git/config": "token: SECRET\n", "apps/web.yaml": strings.Replace(webApp, "../../env/test.yaml", "/.git/config", 1)}), "apps", "values file /.git/config of Application web is no file of this repository"},
	} {
		all := map[string]string{".kube/config": "token: SECRET\n"}
		for file, text := range c.files {
			if file != ".git/config" || name == "Git's own" {
				all["get/app/"+file] = text
			}
		}
		home := repo(t, all)
		t.Setenv("HOME", home)
		t.Chdir(home)
		_, err := open(t, filepath.Join("get", "app", c.at), "")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
