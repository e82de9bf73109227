package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

const exampleCluster = `cluster: {labels: {env: dev}, annotations: {zone: west}}
variables: {N: "7"}
secrets: {flux-system/vars: [N, TOKEN], web/a: [values.yaml]}
configMaps: {web/b: [size]}
nodes: {accelerated: 16}
`

// clusterFile writes a cluster file and reads it.
func clusterFile(t *testing.T, text string) (*ClusterFile, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadClusterFile(file)
}

func TestReadClusterFile(t *testing.T) {
	c, err := clusterFile(t, exampleCluster)
	if err != nil || c.Nodes["accelerated"] != 16 || c.Cluster.Annotations["zone"] != "west" {
		t.Fatalf("got %+v, %v", c, err)
	}
	var names []string
	for _, o := range c.Objects() {
		data, _ := o.Object["stringData"].(map[string]any)
		names = append(names, fmt.Sprint(o.GetKind(), " ", o.GetNamespace(), "/", o.GetName(), " ", data["N"], " ", data["values.yaml"]))
	}
	if want := []string{"Secret flux-system/vars 7 <nil>", "Secret web/a <nil> {}\n", "ConfigMap web/b <nil> <nil>"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if _, err := clusterFile(t, "# nothing yet\n"); err != nil {
		t.Errorf("a file without content: %v", err)
	}
	for text, want := range map[string]string{
		"variables: {}\nsecret: {}\n": `cluster.yaml:2: unknown field "secret"; there are: cluster, variables, secrets, configMaps, repositories, projects, nodes`,
		"cluster:\n  label: {}\n":     `cluster.yaml:2: unknown field "label"; there are: labels, annotations`,
		"secrets: {a: [k]}\n":         `secrets: "a" is no NAMESPACE/NAME`,
		"secrets: {a/B: [k]}\n":       `secrets: "a/B" is no NAMESPACE/NAME`,
		"nodes: {gpu: 3}\n":           "nodes: gpu: 3; want system or accelerated",
		"nodes: {system: -1}\n":       "nodes: system: -1; want system or accelerated",
		"nodes: {}\n---\nnodes: {}\n": "cluster.yaml:2: a second document",
		"variables: [\n":              "cluster.yaml:",
		"secrets: {a/b: k}\n":         "cluster.yaml:1: cannot unmarshal",
	} {
		if _, err := clusterFile(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// What a cluster file says is there for what the repository's objects name, and an error shows the line that helps.
func TestOpen_ClusterFile(t *testing.T) {
	vars := substituted("  postBuild: {substituteFrom: [{kind: Secret, name: vars}]}\n")
	values := flux(map[string]string{"apps/web.yaml": strings.Replace(webRelease, "  values:", "  valuesFrom: [{kind: Secret, name: a}]\n  values:", 1)})
	clusters := argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": strings.NewReplacer("kind: Application", "kind: ApplicationSet", "metadata: {name: web, namespace: elsewhere}\nspec:", "metadata: {name: set}\nspec:\n  goTemplate: true\n  generators: [{clusters: {}}]\n  template:\n    metadata: {name: web}\n    spec:",
		"  project", "      project", "  destination", "      destination", "  source:", "      source:", "    repoURL", "        repoURL", "    path", "        path", "    helm:", "        helm:", "      valueFiles: [../../env/test.yaml]", "          valueFiles: [../../env/test.yaml]", "      values: |", "          values: |", "        text: a", "              text: '{{ .metadata.annotations.zone }}'", "        other: b", "              other: b").Replace(webApp)})
	for name, c := range map[string]struct {
		files map[string]string
		at    string
		line  string // of the error without the file
		value string // of the release web with it
		want  string
	}{
		"variables":           {vars, "cluster", "`secrets: {flux-system/vars: []}`", "replicas", "7"},
		"values of a release": {values, "cluster", "`secrets: {web/a: [values.yaml]}`", "replicas", "4"},
		"annotations":         {clusters, "apps", "`cluster: {labels: {KEY: VALUE}, annotations: {KEY: VALUE}}`", "text", "west"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(repo(t, c.files), c.at)
			if _, err := open(t, dir, ""); err == nil || !strings.Contains(err.Error(), c.line) {
				t.Errorf("without the file: got %v, want %q", err, c.line)
			}
			a, err := FindApp(t.Context(), dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if a.Cluster, err = clusterFile(t, exampleCluster); err != nil {
				t.Fatal(err)
			}
			d, err := bundle.ByName([]string{a.Deployer})
			if err != nil {
				t.Fatal(err)
			}
			b, err := a.Open(t.Context(), d[0])
			if err != nil {
				t.Fatal(err)
			}
			components, _ := b.Components()
			web := components[slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == "web" })]
			if got := fmt.Sprint(web.Values[c.value]); got != c.want {
				t.Errorf("%s is %s, want %s", c.value, got, c.want)
			}
		})
	}
}

// A first file has what was asked for and missing, and a run with it needs no more.
func TestOpen_FirstClusterFile(t *testing.T) {
	files := substituted("  postBuild: {substituteFrom: [{kind: Secret, name: vars}]}\n")
	files["apps/web.yaml"] = strings.Replace(files["apps/web.yaml"], "  values:", "  valuesFrom: [{kind: ConfigMap, name: a}]\n  values:", 1)
	dir := filepath.Join(repo(t, files), "cluster")
	a, err := FindApp(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := bundle.ByName([]string{a.Deployer})
	if err != nil {
		t.Fatal(err)
	}
	missing, err := a.Missing(t.Context(), d[0])
	if err != nil {
		t.Fatal(err)
	}
	text, err := missing.Encode()
	if err != nil || missing.Empty() {
		t.Fatalf("got %s, %v", text, err)
	}
	for _, want := range []string{"flux-system/vars: []", ": made-by", "web/a:\n  - values.yaml"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got %s, want %q", text, want)
		}
	}
	if a.Cluster, err = clusterFile(t, string(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Open(t.Context(), d[0]); err != nil {
		t.Errorf("with the file: %v", err)
	}
}

// What is created first are the objects that files make by themselves.
func TestObjects(t *testing.T) {
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.x.y}\nspec: {group: x.y, scope: Cluster, names: {kind: Widget}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]}\n"
	dir := repo(t, map[string]string{
		"plain/a.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n" + crd + "---\napiVersion: x.y/v1\nkind: Widget\nmetadata: {name: w}\n",
		"chart/Chart.yaml": webChart, "chart/crds/w.yaml": crd, "chart/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\n", "chart/templates/h.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n",
	})
	for at, want := range map[string][]string{"plain": {"default/a", "/widgets.x.y", "/w"}, "chart": {"/widgets.x.y", "web/a"}} {
		a, err := FindApp(t.Context(), filepath.Join(dir, at), nil)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := a.Objects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range objects {
			got = append(got, o.GetNamespace()+"/"+o.GetName())
			if o.GetKind() == "CustomResourceDefinition" && !strings.Contains(fmt.Sprint(o.Object), "openAPIV3Schema") {
				t.Errorf("%s: the definition has no schema: %v", at, o.Object)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", at, got, want)
		}
	}
	a, err := FindApp(t.Context(), filepath.Join(repo(t, argo(nil)), "apps"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Objects(t.Context()); err == nil || !strings.Contains(err.Error(), "is for the lane argocd-git, and only manifests") {
		t.Errorf("Applications: got %v", err)
	}
}
