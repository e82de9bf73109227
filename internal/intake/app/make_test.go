package app

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
)

func TestMain(m *testing.M) { workers.Main(m, render.Hidden(), texttemplate.Hidden()) }

// TestOpen_Waits: a Kustomization that asks for nothing is ready once its objects are applied, whatever they
// then wait for, and a HelmRelease waits for its own until its timeout.
func TestOpen_Waits(t *testing.T) {
	for more, want := range map[string]time.Duration{
		"":                0,
		"  wait: false\n": 0,
		"  wait: true\n":  5 * time.Minute,
		"  healthChecks: [{apiVersion: v1, kind: ConfigMap, name: plain, namespace: web}]\n": 5 * time.Minute,
	} {
		files := flux(map[string]string{"base/plain.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain, namespace: web}\n"})
		files["cluster/base.yaml"] += more
		files["apps/web.yaml"] = strings.Replace(webRelease, "  values:", "  timeout: 90s\n  values:", 1)
		files["base/redis.yaml"] = strings.Replace(files["base/redis.yaml"], "  targetNamespace: redis", "  targetNamespace: redis\n  timeout: 90s\n  install: {timeout: 2m}", 1)
		b, err := open(t, filepath.Join(repo(t, files), "cluster"), "")
		if err != nil {
			t.Fatal(err)
		}
		_, given := b.Components()
		for name, want := range map[string]time.Duration{"base": want, "web": 90 * time.Second, "redis": 2 * time.Minute} {
			if got := given[name].Within; got != want {
				t.Errorf("%q: waits for %s: got %s, want %s", more, name, got, want)
			}
		}
	}
}

// TestOpen_Namespace: a chart's release is where helm install puts it.
func TestOpen_Namespace(t *testing.T) {
	for given, want := range map[string]string{"": "default", "prod": "prod", "No": ""} {
		a, err := FindApp(t.Context(), filepath.Join(repo(t, argo(nil)), "charts/web"), nil)
		if err != nil || !a.IsChart() {
			t.Fatal(a, err)
		}
		a.Namespace = given
		helm, err := bundle.ByName([]string{bundle.Helm})
		if err != nil {
			t.Fatal(err)
		}
		b, err := a.Open(t.Context(), helm[0])
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "--namespace: ") {
				t.Errorf("%q: got %v", given, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if components, _ := b.Components(); components[0].Namespace != want {
			t.Errorf("%q: got %q, want %q", given, components[0].Namespace, want)
		}
	}
}

// TestHelmfile_Needs: what a release of helmfile needs comes before it.
func TestHelmfile_Needs(t *testing.T) {
	files := helmfile(map[string]string{"all.yaml": "releases:\n- {name: late, namespace: web, chart: ./charts/web, needs: [early]}\n- {name: early, namespace: web, chart: ./charts/web}\n"})
	b, err := open(t, filepath.Join(repo(t, files), "all.yaml"), "")
	if err != nil {
		t.Fatal(err)
	}
	components, _ := b.Components()
	if len(components) != 2 || components[1].Name != "late" || !slices.Equal(components[1].DependencyRefs, []string{"early"}) {
		t.Errorf("got %+v", components)
	}
}

// Found by comparing with helmfile itself: what it refuses, what it warns of and goes on, and what templates of values see.
func TestHelmfile_AsItDecides(t *testing.T) {
	at := func(text string) (*intake.Bundle, error) {
		files := helmfile(map[string]string{"all.yaml": text, "v.yaml.gotmpl": "ns: {{ .Release.Namespace | quote }}\nlabels: {{ .Release.Labels | toJson }}\nfrom: {{ .Release.Chart }}\n"})
		return open(t, filepath.Join(repo(t, files), "all.yaml"), "")
	}
	web := "releases:\n- {name: web, namespace: web, chart: ./charts/web}\n"
	for text, want := range map[string]string{
		web + "- {name: b, namespace: web, chart: ./charts/web, installed: 'false'}\n":                            `all.yaml:3: installed of release b is "false", and helmfile takes no text for it`,
		"templates: {t: {wait: true}}\ndefaultInherit: [{template: t}]\n" + web:                                   "all.yaml:2: defaultInherit has names of templates",
		"releases:\n- {name: web, chart: ./charts/web}\n- {name: b, chart: ./charts/web, needs: [default/web]}\n": "all.yaml:3: release b needs default/web, and no release of this file has that name in that namespace",
		web + "- {name: b, namespace: web, chart: ./charts/web, conditionTemplate: web.enabled}\n":                `all.yaml:3: conditionTemplate of release b becomes "web.enabled", which is neither true nor false`,
		web + "- {name: b, namespace: other, chart: ./charts/web, needs: [web]}\n":                                "all.yaml:3: release b needs web, and no release of this file",
	} {
		if _, err := at(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
	}
	b, err := at("releases:\n- {name: a, chart: ./charts/web, values: [v.yaml.gotmpl, {day: 2020-01-01}], needs: [b]}\n- {name: b, chart: ./charts/web, installed: no}\n")
	if err != nil {
		t.Fatal(err)
	}
	components, _ := b.Components()
	if len(components) != 1 || len(components[0].DependencyRefs) > 0 {
		t.Fatalf("got %+v", components)
	}
	got, err := json.Marshal(components[0].Values)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ns":""`, `"labels":{"chart":"web","name":"a","namespace":""}`, `"from":"./charts/web"`, `"day":"2020-01-01T00:00:00Z"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
}

// A selector of a local chart's pods is traced to the line of the repository that sets it, so that a
// report and its annotation name this line.
func TestMake_Traced(t *testing.T) {
	files := argo(map[string]string{
		"charts/web/templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      nodeSelector: {{- toYaml .Values.nodeSelector | nindent 8 }}
      containers: [{name: a, image: b}]
`,
		"env/test.yaml": "replicas: 3\nnodeSelector:\n  disk: nvme\n",
	})
	for name, tc := range map[string]struct {
		path   string
		values []string
		want   string
	}{
		"a chart":          {path: "charts/web", values: []string{"env/test.yaml"}, want: "env/test.yaml:3"},
		"an Application":   {path: "apps/web.yaml", want: "env/test.yaml:3"},
		"a chart's values": {path: "apps/web.yaml", want: "charts/web/values.yaml:2"},
	} {
		t.Run(name, func(t *testing.T) {
			files := with(map[string]string{}, files)
			if strings.HasPrefix(tc.want, "charts") {
				files["env/test.yaml"], files["charts/web/values.yaml"] = "replicas: 3\n", "nodeSelector:\n  disk: nvme\n"
			}
			dir := repo(t, files)
			var values []string
			for _, v := range tc.values {
				values = append(values, filepath.Join(dir, v))
			}
			b, err := open(t, filepath.Join(dir, tc.path), "", values...)
			if err != nil {
				t.Fatal(err)
			}
			in := bundle.Input{Recipe: b.Resolved("test"), KubeVersion: "v1.36.1", APIs: bundle.StackAPIs()}
			_, made, err := b.Make(t.Context(), in.InRegistry("127.0.0.1:5000", "127.0.0.1:5000", bundle.ArgoCDGit))
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, w := range made.Expectation.Workloads {
				if w.Node != bundle.NodeAny || len(w.ForgottenPaths) > 0 {
					t.Errorf("%s belongs on %q, with the forgotten paths %v; want any node and none", w.Name, w.Node, w.ForgottenPaths)
				}
				for _, v := range w.Values {
					found = append(found, v.Field+" "+v.Key+" "+v.Path+" "+v.Origin.String())
				}
			}
			if want := "nodeSelector disk nodeSelector.disk " + filepath.Join(dir, tc.want); len(found) != 1 || found[0] != want {
				t.Errorf("got %q, want %q", found, want)
			}
		})
	}
}

// The fields of plain manifests, and of what Kustomize makes of some, lead back to the lines of the
// files that set them.
func TestMake_Plain(t *testing.T) {
	for name, tc := range map[string]struct {
		path, lane string
		fields     map[string]string // places by fields of the pod
	}{
		"manifests": {"k8s", "", map[string]string{"priorityClassName": "k8s/a.yaml:13", "": "k8s/a.yaml:12"}},
		"Argo CD":   {"k8s", bundle.ArgoCDGit, map[string]string{"priorityClassName": "k8s/a.yaml:13"}},
		"Flux":      {"k8s", bundle.FluxGit, map[string]string{"priorityClassName": "k8s/a.yaml:13"}},
		"overlay":   {"overlay", "", map[string]string{"priorityClassName": "overlay/web.yaml:10", "nodeSelector": "overlay/patch.yaml:7"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := plain()
			files[".git/config"], files["other/front.yaml"] = gitConfig, "apiVersion: v1\nkind: Namespace\nmetadata: {name: front}\n"
			dir := repo(t, files)
			b, err := open(t, filepath.Join(dir, tc.path), tc.lane)
			if err != nil {
				t.Fatal(err)
			}
			lane := tc.lane
			if lane == "" {
				lane = bundle.Helm
			}
			in := bundle.Input{Recipe: b.Resolved("test"), KubeVersion: "v1.36.1", APIs: bundle.StackAPIs()}
			_, made, err := b.Make(t.Context(), in.InRegistry("127.0.0.1:5000", "127.0.0.1:5000", lane))
			if err != nil {
				t.Fatal(err)
			}
			if len(made.Expectation.Workloads) != 1 {
				t.Fatalf("got %d workloads", len(made.Expectation.Workloads))
			}
			// No file of the path has the namespace that the Deployment names, and no cluster has it. Flux is given it beside the release.
			if lane != bundle.FluxGit && !slices.ContainsFunc(made.Expectation.Objects, func(o bundle.Object) bool { return o.Object.GetKind() == "Namespace" && o.Object.GetName() == "front" }) {
				t.Error("the namespace front is not delivered")
			}
			w := &made.Expectation.Workloads[0]
			for field, want := range tc.fields {
				path := []string{"spec"}
				if field != "" {
					path = append(path, field)
				}
				if got, ok := w.Origin(path...); !ok || got.String() != filepath.Join(dir, want) {
					t.Errorf("%s: got %s, want %s", field, got, want)
				}
			}
		})
	}
}

// The namespace of a HelmRelease exists in its own cluster, and need not in a cell: Helm's record is kept where
// the release is.
func TestMake_StorageNamespace(t *testing.T) {
	for name, c := range map[string]struct{ release, want string }{
		"elsewhere":     {strings.Replace(webRelease, "spec:\n", "spec:\n  targetNamespace: elsewhere\n", 1), "elsewhere"},
		"in its own":    {webRelease, "web"},
		"one that says": {strings.Replace(webRelease, "spec:\n", "spec:\n  targetNamespace: elsewhere\n  storageNamespace: web\n", 1), "web"},
		"of flux":       {strings.Replace(strings.Replace(webRelease, "namespace: web}", "namespace: flux-system}", 1), "spec:\n", "spec:\n  targetNamespace: elsewhere\n", 1), "flux-system"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repo(t, flux(map[string]string{"one/web.yaml": c.release}))
			b, err := open(t, filepath.Join(dir, "one"), "")
			if err != nil {
				t.Fatal(err)
			}
			in := bundle.Input{Recipe: b.Resolved("test"), KubeVersion: "v1.36.1", APIs: bundle.StackAPIs()}
			_, made, err := b.Make(t.Context(), in.InRegistry("127.0.0.1:5000", "127.0.0.1:5000", bundle.FluxGit))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(made.Files, func(f bundle.File) bool {
				return strings.Contains(string(f.Content), "storageNamespace: "+c.want+"\n")
			}) {
				t.Errorf("no file has storageNamespace: %s", c.want)
			}
		})
	}
}

// A namespace that nothing creates is an error with its place, as in a cluster; one of another path is not.
func TestMake_MissingNamespaces(t *testing.T) {
	ns := "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"
	for name, tc := range map[string]struct {
		over map[string]string
		want string // the place; empty for none
	}{
		"none":              {nil, "apps/web.yaml:5"},
		"of another path":   {map[string]string{"other/ns.yaml": ns}, ""},
		"delivered":         {map[string]string{"apps/ns.yaml": ns, "apps/kustomization.yaml": "resources: [web.yaml, ns.yaml]\n"}, ""},
		"beside, forgotten": {map[string]string{"apps/ns.yaml": ns}, "apps/web.yaml:5"},
	} {
		t.Run(name, func(t *testing.T) {
			files := flux(tc.over)
			files["cluster/apps.yaml"] = strings.Replace(files["cluster/apps.yaml"], "  dependsOn: [{name: base}]\n", "", 1)
			dir := repo(t, files)
			b, err := open(t, filepath.Join(dir, "cluster/apps.yaml"), "")
			if err != nil {
				t.Fatal(err)
			}
			in := bundle.Input{Recipe: b.Resolved("test"), KubeVersion: "v1.36.1", APIs: bundle.StackAPIs()}
			_, made, err := b.Make(t.Context(), in.InRegistry("127.0.0.1:5000", "127.0.0.1:5000", bundle.FluxGit))
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, d := range made.Expectation.Doomed {
				if strings.Contains(d.Text, "needs the namespace web") {
					got = strings.TrimPrefix(d.At.String(), dir+"/")
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
