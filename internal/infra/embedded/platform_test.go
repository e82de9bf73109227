package embedded

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/stack"
)

func TestSimulates(t *testing.T) {
	object := func(kind, name string) bundle.Object {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}}
		o.SetName(name)
		return bundle.Object{Component: "comp", Object: o}
	}
	got := (&Platform{}).Simulates([]bundle.Object{
		object("ValidatingWebhookConfiguration", "v"), object("ConfigMap", "c"), object("MutatingWebhookConfiguration", "m"), object("ValidatingAdmissionPolicy", "p"),
	})
	if want := []string{"ValidatingWebhookConfiguration v (comp): not called", "MutatingWebhookConfiguration m (comp): not called"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAttachment(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig.yaml")
	if _, err := Attachment(kubeconfig, "x.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
}

func TestStackGroups(t *testing.T) {
	for _, c := range []struct {
		kinds []infra.ControllerKind
		want  []stack.Group
	}{
		{nil, []stack.Group{stack.GroupControlPlane}},
		{[]infra.ControllerKind{infra.ArgoCDControllers}, []stack.Group{stack.GroupControlPlane, stack.GroupHelm, stack.GroupArgoCD}},
		{[]infra.ControllerKind{infra.ArgoCDControllers, infra.ApplicationSetControllers}, []stack.Group{stack.GroupControlPlane, stack.GroupHelm, stack.GroupArgoCD}},
		{[]infra.ControllerKind{infra.FluxControllers}, []stack.Group{stack.GroupControlPlane, stack.GroupFlux}},
		{[]infra.ControllerKind{infra.FluxControllers, infra.ArgoCDControllers}, stack.Groups()},
	} {
		if got := StackGroups(c.kinds...); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.kinds, got, c.want)
		}
	}
}

// A lane that registers the local cluster says with which labels; compression is off either way,
// and there is one Secret for the cluster.
func TestLocalCluster(t *testing.T) {
	bundled := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": "in-cluster", "namespace": infra.ArgoCDNamespace, "labels": map[string]any{"environment": "gpu-enabled"}},
		"stringData": map[string]any{"config": "{}"},
	}}
	project := &unstructured.Unstructured{Object: map[string]any{"kind": "AppProject", "metadata": map[string]any{"name": "p"}}}
	for name, tc := range map[string]struct {
		settings []*unstructured.Unstructured
		want     string
	}{
		"none":   {nil, "Secret in-cluster cluster "},
		"others": {[]*unstructured.Unstructured{project, bundled}, "AppProject p  Secret in-cluster  gpu-enabled"},
	} {
		var got []string
		for _, o := range withLocalCluster(tc.settings) {
			got = append(got, o.GetKind()+" "+o.GetName()+" "+o.GetLabels()["argocd.argoproj.io/secret-type"]+" "+o.GetLabels()["environment"])
			if config, _, _ := unstructured.NestedString(o.Object, "stringData", "config"); o.GetKind() == "Secret" && config != `{"disableCompression":true}` {
				t.Errorf("%s: got the settings %s", name, config)
			}
		}
		if strings.Join(got, "") != tc.want {
			t.Errorf("%s: got %q, want %q", name, strings.Join(got, ""), tc.want)
		}
	}
}
