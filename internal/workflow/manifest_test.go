package workflow

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
)

// The Job finds every file at the path that the workflows have for it.
func TestManifest(t *testing.T) {
	dir := written(t, map[string]string{"w.yaml": register + submit, "templates/job.yaml": jobTemplate})
	plan, err := planOf(t, filepath.Join(dir, "w.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := plan.Manifest(Manifest{Image: "example.com/matrix:v1", Namespace: "lab", Name: "wf"})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := infra.DecodeObjects([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		byKind[o.GetKind()] = o
	}
	if role, _, _ := unstructured.NestedString(byKind["ClusterRoleBinding"].Object, "roleRef", "name"); role != "cluster-admin" || byKind["ServiceAccount"].GetName() != "wf" {
		t.Errorf("got the role %q in\n%s", role, text)
	}
	job := byKind["Job"].Object
	containers, _, _ := unstructured.NestedSlice(job, "spec", "template", "spec", "containers")
	args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	if want := []string{"workflow", "run", "--in-cluster", "00-w.yaml"}; !slices.Equal(args, want) {
		t.Errorf("got the arguments %q, want %q", args, want)
	}
	volumes, _, _ := unstructured.NestedSlice(job, "spec", "template", "spec", "volumes")
	items, _, _ := unstructured.NestedSlice(volumes[0].(map[string]any), "configMap", "items")
	files := map[string]string{}
	data, _, _ := unstructured.NestedStringMap(byKind["ConfigMap"].Object, "data")
	for _, item := range items {
		i := item.(map[string]any)
		files[i["path"].(string)] = data[i["key"].(string)]
	}
	if files["templates/job.yaml"] != jobTemplate || files["00-w.yaml"] != register+submit {
		t.Errorf("got the files %v", files)
	}

	bad := written(t, map[string]string{"w/w.yaml": strings.Replace(register, "templates/", "../templates/", 1), "templates/job.yaml": jobTemplate})
	if plan, err = planOf(t, filepath.Join(bad, "w", "w.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Manifest(Manifest{Image: "x", Namespace: "lab", Name: "wf"}); err == nil || !strings.Contains(err.Error(), "relative path without ..") {
		t.Errorf("a template outside of the directory: got %v", err)
	}
	if _, err := plan.Manifest(Manifest{Image: "x", Namespace: "Lab", Name: "wf"}); err == nil || !strings.Contains(err.Error(), `namespace "Lab"`) {
		t.Errorf("a bad namespace: got %v", err)
	}
}
