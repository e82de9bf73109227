package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
)

// laidOut lays out objects of Flux at a path.
func laidOut(t *testing.T, files map[string]string, at, lane string) (*layout, error) {
	t.Helper()
	a, err := FindApp(t.Context(), filepath.Join(repo(t, files), at), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(t.Context(), a.repo)
	t.Cleanup(l.by.close)
	return l, l.flux(a, lane)
}

// waiting is the repository of flux, whose Kustomization base waits for more.
func waiting(more string) map[string]string {
	files := flux(map[string]string{"base/plain.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain, namespace: web}\n"})
	files["cluster/base.yaml"] += more
	return files
}

func TestWaits(t *testing.T) {
	check := func(text string) string { return "  healthChecks: [{" + text + "}]\n" }
	const ready = "  healthCheckExprs: [{apiVersion: v1, kind: ConfigMap, current: \"data.a == 'b'\"}]\n"
	const own = "apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, name: "
	for name, c := range map[string]struct {
		more string
		want string // of the check
	}{
		"nothing":                 {"", ""},
		"an object":               {check("apiVersion: v1, kind: ConfigMap, name: plain, namespace: web"), "v1 ConfigMap web/plain live base.yaml:8 of redis,base"},
		"of a group":              {check("apiVersion: apps/v1, kind: Deployment, name: x, namespace: web"), "v1 Deployment web/x live base.yaml:8 of redis,base"},
		"a HelmRelease":           {check(own + "redis, namespace: flux-system"), "v2 HelmRelease.helm.toolkit.fluxcd.io flux-system/redis base.yaml:8 of redis,base"},
		"a HelmRelease of none":   {check(own + "nosuch, namespace: flux-system"), "v2 HelmRelease.helm.toolkit.fluxcd.io flux-system/nosuch live base.yaml:8 of redis,base: which no file here has"},
		"a HelmRelease made here": {check(own + "base, namespace: flux-system"), "flux-system/base live base.yaml:8 of redis,base: which no file here has"},
		"in another namespace":    {check(own + "redis, namespace: redis"), "HelmRelease.helm.toolkit.fluxcd.io redis/redis live base.yaml:8 of redis,base: which no file here has; there is one at "},
		"a source":                {check("apiVersion: source.toolkit.fluxcd.io/v1, kind: HelmRepository, name: charts, namespace: flux-system"), ""},
		"a Kustomization":         {check("apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, name: nosuch, namespace: flux-system"), "nosuch base.yaml:8 of redis,base: which no file here has"},
		"one that waits for it":   {check("apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, name: apps, namespace: flux-system"), "each waits for the other"},
		"wait, and checks":        {"  wait: true\n" + check("apiVersion: v1, kind: ConfigMap, name: nosuch, namespace: web"), ""},
		"wait, with expressions":  {"  wait: true\n" + ready, "v1 ConfigMap web/plain live base.yaml:8 of redis,base"},
	} {
		l, err := laidOut(t, waiting(c.more), "cluster", bundle.FluxGit)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got string
		for _, check := range l.Checks {
			got += check.Version + " " + check.Object.String()
			if check.Live {
				got += " live"
			}
			got += fmt.Sprintf(" %s:%d of %s", filepath.Base(check.At.File), check.At.Line, strings.Join(check.Releases, ","))
			if check.Wrong != "" {
				got += ": " + check.Wrong
			}
		}
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Flux decides about expressions for what has a real controller here, in the root. The release waits
// for no object of the same kinds.
func TestWaits_Expressions(t *testing.T) {
	l, err := laidOut(t, waiting("  wait: true\n  healthCheckExprs:\n  - {apiVersion: v1, kind: ConfigMap, current: \"data.a == 'b'\"}\n  - {apiVersion: example.com/v1, kind: Thing, current: status.ready}\n"), "cluster", bundle.FluxGit)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Expressions) != 1 || l.Expressions[0].Kind != "ConfigMap" || l.Expressions[0].Kustomization != "base" {
		t.Errorf("got %+v", l.Expressions)
	}
	var release string
	for name, content := range l.files {
		if strings.HasSuffix(name, "-helmrelease-base.yaml") {
			release = string(content)
		}
	}
	if strings.Count(release, "current: \"true\"") != 2 {
		t.Errorf("the release has %s", release)
	}
	if text := strings.Join(l.notVerified, "\n"); !strings.Contains(text, "Kustomization base: whether its expressions for example.com/v1 Thing hold (") {
		t.Errorf("not verified: %s", text)
	}
	if l.Expressions[0].Same(fluxapi.Expressions{APIVersion: "v1", Kind: "ConfigMap", Current: "true"}) {
		t.Error("other expressions are the same")
	}
}

func TestFlux_Refused(t *testing.T) {
	after := flux(nil)
	after["cluster/apps.yaml"] = strings.Replace(after["cluster/apps.yaml"], "[{name: base}]", "[{name: nosuch}]", 1)
	moved := func(file, from, to string) map[string]string {
		files := flux(nil)
		if !strings.Contains(files[file], from) {
			t.Fatalf("%s has no %q", file, from)
		}
		files[file] = strings.Replace(files[file], from, to, 1)
		return files
	}
	for name, c := range map[string]struct {
		files map[string]string
		lane  string
		want  []string
	}{
		"a source in another namespace":     {moved("base/redis.yaml", "metadata: {name: redis, namespace: flux-system}", "metadata: {name: redis, namespace: redis}"), bundle.FluxGit, []string{"redis.yaml:11", "HelmRelease redis looks for HelmRepository charts in the namespace redis, and it is in flux-system"}},
		"a dependency in another namespace": {moved("apps/web.yaml", "  interval: 10m\n", "  dependsOn: [{name: redis}]\n"), bundle.FluxGit, []string{"web.yaml:5", "depends on HelmRelease redis in the namespace web, and it is in flux-system"}},
		"a dependency on a Kustomization":   {with(moved("apps/web.yaml", "  interval: 10m\n", "  dependsOn: [{name: base, namespace: flux-system}]\n"), map[string]string{"base/plain.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain, namespace: flux-system}\n"}), bundle.FluxGit, []string{"web.yaml:5", "HelmRelease web depends on HelmRelease base, which no file has: base is a Kustomization"}},
		"no GitRepository":                  {with(moved("cluster/apps.yaml", "kind: GitRepository, name: flux-system", "kind: GitRepository, name: flux-sys"), map[string]string{"cluster/source.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: 'https://example.com/team/apps'}\n"}), bundle.FluxGit, []string{"apps.yaml:7", "looks for GitRepository flux-sys, which no file of this repository has", "GitRepository flux-system is this repository"}},
		"no HelmRepository":                 {moved("base/redis.yaml", "kind: HelmRepository, name: charts", "kind: HelmRepository, name: chart"), bundle.FluxGit, []string{"redis.yaml:11", "is from HelmRepository chart, which is not among these files"}},
		"a patch":                           {moved("apps/web.yaml", "      sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}\n", ""), bundle.FluxGit, []string{"web.yaml:7", "HelmRelease web has no chart with a sourceRef: if it is a patch"}},
		"a variable in a name":              {moved("apps/web.yaml", "{name: web, namespace: web}", "{name: '${WEB}', namespace: web}"), bundle.FluxGit, []string{"web.yaml:3", "HelmRelease ${WEB} has a variable of Flux"}},
		"a Kustomization elsewhere":         {moved("cluster/base.yaml", "namespace: flux-system", "namespace: infra"), bundle.FluxGit, []string{"apps.yaml:8", "depends on Kustomization base in the namespace flux-system, and there is one in the namespace infra (", "base.yaml:1", "set namespace"}},
		"an object without a namespace":     {flux(map[string]string{"base/plain.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n"}), bundle.FluxGit, []string{"plain.yaml:3", "ConfigMap plain has no namespace, and neither its files nor Kustomization base ("}},
		"no expression":                     {waiting("  healthCheckExprs:\n  - {apiVersion: v1, kind: ConfigMap, current: \"a = b\"}\n"), bundle.FluxGit, []string{"base.yaml:9", "for v1 ConfigMap: current is no expression of CEL"}},
		"twice":                             {waiting("  healthCheckExprs:\n  - {apiVersion: v1, kind: ConfigMap, current: a}\n  - {apiVersion: v1beta1, kind: ConfigMap, current: b}\n"), bundle.FluxGit, []string{"base.yaml:10", "twice"}},
		"a check of no one":                 {waiting("  healthChecks: [{apiVersion: v1, kind: ConfigMap}]\n"), bundle.FluxGit, []string{"base.yaml:8", "no apiVersion, kind or name"}},
		"no such one":                       {after, bundle.FluxGit, []string{"apps.yaml:8", "Kustomization apps depends on Kustomization nosuch, which no file of this repository has"}},
		"a chart in Git":                    {flux(nil), bundle.FluxOCI, []string{"web.yaml:", "the chart of HelmRelease web is from a GitRepository", "run it with -d flux-git"}},
		"manifests in Git":                  {waiting(""), bundle.FluxOCI, []string{"base.yaml:1", "ConfigMap plain", "run it with -d flux-git"}},
	} {
		_, err := laidOut(t, c.files, "cluster", c.lane)
		for _, want := range c.want {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
}

// What Flux leaves alone is left out, unless something waits for it.
func TestFlux_Suspended(t *testing.T) {
	files := flux(nil)
	files["base/redis.yaml"] = strings.Replace(files["base/redis.yaml"], "  targetNamespace", "  suspend: true\n  targetNamespace", 1)
	l, err := laidOut(t, files, "cluster", bundle.FluxGit)
	if err != nil || !slices.ContainsFunc(l.overrides, func(line string) bool {
		return strings.Contains(line, "HelmRelease redis (") && strings.Contains(line, "it is suspended")
	}) {
		t.Fatalf("got %q, %v", l.overrides, err)
	}
	for name, content := range l.files {
		if strings.Contains(string(content), "redis") && strings.Contains(string(content), "HelmRelease") {
			t.Errorf("%s has it:\n%s", name, content)
		}
	}
	files["cluster/base.yaml"] += "  wait: true\n"
	if _, err = laidOut(t, files, "cluster", bundle.FluxGit); !strings.Contains(fmt.Sprint(err), "base.yaml:8") || !strings.Contains(fmt.Sprint(err), "waits for HelmRelease redis") {
		t.Errorf("one that waits for it: got %v", err)
	}
}

// An AppProject of the repository counts, although the cell has none.
func TestProjects(t *testing.T) {
	project := "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team}\nspec: {sourceRepos: ['*'], destinations: [{name: production, namespace: WHERE}]}\n"
	for where, want := range map[string]string{"web": "", "other": "is refused by its project team (", "": ""} {
		files := argo(map[string]string{"apps/redis.yaml": ""})
		if where != "" {
			files["projects/team.yaml"] = strings.Replace(project, "WHERE", where, 1)
		}
		a, err := FindApp(t.Context(), filepath.Join(repo(t, files), "apps"), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := newLayout(t.Context(), a.repo)
		if err := l.applications(a); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range l.Refused {
			got += r.Text + " " + r.At.String()
		}
		if !strings.Contains(got, want) || (got == "") != (want == "") || want != "" && !strings.Contains(got, "web.yaml:7") {
			t.Errorf("%q: got %q, want %q", where, got, want)
		}
		if known := l.Projects["web"].Project != nil; known != (where != "") || known == strings.Contains(strings.Join(l.notVerified, "\n"), "whether Argo CD has its project team") {
			t.Errorf("%q: known %t, not verified %q", where, known, l.notVerified)
		}
	}
}

// Argo CD takes no object without a namespace.
func TestUnplaced(t *testing.T) {
	const plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n"
	for text, want := range map[string]string{plain: "has no destination.namespace, and neither has ConfigMap plain (", strings.Replace(plain, "plain}", "plain, namespace: x}", 1): "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: plain}\n": "", "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: plain}\n": ""} {
		app := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {server: https://kubernetes.default.svc}\n  source: {repoURL: https://example.com/team/apps.git, path: plain}\n"
		a, err := FindApp(t.Context(), filepath.Join(repo(t, argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": app, "plain/plain.yaml": text})), "apps"), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := newLayout(t.Context(), a.repo)
		if err := l.applications(a); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range l.Refused {
			got += r.Text + " " + r.At.String()
		}
		if !strings.Contains(got, want) || (got == "") != (want == "") || want != "" && !strings.Contains(got, "web.yaml:5") {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// An account of a HelmRelease is not one of the cell.
func TestFlux_Account(t *testing.T) {
	files := flux(map[string]string{"apps/web.yaml": strings.Replace(webRelease, "  interval: 10m\n", "  serviceAccountName: tenant\n", 1)})
	l, err := laidOut(t, files, "cluster", bundle.FluxGit)
	if err != nil || !slices.ContainsFunc(l.notVerified, func(line string) bool { return strings.Contains(line, "HelmRelease web: whether its account tenant") }) {
		t.Errorf("got %q, %v", l.notVerified, err)
	}
}

// A Kustomization of another path is not verified.
func TestFlux_DependsElsewhere(t *testing.T) {
	files := flux(map[string]string{"other/infra.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: infra}\nspec: {path: ./none}\n"})
	files["cluster/apps.yaml"] = strings.Replace(files["cluster/apps.yaml"], "[{name: base}]", "[{name: base}, {name: infra}]", 1)
	l, err := laidOut(t, files, "cluster", bundle.FluxGit)
	if err != nil || !slices.ContainsFunc(l.notVerified, func(line string) bool { return strings.Contains(line, "depends on infra, which is in ") }) {
		t.Errorf("got %q, %v", l.notVerified, err)
	}
}

// What Flux and Argo CD lay over a kustomization is in what is delivered.
func TestOverlays(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers: [{name: web, image: \"example.com/web:1\"}]\n"
	const extra = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{target: {kind: Deployment}, patch: '[{\"op\": \"add\", \"path\": \"/spec/replicas\", \"value\": 3}]'}]\n"
	files := flux(map[string]string{"base/redis.yaml": "", "base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment, "base/extra/kustomization.yaml": extra})
	files["cluster/base.yaml"] += "  namePrefix: my-\n  targetNamespace: there\n  images: [{name: example.com/web, newTag: \"2\"}]\n  components: [extra]\n  commonMetadata: {labels: {team: a}}\n"
	l, err := laidOut(t, files, "cluster", bundle.FluxGit)
	if err != nil {
		t.Fatal(err)
	}
	made := string(l.files["charts/base/templates/000-deployment.yaml"])
	for _, want := range []string{"name: my-web", "namespace: there", "example.com/web:2", "replicas: 3", "team: a"} {
		if !strings.Contains(made, want) {
			t.Errorf("Flux: no %q in %s", want, made)
		}
	}
	app := strings.Replace(webApp, "    path: charts/web\n    helm:\n      valueFiles: [../../env/test.yaml]\n      values: |\n        text: a\n        other: b\n", "    path: base\n    kustomize: {nameSuffix: -x, images: [\"example.com/web=example.org/other:3\"], components: [extra], commonAnnotations: {a: b}, replicas: [{name: web, count: 2}]}\n", 1)
	a, err := FindApp(t.Context(), filepath.Join(repo(t, argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": app, "base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment, "base/extra/kustomization.yaml": strings.Replace(extra, "/spec/replicas", "/spec/paused", 1)})), "apps"), nil)
	if err != nil {
		t.Fatal(err)
	}
	l = newLayout(t.Context(), a.repo)
	defer l.by.close()
	if err := l.applications(a); err != nil {
		t.Fatal(err)
	}
	made = string(l.files["web/chart/templates/000-deployment.yaml"])
	for _, want := range []string{"name: web-x", "example.org/other:3", "a: b", "replicas: 2"} {
		if !strings.Contains(made, want) {
			t.Errorf("Argo CD: no %q in %s", want, made)
		}
	}
	if text := string(l.files["web/application.yaml"]); strings.Contains(text, "kustomize") {
		t.Errorf("the Application has %s", text)
	}
}

// Sync waves order Applications only where Argo CD looks at their health.
func TestWaves(t *testing.T) {
	root := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: argocd}\nspec: {source: {repoURL: https://example.com/team/apps.git, path: apps}, destination: {namespace: team}}\n"
	for name, settings := range map[string]string{"without": "", "with": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n  " + applicationHealth + ": |\n    return {}\n"} {
		files := argo(map[string]string{"root.yaml": root, "argocd/cm.yaml": settings, "apps/shared.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\n"})
		a, err := FindApp(t.Context(), filepath.Join(repo(t, files), "root.yaml"), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := newLayout(t.Context(), a.repo)
		if err := l.applications(a); err != nil {
			t.Fatal(err)
		}
		l.by.close()
		want := "map[]"
		if settings != "" {
			want = "map[web:[redis]]"
		}
		for app, after := range l.After {
			if len(after) == 0 {
				delete(l.After, app)
			}
		}
		if got := fmt.Sprint(l.After); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if text := string(l.files["root/chart/templates/000-configmap.yaml"]); !strings.Contains(text, "name: shared") {
			t.Errorf("%s: what the root has besides Applications: got %q", name, text)
		}
	}
}
