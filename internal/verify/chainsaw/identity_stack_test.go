package chainsaw_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"

	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/testkit/embeddedtest"
	"github.com/nvidia/aicr-action/internal/verify/chainsaw"
)

// The identity of the health checks can read all objects of a cluster except Secrets, can change
// none, and is removed afterwards.
func TestIdentity_ReadOnly(t *testing.T) {
	t.Parallel()
	c, _ := embeddedtest.Start(t, &embedded.Platform{}, nil)
	clients := c.Clients()
	ctx := t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, StringData: map[string]string{"token": "a secret of the recipe"}}
	if _, err := clients.Kube.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(clients.Discovery)
	if err != nil {
		t.Fatal(err)
	}
	seen, remove, err := chainsaw.ReadOnly(ctx, clients.Config, clients.Kube, groups)
	if err != nil {
		t.Fatal(err)
	}
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	if _, err := seen.Dynamic.Resource(core("secrets")).Namespace("default").Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it reads a Secret: %v", err)
	}
	if _, err := seen.Dynamic.Resource(core("secrets")).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it lists Secrets: %v", err)
	}
	if err := seen.Dynamic.Resource(core("namespaces")).Delete(ctx, "default", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it deletes: %v", err)
	}
	for _, r := range []schema.GroupVersionResource{core("pods"), core("configmaps"), {Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}} {
		if _, err := seen.Dynamic.Resource(r).List(ctx, metav1.ListOptions{}); err != nil {
			t.Errorf("it cannot list %s: %v", r.Resource, err)
		}
	}
	check, err := chainsaw.Parse("demo", "default", "check.yaml", []byte(test("  - try:\n    - assert: {resource: {apiVersion: v1, kind: Namespace, metadata: {name: default}, (length(metadata.name)): 7}}\n")))
	if err != nil {
		t.Fatal(err)
	}
	if failures, err := chainsaw.Run(ctx, seen, []*chainsaw.Check{check}, time.Second); err != nil || len(failures) > 0 {
		t.Errorf("got %v, %v; want the check to hold", failures, err)
	}
	remove()
	roles, err := clients.Kube.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range roles.Items {
		if len(r.Name) > 18 && r.Name[:18] == "aicr-action-checks" {
			t.Errorf("ClusterRole %s is left", r.Name)
		}
	}
}
