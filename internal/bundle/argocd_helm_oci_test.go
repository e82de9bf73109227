package bundle

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// renderWrapper installs the wrapper chart as `helm template` would.
func renderWrapper(t *testing.T, b *Bundle, values map[string]any) ([]rendering.Object, error) {
	t.Helper()
	ch, err := b.Chart("")
	if err != nil {
		t.Fatal(err)
	}
	inst := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	inst.DryRun, inst.ClientOnly, inst.ReleaseName, inst.Namespace = true, true, WrapperRelease("demo"), "argocd"
	rel, err := inst.Run(ch, values)
	if err != nil {
		return nil, err
	}
	return rendering.Parse(rel.Manifest, "")
}

func TestWrapperChart(t *testing.T) {
	in := goldenInput(ArgoCDHelmOCI)
	in.RepoURL = "" // it is a value
	b := mustBundle(t, argoHelmOCI{}, in)
	at := map[string]any{"repoURL": "oci://127.0.0.1:5500/aicr/demo", "targetRevision": in.TargetRevision}

	for _, missing := range []string{"repoURL", "targetRevision"} {
		values := copyMap(at)
		delete(values, missing)
		if _, err := renderWrapper(t, b, values); err == nil || !strings.Contains(err.Error(), missing+" is required") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	if _, err := renderWrapper(t, b, map[string]any{"render": "both"}); err == nil || !strings.Contains(err.Error(), `render is "both"`) {
		t.Errorf("got %v", err)
	}

	roots, err := renderWrapper(t, b, at)
	if err != nil || len(roots) != 1 || roots[0].GetName() != "aicr-stack" {
		t.Fatalf("root: %v, %v", roots, err)
	}
	source, _, _ := unstructured.NestedMap(roots[0].Object, "spec", "source")
	inner, _, _ := unstructured.NestedMap(source, "helm", "valuesObject")
	if source["repoURL"] != at["repoURL"] || source["targetRevision"] != at["targetRevision"] || source["path"] != "." {
		t.Errorf("root source %v", source)
	}

	children, err := renderWrapper(t, b, inner) // what Argo CD renders next
	if err != nil {
		t.Fatal(err)
	}
	// They are the Applications of argocd-oci, with the local charts elsewhere.
	plain := goldenInput(ArgoCDOCI)
	plain.RepoURL, plain.TargetRevision = at["repoURL"].(string), in.TargetRevision
	want := mustBundle(t, argoOCI{}, plain)
	var got []string
	for _, c := range children {
		name := c.GetName()
		got = append(got, name)
		objs, err := rendering.ParseDocuments(content(t, want, name+"/application.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		expected := objs[0].Object
		if path, _, _ := unstructured.NestedString(expected, "spec", "source", "path"); path == name+"/chart" {
			_ = unstructured.SetNestedField(expected, "local/"+name, "spec", "source", "path")
			if _, err := b.Chart("local/" + name); err != nil {
				t.Error(err)
			}
		}
		if !reflect.DeepEqual(c.Object, expected) {
			t.Errorf("%s: got\n%v\nwant\n%v", name, c.Object, expected)
		}
	}
	slices.Sort(got)
	if !reflect.DeepEqual(got, []string{"gpu", "gpu-post", "monitor", "tuning", "web"}) {
		t.Errorf("children %q", got)
	}
}

// Helm must not execute text from the recipe that looks like a template action.
func TestWrapper_BracesInValues(t *testing.T) {
	in := fixture()
	in.Components[0].Source = "https://example.com/{{ fail \"run\" }}"
	b := mustBundle(t, argoHelmOCI{}, in)
	children, err := renderWrapper(t, b, map[string]any{"repoURL": "oci://x/y", "targetRevision": "0.0.1", "render": "children"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		if url, _, _ := unstructured.NestedString(c.Object, "spec", "source", "repoURL"); c.GetName() == "web" && url != in.Components[0].Source {
			t.Errorf("the repository became %q", url)
		}
	}
}

func TestWrapper_VersionNotSemantic(t *testing.T) {
	in := fixture()
	in.TargetRevision = "1a2b3c4-argocd-helm-oci"
	if _, err := (argoHelmOCI{}).Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), "0.0.0-") {
		t.Errorf("got %v", err)
	}
}
