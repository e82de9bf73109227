package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// checked runs matrix check, with what it prints.
func checked(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	code = execute(t.Context(), append([]string{"check"}, args...), func(string) string { return "" }, &out, &err)
	return code, out.String(), err.String()
}

const hurriedJob = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: default}
spec: {activeDeadlineSeconds: 1, template: {spec: {restartPolicy: Never, containers: [{name: m, image: registry.example.com/m:1, args: ["$(NOPE)"]}]}}}
`

// A finding has its place first, the exit code of a run, and its ID; it is JSON and SARIF too.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(hurriedJob), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := checked(t, "--app", dir)
	for _, want := range []string{filepath.Join(dir, "a.yaml") + ":4: error: Job default/migrate", "[MX102] (WORKLOAD_FAILED, exit code 1)", "warning: Job default/migrate", "[MX101]", "1 error, 1 warning in 1 cell ("} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d, want 1, and %q in\n%s", code, want, out)
		}
	}
	var read struct {
		Cells []struct {
			Findings []result.Finding `json:"findings"`
		} `json:"cells"`
	}
	if code, out, _ = checked(t, "--app", dir, "-o", "json"); code != 1 || json.Unmarshal([]byte(out), &read) != nil || len(read.Cells) != 1 || len(read.Cells[0].Findings) != 2 {
		t.Errorf("exit %d, JSON %s", code, out)
	}
	if code, out, _ = checked(t, "--app", dir, "-o", "sarif"); code != 1 || !strings.Contains(out, `"ruleId": "MX102"`) {
		t.Errorf("exit %d, SARIF %s", code, out)
	}
}

// What is ignored makes no exit code, and is listed with its reason; an entry that hits nothing is a warning.
func TestCheck_Ignore(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(hurriedJob), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ignored.yaml")
	if err := os.WriteFile(file, []byte("ignore:\n- {check: MX102, object: Job/default/migrate, reason: the image is on every node}\n- {check: MX101, object: Job/default/other, reason: gone}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := checked(t, "--app", dir, "--ignore-file", file)
	if code != 0 || !strings.Contains(out, "ignored: Job default/migrate (") || !strings.Contains(out, "the image is on every node ("+file+":2)") || !strings.Contains(out, "0 errors, 1 warning, 1 ignored in 1 cell") {
		t.Errorf("exit %d, printed\n%s", code, out)
	}
	if !strings.Contains(stderr, file+":3 ignores nothing: check MX101 found nothing for Job/default/other") {
		t.Errorf("stderr %q", stderr)
	}
	for _, flags := range [][]string{{"--ignore", "MX102"}, {"--ignore", "MX999"}, {"--only", "nope"}, {"--ignore-file", filepath.Join(dir, "none")}, {"-o", "yaml"}} {
		if code, _, stderr := checked(t, append([]string{"--app", dir}, flags...)...); code != 2 || stderr == "" {
			t.Errorf("%q: exit %d, want 2; %s", flags, code, stderr)
		}
	}
}

// A recipe of this repository has no error, and no cluster is needed to say so.
func TestCheck_Recipe(t *testing.T) {
	if code, out, stderr := checked(t, "eks-training", "--recipes-dir", "../../recipes", "--deployer", "helm,flux-oci"); code != 0 || !strings.Contains(out, "0 errors") {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
}

// docs/checks.md is what make generate writes.
func TestChecksPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := invoke(t, nil, "explain", "--checks-markdown").stdout; string(page) != got {
		t.Error("docs/checks.md is not that of the list of checks: run make generate")
	}
}

// What a repository sets for nothing is a warning with its line: a value that its own chart does not have, an object that
// Argo CD is to ignore differences of, a patch of Flux to a release's objects. A file of values that two charts share may have
// values of each. Findings about it do not call it a recipe.
func TestCheck_SetForNothing(t *testing.T) {
	template := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\nspec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: a}}\n  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: web, image: \"nginx:1.29\"}]}}\n"
	application := func(name, more string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n  syncPolicy: {syncOptions: [CreateNamespace=true]}\n" +
			"  source: {repoURL: https://example.com/team/apps.git, path: charts/" + name + ", helm: {valueFiles: [../../common.yaml]}}\n" + more
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git/config": "[remote \"origin\"]\n\turl = https://example.com/team/apps.git\n", "common.yaml": "replicas: 2\nowner: me\nreplcas: 3\n",
		"charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "charts/web/values.yaml": "replicas: 1\n", "charts/web/templates/web.yaml": template,
		"charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n", "charts/db/values.yaml": "replicas: 1\n", "charts/db/templates/db.yaml": template,
		"argocd/web.yaml": application("web", "  ignoreDifferences:\n  - {group: apps, kind: Deployment, name: wed, jsonPointers: [/spec/replicas]}\n  - {group: apps, kind: Deployment, name: web, jsonPointers: [/spec/replicas]}\n"), "argocd/db.yaml": application("db", ""),
		"flux/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: own, namespace: web}\nspec: {interval: 1h, url: https://example.com/team/apps.git}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: web}\nspec:\n  interval: 1h\n  chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: own}}}\n" +
			"  values: {replica: 2}\n  postRenderers:\n  - kustomize:\n      patches:\n      - target: {kind: Deployment, name: wed}\n        patch: '[{\"op\": \"add\", \"path\": \"/spec/paused\", \"value\": true}]'\n      - target: {kind: Deployment, name: web}\n        patch: '[{\"op\": \"add\", \"path\": \"/spec/revisionHistoryLimit\", \"value\": 1}]'\n",
		"plain/a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: default}\nspec:\n  selector: {matchLabels: {app: a}}\n  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: \"nginx:1.29\", envFrom: [{configMapRef: {name: none}}]}]}}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for at, c := range map[string]struct {
		want []string
		not  string
	}{
		"argocd": {[]string{`web: chart web 1.0.0 has no value replcas, set at ` + filepath.Join(dir, "common.yaml") + `:3; nothing reads it: did you mean "replicas"?`, "ignores differences of Deployment wed (spec.ignoreDifferences), which it does not have; the nearest is Deployment web/web", "argocd/web.yaml:10) [MX563]"}, "owner"},
		"flux":   {[]string{`web: chart web 1.0.0 has no value replica, set at ` + filepath.Join(dir, "flux/web.yaml") + `:16; nothing reads it: did you mean "replicas"?`, "has a patch whose target (kind Deployment, name wed) selects no object; the nearest is Deployment web in the namespace web", "flux/web.yaml:20) [MX563]"}, "name web)"},
		"plain":  {[]string{"nothing in the repository makes it [MX143]"}, "the recipe"},
	} {
		_, out, _ := checked(t, "--app", filepath.Join(dir, at))
		for _, want := range c.want {
			if !strings.Contains(out, want) || strings.Contains(out, c.not) {
				t.Errorf("%s: want %q and no %q in\n%s", at, want, c.not, out)
			}
		}
	}
}
