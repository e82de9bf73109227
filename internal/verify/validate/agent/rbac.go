package agent

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// rbac is a ServiceAccount with what it may do: in its own namespace (inner), and in the whole
// cluster (outer).
type rbac struct {
	clientset    kubernetes.Interface
	namespace    string
	account      string
	inner, outer []rbacv1.PolicyRule
}

// rbac grants only the permissions that the checks list. The pod needs none for its inputs, which
// are mounted, nor for its results, which are read from the log. The Role grants reading the inputs
// by name, for a check that reads one again.
func (d *Deployer) rbac() (rbac, error) {
	c := d.config
	r := rbac{clientset: d.clientset, namespace: c.Namespace, account: c.ServiceAccountName, outer: c.Rules}
	if c.Rules == nil && c.TestPackage != "" {
		phase, err := c.phase()
		if err != nil {
			return r, err
		}
		r.outer = rulesOf(phase)
	}
	var inputs []string
	for _, name := range []string{c.SnapshotConfigMap, c.RecipeConfigMap} {
		if name != "" {
			inputs = append(inputs, name)
		}
	}
	if len(inputs) > 0 {
		r.inner = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: inputs, Verbs: []string{"get"}}}
	}
	return r, nil
}

// rulesOf are the permissions that the checks of these phases need.
func rulesOf(phases ...validate.Phase) []rbacv1.PolicyRule {
	all := []rbacv1.PolicyRule{}
	for _, phase := range phases {
		for _, check := range validate.Table() {
			if check.Phase == phase {
				all = append(all, check.Rules...)
			}
		}
	}
	return all
}

// EnsureRBAC creates RBAC resources: a ServiceAccount; a Role and RoleBinding for the inputs; a
// ClusterRole and ClusterRoleBinding for what the checks read, since components and nodes are not
// in the Job's namespace. It is safe to call it many times: existing resources are reused, and
// those of the agent get today's rules. For multi-phase validation, call it once before running
// multiple Jobs.
func (d *Deployer) EnsureRBAC(ctx context.Context) error {
	if err := d.config.check(); err != nil {
		return err
	}
	r, err := d.rbac()
	if err != nil {
		return err
	}
	return r.ensure(ctx)
}

// CleanupRBAC removes the RBAC resources that EnsureRBAC created. Use it once at the end of
// multi-phase validation, after all Jobs are done.
func (d *Deployer) CleanupRBAC(ctx context.Context) error {
	r, err := d.rbac()
	if err != nil {
		return err
	}
	return r.cleanup(ctx)
}

// clusterName is that of the objects without a namespace: agents of several namespaces must not
// share them.
func (r rbac) clusterName() string { return r.account + ":" + r.namespace }

func (r rbac) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: r.namespace, Name: r.account, Labels: labels()}
}

func (r rbac) clusterMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: r.clusterName(), Labels: labels()}
}

func (r rbac) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.namespace, Name: r.account}}
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// ensure creates what is missing. Of what exists, only the rules of the agent's own objects are
// changed.
func (r rbac) ensure(ctx context.Context) error {
	core, access := r.clientset.CoreV1(), r.clientset.RbacV1()
	account := &corev1.ServiceAccount{ObjectMeta: r.meta()}
	_, err := core.ServiceAccounts(r.namespace).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return failed("create "+named("ServiceAccount", r.namespace, r.account), r.namespace, err)
	}
	if len(r.inner) > 0 {
		if err := r.ensureRole(ctx); err != nil {
			return failed("create "+named("Role", r.namespace, r.account), r.namespace, err)
		}
		binding := &rbacv1.RoleBinding{ObjectMeta: r.meta(), RoleRef: roleRef("Role", r.account), Subjects: r.subjects()}
		_, err = access.RoleBindings(r.namespace).Create(ctx, binding, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return failed("create "+named("RoleBinding", r.namespace, r.account), r.namespace, err)
		}
	}
	if len(r.outer) == 0 {
		return nil
	}
	if err := r.ensureClusterRole(ctx); err != nil {
		return failed("create ClusterRole "+r.clusterName(), r.namespace, err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: r.clusterMeta(), RoleRef: roleRef("ClusterRole", r.clusterName()), Subjects: r.subjects()}
	_, err = access.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return failed("create ClusterRoleBinding "+r.clusterName(), r.namespace, err)
	}
	return nil
}

func (r rbac) ensureRole(ctx context.Context) error {
	roles := r.clientset.RbacV1().Roles(r.namespace)
	role := &rbacv1.Role{ObjectMeta: r.meta(), Rules: r.inner}
	_, err := roles.Create(ctx, role, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have, err := roles.Get(ctx, r.account, metav1.GetOptions{})
	if err != nil || !own(have.Labels) {
		return err
	}
	have.Rules = r.inner
	_, err = roles.Update(ctx, have, metav1.UpdateOptions{})
	return err
}

func (r rbac) ensureClusterRole(ctx context.Context) error {
	roles := r.clientset.RbacV1().ClusterRoles()
	role := &rbacv1.ClusterRole{ObjectMeta: r.clusterMeta(), Rules: r.outer}
	_, err := roles.Create(ctx, role, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have, err := roles.Get(ctx, r.clusterName(), metav1.GetOptions{})
	if err != nil || !own(have.Labels) {
		return err
	}
	have.Rules = r.outer
	_, err = roles.Update(ctx, have, metav1.UpdateOptions{})
	return err
}

// cleanup deletes the objects of ensure that have the agent's labels. It goes on after an error.
func (r rbac) cleanup(ctx context.Context) error {
	core, access := r.clientset.CoreV1(), r.clientset.RbacV1()
	type object struct {
		kind, name string
		get        func() (metav1.Object, error)
		remove     func(metav1.DeleteOptions) error
	}
	var errs []error
	for _, o := range []object{
		{"ClusterRoleBinding", r.clusterName(),
			func() (metav1.Object, error) {
				return access.ClusterRoleBindings().Get(ctx, r.clusterName(), metav1.GetOptions{})
			},
			func(o metav1.DeleteOptions) error {
				return access.ClusterRoleBindings().Delete(ctx, r.clusterName(), o)
			}},
		{"ClusterRole", r.clusterName(),
			func() (metav1.Object, error) {
				return access.ClusterRoles().Get(ctx, r.clusterName(), metav1.GetOptions{})
			},
			func(o metav1.DeleteOptions) error { return access.ClusterRoles().Delete(ctx, r.clusterName(), o) }},
		{"RoleBinding", r.account,
			func() (metav1.Object, error) {
				return access.RoleBindings(r.namespace).Get(ctx, r.account, metav1.GetOptions{})
			},
			func(o metav1.DeleteOptions) error { return access.RoleBindings(r.namespace).Delete(ctx, r.account, o) }},
		{"Role", r.account,
			func() (metav1.Object, error) {
				return access.Roles(r.namespace).Get(ctx, r.account, metav1.GetOptions{})
			},
			func(o metav1.DeleteOptions) error { return access.Roles(r.namespace).Delete(ctx, r.account, o) }},
		{"ServiceAccount", r.account,
			func() (metav1.Object, error) {
				return core.ServiceAccounts(r.namespace).Get(ctx, r.account, metav1.GetOptions{})
			},
			func(o metav1.DeleteOptions) error { return core.ServiceAccounts(r.namespace).Delete(ctx, r.account, o) }},
	} {
		have, err := o.get()
		if err == nil && own(have.GetLabels()) {
			uid := have.GetUID()
			err = o.remove(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, failed("delete "+o.kind+" "+o.name, r.namespace, err))
		}
	}
	return errors.Join(errs...)
}
