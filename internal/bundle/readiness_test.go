package bundle

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
)

const chainsaw = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: ready}\nspec: {steps: [{try: [{script: {content: \"echo {{ 1 }}\"}}]}]}\n"

func readinessComponents() []recipe.Component {
	a, b, off := recipe.Component{}, recipe.Component{}, recipe.Component{}
	a.Name, a.Namespace = "a", "ns"
	b.Name, b.DependencyRefs = "b", []string{"a"}
	off.Name, off.Overrides = "off", map[string]any{"enabled": false}
	return []recipe.Component{a, off, b}
}

func TestGates(t *testing.T) {
	files := fstest.MapFS{"components/a/readiness.yaml": {Data: []byte(chainsaw)}, "components/off/readiness.yaml": {Data: []byte(chainsaw)}}
	called := func(file string) string { return "recipes/" + file }
	all, gates, err := ReadinessGates(files, called, readinessComponents(), ArgoCDOCI, "gate:1")
	if err != nil || !reflect.DeepEqual(gates, []string{"a-readiness"}) || len(all) != 4 {
		t.Fatalf("got %v, %v, %v", all, gates, err)
	}
	gate := all[1]
	if gate.Name != "a-readiness" || gate.Namespace != "ns" || !reflect.DeepEqual(gate.DependencyRefs, []string{"a"}) || !reflect.DeepEqual(all[3].DependencyRefs, []string{"a", "a-readiness"}) {
		t.Errorf("got %+v and %v", gate, all[3].DependencyRefs)
	}
	text := string(gate.Manifests[0].Content)
	if !strings.Contains(text, `echo {{ "{{" }} 1 }}`) || !strings.Contains(text, "Replace=true,Force=true") || !strings.Contains(text, "image: gate:1") {
		t.Errorf("got\n%s", text)
	}
	kinds := ""
	for doc := range strings.SplitSeq(text, "---\n") {
		var o struct{ Kind string }
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(doc, `{{ "{{" }}`, "{{")), &o); err != nil {
			t.Fatal(err)
		}
		kinds += o.Kind + " "
	}
	if kinds != "ServiceAccount ClusterRole ClusterRoleBinding ConfigMap Job " {
		t.Errorf("got %s", kinds)
	}
	if len(readinessComponents()[2].DependencyRefs) != 1 {
		t.Error("the components that were given are changed")
	}
	for test, want := range map[string]string{
		"a: [":                         "recipes/components/a/readiness.yaml: readiness of component a: ",
		"apiVersion: v1\nkind: Test\n": "it is a Test of v1; write a Test of chainsaw.kyverno.io",
		strings.Replace(chainsaw, "kind: Test", "kind: Configuration", 1): "it is a Configuration of",
	} {
		files["components/a/readiness.yaml"] = &fstest.MapFile{Data: []byte(test)}
		if _, _, err := ReadinessGates(files, called, readinessComponents(), Helm, "gate:1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	files["components/a/readiness.yaml"] = &fstest.MapFile{Data: []byte(chainsaw)}
	twice := append(readinessComponents(), gate)
	if _, _, err := ReadinessGates(files, called, twice, Helm, "gate:1"); err == nil || !strings.Contains(err.Error(), "the name of component a-readiness") {
		t.Errorf("got %v", err)
	}
}

func TestCanWait(t *testing.T) {
	for name, can := range map[string]bool{Helm: true, ArgoCDOCI: true, ArgoCDHelmOCI: true, ArgoCDGit: true, FluxOCI: false, Helmfile: false, ArgoCDAppSet: false, HelmTemplate: false} {
		if err := CanWait(name); (err == nil) != can {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
