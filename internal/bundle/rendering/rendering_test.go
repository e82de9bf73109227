package rendering

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
)

func TestMain(m *testing.M) { workers.Main(m, render.Hidden()) }

// The line break at the end of a literal block is text, also where the block ends a document (seen:
// four objects of eks-training differed from those of the helm lane).
func TestFiles_LastLineBreak(t *testing.T) {
	configMap := func(name, style string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  text: " + style + "\n    line\n"
	}
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*chart.File{
		{Name: "templates/a.yaml", Data: []byte(configMap("a", "|") + "---\n" + configMap("b", "|-") + "---\n" + configMap("c", "|"))},
	}}
	renderer := &render.Renderer{}
	defer renderer.Close()
	_, manifests, err := Files(t.Context(), renderer, render.Request{Chart: c, Name: "c", Namespace: "c", KubeVersion: "v1.36.1"}, CustomScopes{})
	if err != nil {
		t.Fatal(err)
	}
	objs, err := Parse(string(manifests)+"\n", "")
	if err != nil || len(objs) != 3 {
		t.Fatalf("%d objects, %v", len(objs), err)
	}
	for i, want := range []string{"line\n", "line", "line\n"} {
		if got, _, _ := unstructured.NestedString(objs[i].Object, "data", "text"); got != want {
			t.Errorf("%s: got %q, want %q in\n%s", objs[i].GetName(), got, want, manifests)
		}
	}
}

// What the deployers do not read alike is named, with its path, template and line: a key that a
// document has twice, and a word that is a boolean in one version of YAML. The same key in two maps,
// a merge, and a word in quotes are not. So in a CustomResourceDefinition, too.
func TestDoubtful(t *testing.T) {
	crd := func(name, properties string) string {
		return "# Source: c/templates/" + name + ".yaml\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "s.example.com}\nspec:\n  versions:\n    - name: v1\n      schema:\n        openAPIV3Schema:\n          type: object\n          properties:\n              " + properties + "\n"
	}
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "c"}, Templates: []*chart.File{{Name: "templates/c.yaml", Data: []byte("# text\n\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  on: x\n")}}}
	objs, err := Parse("# Source: c/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {a: x, a: z}\nimmutable: y\ndata:\n  a: \"1\"\n  b: \"2\"\n  b: \"3\"\n---\n"+
		"# Source: c/templates/b.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: {a: x}}\ndata: {a: 'y', \"n\": x, nope: \"no\"}\n---\n"+
		"# Source: c/templates/c.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  on: x\n---\n"+
		crd("d", "on: {type: boolean}\n              size: {type: string, description: 'a word, yes, and no: more', enum: [off, small]}")+"---\n"+crd("e", "\"on\": {type: boolean}"), "")
	if err != nil || len(objs) != 5 {
		t.Fatal(objs, err)
	}
	for i, want := range [][]string{
		{
			"metadata.labels.a is there twice: the last one counts, and Flux rejects the document (c/templates/a.yaml, line 6 of the document of ConfigMap a)",
			"immutable is y without quotes: Helm and Argo CD read it as true, and Flux as text (c/templates/a.yaml, line 7 of the document of ConfigMap a)",
			"data.b is there twice: the last one counts, and Flux rejects the document (c/templates/a.yaml, line 11 of the document of ConfigMap a)",
		},
		nil,
		{"data.on is a key without quotes: Helm and Argo CD read it as true, and Flux as text (c/templates/c.yaml:7)"},
		{
			"spec.versions.0.schema.openAPIV3Schema.properties.on is a key without quotes: Helm and Argo CD read it as true, and Flux as text (c/templates/d.yaml, line 12 of the document of CustomResourceDefinition ds.example.com)",
			"spec.versions.0.schema.openAPIV3Schema.properties.size.enum.0 is off without quotes: Helm and Argo CD read it as false, and Flux as text (c/templates/d.yaml, line 13 of the document of CustomResourceDefinition ds.example.com)",
		},
		nil,
	} {
		if got := objs[i].Doubtful(ch, objs[i].Template); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Flux takes a List apart before it resolves aliases. An alias of the item's own anchor is no matter.
func TestDoubtful_Aliases(t *testing.T) {
	const item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: "
	text := "apiVersion: v1\nkind: List\nitems:\n" + item + "a, labels: &own {x: z}, annotations: *own}\n  data: &shared {a: b}\n" + item + "b}\n  data: *shared\n"
	objs, err := Parse("# Source: c/templates/l.yaml\n"+text+"---\n# Source: c/templates/l.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: &l {x: z}}\ndata: {<<: *l}\n", "")
	if err != nil || len(objs) != 3 {
		t.Fatal(objs, err)
	}
	for i := range objs {
		got := objs[i].Doubtful(&chart.Chart{Metadata: &chart.Metadata{Name: "c"}}, objs[i].Template)
		if found := len(got) == 1 && strings.HasPrefix(got[0], "*shared is an alias of what another item of its List has"); found != (i == 1) || len(got) > 1 {
			t.Errorf("%s: got %q", objs[i].GetName(), got)
		}
	}
}

// What a chart tells Argo CD alone to delete, or to leave out, may be missing.
func TestGoneInArgoCD(t *testing.T) {
	const hook, policy = "argocd.argoproj.io/hook", "argocd.argoproj.io/hook-delete-policy"
	for _, c := range []struct {
		hook, policy string
		want         bool
	}{
		{"", "", false}, {"", "HookSucceeded", false}, {"PreSync", "", false}, {"PreSync", "BeforeHookCreation", false}, {"PreSync, PostSync", "HookSucceeded", true},
		{"Skip", "", true}, {"SyncFail", "", true}, {"PostDelete", "", true}, {"SyncFail,Sync", "", false}, {"Unheard", "HookSucceeded", false}, // which Argo CD passes over
	} {
		if got := goneInArgoCD(map[string]string{hook: c.hook, policy: c.policy}); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
