package bundle

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// objectsOf lists the objects of a file of a bundle as "Kind namespace/name", in its order; none if
// there is no such file.
func objectsOf(t *testing.T, b *Bundle, path string) []string {
	t.Helper()
	i := slices.IndexFunc(b.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return nil
	}
	objs, err := rendering.Parse(string(b.Files[i].Content), "")
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var all []string
	for _, o := range objs {
		if o.Template == "" {
			t.Errorf("%s: %s does not say which template it is from", path, o.GetName())
		}
		all = append(all, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	return all
}

// The objects that are applied equal those that the gate expects, for every chart.
func TestTemplateFiles_EqualExpectation(t *testing.T) {
	b := mustBundle(t, helmTemplate{}, fixture())
	for _, r := range b.Expectation.Releases {
		var want []string
		for _, o := range b.Expectation.Objects {
			if o.Release == r.Name {
				want = append(want, o.Object.GetKind()+" "+o.Object.GetNamespace()+"/"+o.Object.GetName())
			}
		}
		got := append(objectsOf(t, b, r.Name+"/"+TemplateCRDs), objectsOf(t, b, r.Name+"/"+TemplateManifests)...)
		slices.Sort(want)
		slices.Sort(got)
		if len(got) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", r.Name, got, want)
		}
		if ns := content(t, b, r.Name+"/"+TemplateNamespace); !strings.Contains(ns, "name: "+r.Namespace+"\n") {
			t.Errorf("%s: namespace %s", r.Name, ns)
		}
	}
}

// Helm's order: hooks before the installation by weight, kinds in Helm's order of installation,
// hooks after it. Hooks of an upgrade, a removal or a test are left out. A namespaced object
// without a namespace gets one.
func TestTemplateOrder(t *testing.T) {
	b := mustBundle(t, helmTemplate{}, fixture())
	got := objectsOf(t, b, "web/"+TemplateManifests)
	want := []string{
		"Job web-system/web-prepare", "ConfigMap web-system/one", "ConfigMap elsewhere/two", "ClusterRole /web", "Deployment web-system/web",
		"Deployment web-system/web-webhook", "Widget /web", "Job web-system/web-check",
	}
	slices.Sort(got[1 : len(got)-1]) // the order of the kinds is Helm's
	slices.Sort(want[1 : len(want)-1])
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A CRD is in crds.yaml with all of its schema, from crds/ and from templates, and before the
// resources of its kind.
func TestTemplateCRDs(t *testing.T) {
	const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAMEs.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: NAME, plural: NAMEs}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: kept NAME}}}]
`
	named := func(name string) string { return strings.ReplaceAll(crd, "NAME", name) }
	weight := func(name, weight string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + `, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "` + weight + `"}}` + "\n"
	}
	in := fixture()
	in.Components = []recipe.Component{{ComponentRef: recipe.ComponentRef{Name: "a", Namespace: "a", Chart: "a", Source: "https://charts.example.com", Version: "1.0.0"}}}
	in.Charts = catalog.FromFS(fstest.MapFS{
		"a/Chart.yaml":         {Data: []byte("{apiVersion: v2, name: a, version: 1.0.0}")},
		"a/crds/one.yaml":      {Data: []byte(named("one"))},
		"a/templates/two.yaml": {Data: []byte(named("two") + "---\napiVersion: example.com/v1\nkind: two\nmetadata: {name: mine}\n" + weight("late", "5") + weight("early", "-5"))},
		"a/templates/pod.yaml": {Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec: {containers: [{name: c, image: c}]}\n")},
	}, "test")
	b := mustBundle(t, helmTemplate{}, in)
	if got, want := objectsOf(t, b, "a/"+TemplateCRDs), []string{"CustomResourceDefinition /ones.example.com", "CustomResourceDefinition /twos.example.com"}; !reflect.DeepEqual(got, want) {
		t.Errorf("CRDs: got %q, want %q", got, want)
	}
	for _, kept := range []string{"kept one", "kept two", "# Source: a/templates/two.yaml"} {
		if text := content(t, b, "a/"+TemplateCRDs); !strings.Contains(text, kept) {
			t.Errorf("%q is lost:\n%s", kept, text)
		}
	}
	if got, want := objectsOf(t, b, "a/"+TemplateManifests), []string{"ConfigMap a/early", "ConfigMap a/late", "Pod a/pod", "two /mine"}; !reflect.DeepEqual(got, want) {
		t.Errorf("manifests: got %q, want %q", got, want)
	}
}

func TestApplyScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testskip.Missing(t, "no bash here")
	}
	b := mustBundle(t, helmTemplate{}, fixture())
	dir := t.TempDir()
	bundleDir, calls := filepath.Join(dir, "my bundle"), filepath.Join(dir, "calls")
	if err := b.WriteTo(bundleDir, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(fakeHelm), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command(bash, append([]string{filepath.Join(bundleDir, "apply.sh")}, args...)...)
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if out := run("--help"); !strings.Contains(out, "KUBECTL FLAG") || strings.Contains(out, "set -e") {
		t.Errorf("--help:\n%s", out)
	}
	if out := run("--context", "a b"); !strings.Contains(out, "[4/5] gpu-post") {
		t.Errorf("progress:\n%s", out)
	}
	raw, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(release, file string) string {
		return "[apply][--server-side][--field-manager][" + TemplateManager(release) + "][--filename][" + bundleDir + "/" + release + "/" + file + "][--context][a b]\n"
	}
	want := apply("web", TemplateNamespace) + apply("web", TemplateCRDs) +
		"[wait][--for][condition=Established][--timeout][60s][--filename][" + bundleDir + "/web/crds.yaml][--context][a b]\n" +
		apply("web", TemplateManifests) + apply("monitor", TemplateNamespace) + apply("monitor", TemplateManifests)
	if got := string(raw); !strings.HasPrefix(got, want) {
		t.Errorf("calls:\n%s\nwant:\n%s", got, want)
	}
}
