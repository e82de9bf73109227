package chainsaw

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/nvidia/aicr-action/internal/util/wait"
)

// inForce is how long the API server may take until its authorizer has seen a new binding;
// milliseconds, on a machine that is not busy.
const inForce = 15 * time.Second

// ReadOnly is the cluster as an identity sees it that may get and list what the cluster has,
// Secrets excepted, and change nothing. config and kube are those of an identity that may make
// ClusterRoles and impersonate. The name is new each time, so that no binding of a recipe can be
// about it. Call remove, which takes away what this made.
func ReadOnly(ctx context.Context, config *rest.Config, kube kubernetes.Interface, groups []*restmapper.APIGroupResources) (c Cluster, remove func(), err error) {
	name := "aicr-action-checks-" + rand.String(10)
	roles, bindings := kube.RbacV1().ClusterRoles(), kube.RbacV1().ClusterRoleBindings()
	remove = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		// What stays is a role of an identity that this run alone could use.
		_ = bindings.Delete(ctx, name, metav1.DeleteOptions{})
		_ = roles.Delete(ctx, name, metav1.DeleteOptions{})
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: readable(groups)}
	if _, err := roles.Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return c, nil, fmt.Errorf("make the ClusterRole of the health checks: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	if _, err := bindings.Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return c, nil, fmt.Errorf("make the ClusterRoleBinding of the health checks: %w", err)
	}
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: name}
	client, err := dynamic.NewForConfig(as)
	if err != nil {
		return c, nil, fmt.Errorf("make the client of the health checks: %w", err)
	}
	err = wait.For(ctx, "the rights of the health checks", wait.Options{Budget: inForce, Interval: 20 * time.Millisecond}, func(ctx context.Context) wait.Result {
		if _, err := client.Resource(namespaces).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsForbidden(err) {
			return wait.NotYet("%v", err)
		}
		return wait.Done() // the check that meets another error reports it
	})
	if err != nil {
		return c, nil, err
	}
	return Cluster{Dynamic: client, Mapper: restmapper.NewDiscoveryRESTMapper(groups)}, remove, nil
}

// readable are rules for every kind that the cluster has, Secrets excepted.
func readable(groups []*restmapper.APIGroupResources) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, g := range groups {
		found := map[string]bool{}
		for _, version := range g.VersionedResources {
			for _, r := range version {
				if !strings.Contains(r.Name, "/") && (g.Group.Name != secrets.Group || r.Name != secrets.Resource) {
					found[r.Name] = true
				}
			}
		}
		var names []string
		for name := range found {
			names = append(names, name)
		}
		slices.Sort(names)
		if len(names) > 0 {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{g.Group.Name}, Resources: names, Verbs: []string{"get", "list"}})
		}
	}
	return rules
}
