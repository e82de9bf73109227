package app

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A project that no AppProject is stops an Application where the projects that there are can be listed; else it is not verified, with
// the line of the cluster file that says so.
func TestProjects_Missing(t *testing.T) {
	const project = "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team, namespace: argocd}\nspec: {sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}]}\n"
	of := func(name string) string { return strings.Replace(webApp, "project: team", "project: "+name, 1) }
	windows := func(schedule string) string {
		return strings.Replace(project, "spec: {", "spec: {syncWindows: [{kind: allow, schedule: '"+schedule+"', duration: 1h, namespaces: [web]}, {kind: deny, schedule: '* *', duration: 1h, namespaces: [other]}], ", 1)
	}
	root, _, _ := strings.Cut(strings.NewReplacer("name: web,", "name: root,", "path: charts/web", "path: p", "project: team", "project: default").Replace(webApp), "    helm:")
	for name, c := range map[string]struct {
		files            map[string]string
		cluster          string
		refused, unknown string
	}{
		"there":                {map[string]string{"apps/web.yaml": of("team"), "apps/project.yaml": project}, "", "", ""},
		"a sync window":        {map[string]string{"apps/web.yaml": of("team"), "apps/project.yaml": windows("0 22 * * *")}, "", "", "its project team has the sync window allow 0 22 * * * for 1h, and a cell heeds none"},
		"a bad sync window":    {map[string]string{"apps/web.yaml": of("team"), "apps/project.yaml": windows("22:00")}, "", "which has a sync window that Argo CD cannot read: schedule \"22:00\"", ""},
		"misspelt":             {map[string]string{"apps/web.yaml": of("tema"), "apps/project.yaml": project}, "", "names the project tema, and there is no AppProject of that name; did you mean team?", ""},
		"none at all":          {map[string]string{"apps/web.yaml": of("team")}, "", "", "whether Argo CD has its project team, and whether that permits it: no file of this repository has it; if Argo CD has it, say so in --cluster-file: `projects: [team]`"},
		"only beside the path": {map[string]string{"apps/web.yaml": of("tema"), "bootstrap/project.yaml": project}, "", "", "did you mean team?"},
		"of a template":        {map[string]string{"apps/web.yaml": of("tema"), "apps/project.yaml": project, "x/projects.yaml": "{{- range .Values.teams }}\nkind: AppProject\n{{- end }}\n"}, "", "", "did you mean team?"},
		"made by Kustomize":    {map[string]string{"apps/web.yaml": of("my-team"), "apps/root.yaml": root, "p/kustomization.yaml": "namePrefix: my-\nresources: [project.yaml, app.yaml]\n", "p/project.yaml": project, "p/app.yaml": strings.ReplaceAll(of("my-team"), "name: web,", "name: inner,")}, "", "", ""},
		"in the cluster file":  {map[string]string{"apps/web.yaml": of("team")}, "projects: [team]\n", "", "whether its project team permits it"},
		"another in that file": {map[string]string{"apps/web.yaml": of("team")}, "projects: [teams]\n", "did you mean teams?", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := FindApp(t.Context(), filepath.Join(repo(t, argo(c.files)), "apps"), nil)
			if err != nil {
				t.Fatal(err)
			}
			l := newLayout(t.Context(), a.repo)
			t.Cleanup(l.by.close)
			if c.cluster != "" {
				if l.cluster, err = clusterFile(t, c.cluster); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.applications(a); err != nil {
				t.Fatal(err)
			}
			var refused []string
			for _, r := range l.Refused {
				refused = append(refused, r.Text)
				if strings.Contains(r.Text, "sync window") && r.Then != "Argo CD never syncs it: correct the window" {
					t.Errorf("%s; %s", r.Text, r.Then)
				}
				if r.At.Line == 0 {
					t.Errorf("%s has no line", r.Text)
				}
			}
			for what, x := range map[string]struct {
				got  []string
				want string
			}{"refused": {refused, c.refused}, "not verified": {l.notVerified, c.unknown}} {
				all := strings.Join(x.got, "\n")
				if x.want == "" && strings.Contains(all, "project") || !strings.Contains(all, x.want) {
					t.Errorf("%s: got %q, want %q", what, all, x.want)
				}
			}
		})
	}
	t.Run("--init", func(t *testing.T) {
		a, err := FindApp(t.Context(), filepath.Join(repo(t, argo(map[string]string{"apps/web.yaml": of("team")})), "apps"), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := bundle.ByName([]string{bundle.ArgoCDGit})
		if err != nil {
			t.Fatal(err)
		}
		missing, err := a.Missing(t.Context(), d[0])
		if err != nil {
			t.Fatal(err)
		}
		if text, err := missing.Encode(); err != nil || !strings.Contains(string(text), "projects:\n- team\n") {
			t.Errorf("got %s, %v", text, err)
		}
	})
}

// The generators of an ApplicationSet look through a repository of which the cluster file names the directory, with its own paths; of one
// that is left out they make nothing.
func TestAppSet_OtherRepository(t *testing.T) {
	const other = "https://example.com/team/other"
	set := func(git string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec:\n  goTemplate: true\n  generators:\n  - git:\n      repoURL: " + other + "\n      revision: HEAD\n      " + git +
			"\n  template:\n    metadata: {name: 'x-{{.path.basename}}'}\n    spec:\n      project: default\n      destination: {server: https://kubernetes.default.svc, namespace: web}\n      syncPolicy: {syncOptions: [CreateNamespace=true]}\n      source: {repoURL: " + other + ", path: '{{.path.path}}', targetRevision: HEAD}\n"
	}
	for name, git := range map[string]string{"directories": "directories: [{path: deploy/*}]", "files": "files: [{path: deploy/*/app.json}]"} {
		t.Run(name, func(t *testing.T) {
			a, err := FindApp(t.Context(), filepath.Join(repo(t, argo(map[string]string{
				"apps/redis.yaml": "", "apps/web.yaml": set(git), "vendor/deploy/web/Chart.yaml": webChart, "vendor/deploy/web/templates/web.yaml": webTemplate, "vendor/deploy/web/app.json": "{}",
				"deploy/own/app.json": "{}",
			})), "apps"), nil)
			if err != nil {
				t.Fatal(err)
			}
			d, err := bundle.ByName([]string{bundle.ArgoCDGit})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Open(t.Context(), d[0]); err == nil || !strings.Contains(err.Error(), "`repositories: {"+other+": DIR}`") {
				t.Errorf("without the file: got %v", err)
			}
			if a.Cluster, err = clusterFile(t, "repositories: {"+other+": vendor}\n"); err != nil {
				t.Fatal(err)
			}
			b, err := a.Open(t.Context(), d[0])
			if err != nil {
				t.Fatal(err)
			}
			components, _ := b.Components()
			if len(components) != 1 || components[0].Name != "x-web" {
				t.Errorf("got %+v", components)
			}
		})
	}
}
