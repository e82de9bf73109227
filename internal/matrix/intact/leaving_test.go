package intact

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A recipe whose own program deletes its namespace has delivered nothing that lasts, although all of it is
// still there at the verdict (F252).
func TestLeaving(t *testing.T) {
	object := func(kind, namespace, name string) bundle.Object {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
		o.SetNamespace(namespace)
		o.SetName(name)
		return bundle.Object{Object: o, Component: "comp"}
	}
	now := metav1.Now()
	kube := fake.NewClientset(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stays"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "goes", DeletionTimestamp: &now, Finalizers: []string{"x/y"}}},
	)
	for name, c := range map[string]struct {
		object bundle.Object
		red    bool
	}{
		"an object in it":       {object("ConfigMap", "goes", "a"), true},
		"the namespace":         {object("Namespace", "", "goes"), true},
		"another namespace":     {object("ConfigMap", "stays", "a"), false},
		"another kind":          {object("ClusterRole", "", "goes"), false},
		"another's is leaving":  {object("Namespace", "", "stays"), false},
		"nothing in namespaces": {object("ClusterRole", "", "a"), false},
	} {
		err := leaving(t.Context(), kube, &bundle.Expectation{Objects: []bundle.Object{c.object}})
		if got := err != nil; got != c.red || got && (reason.Of(err) != reason.DeployFailed || !strings.Contains(err.Error(), "Namespace goes is being deleted")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
