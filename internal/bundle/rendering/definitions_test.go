package rendering

import (
	"fmt"
	"strings"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
)

// A hook Job of an upgrade is named if its ServiceAccount may write definitions, and no other.
func TestDefinitionJob(t *testing.T) {
	const (
		job     = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: upgrade-crd}\nspec: {template: {spec: {serviceAccountName: sa}}}\n"
		binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}\nsubjects: [{kind: ServiceAccount, name: sa, namespace: ns}]\n"
	)
	role := func(verbs string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: " + verbs + "}]\n"
	}
	for name, tc := range map[string]struct {
		event    helmrelease.HookEvent
		hooks    []string
		manifest string
		want     string
	}{
		"all are hooks":               {helmrelease.HookPreUpgrade, []string{role("[get, patch]"), binding, job}, "", "upgrade-crd false []"},
		"the chart's own role":        {helmrelease.HookPostUpgrade, []string{job}, role(`["*"]`) + "---\n" + binding, "upgrade-crd true []"},
		"may create, and names files": {helmrelease.HookPreUpgrade, []string{role("[create, update]"), binding, strings.Replace(job, "sa}}}", "sa, containers: [{args: [apply-crds, --filepath=/opt/x/a.yaml, 'apply -f /b.yml -f c/d.yaml.gz']}]}}}", 1)}, "", "upgrade-crd true [a.yaml b.yml d.yaml]"},
		"reads only":                  {helmrelease.HookPreUpgrade, []string{role("[get, list]"), binding, job}, "", ""},
		"not bound":                   {helmrelease.HookPreUpgrade, []string{role("[patch]"), job}, "", ""},
		"installation only":           {helmrelease.HookPreInstall, []string{role("[patch]"), binding, job}, "", ""},
		"no Job":                      {helmrelease.HookPreUpgrade, []string{role("[patch]"), binding}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var hooks []*helmrelease.Hook
			for _, text := range tc.hooks {
				hooks = append(hooks, &helmrelease.Hook{Path: "c/templates/h.yaml", Manifest: text, Events: []helmrelease.HookEvent{tc.event}})
			}
			manifest, err := Parse(tc.manifest, "")
			if err != nil {
				t.Fatal(err)
			}
			got := definitionJobs(upgradeHooks(hooks), manifest)
			if (len(got) == 1) != (tc.want != "") || tc.want != "" && fmt.Sprintf("%s %v %v", got[0].Name, got[0].Creates, got[0].Files) != tc.want {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}
