package daytwo

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// shortNames are the words by which kubectl knows the kinds that charts delete before an upgrade.
var shortNames = map[string]string{
	"StatefulSet": `statefulsets?|sts`, "Deployment": `deployments?|deploy`, "DaemonSet": `daemonsets?|ds`, "Job": `jobs?`,
	"Service": `services?|svc`, "ConfigMap": `configmaps?|cm`, "Secret": `secrets?`, "PersistentVolumeClaim": `persistentvolumeclaims?|pvc`,
}

// orphans matches the flag with which kubectl leaves an object's pods.
var orphans = regexp.MustCompile(`--cascade[= ]"?(?:orphan|false)`)

// Clear deletes, in the place of hook Jobs whose pods are simulated, what the new bundle changes and the API
// server does not let change, if such a Job says in its command that it deletes it, and may: charts bring
// such a Job since Helm does not replace an object. It says what it has deleted, as not verified.
func (b Bundles) Clear(ctx context.Context, env *lane.Env, order lane.Order) (notes []string, err error) {
	if order.AtOnce || order.ArgoCD { // hooks are objects like all others; Argo CD creates again at once what is missing
		return nil, nil
	}
	for i := range b.Now.Expectation.Releases {
		r := &b.Now.Expectation.Releases[i]
		if !b.upgrades(r) {
			continue
		}
		for j := range r.UpgradeHooks {
			job := &r.UpgradeHooks[j]
			said := commands(job)
			if job.Object.GetKind() != "Job" || !runsBefore(job) || !strings.Contains(said, "delete") {
				continue
			}
			for k := range b.Now.Expectation.Objects {
				o := &b.Now.Expectation.Objects[k]
				if o.Release != r.Name || o.Hook || b.Before.Expectation.Object(o.Ref()) == nil || !namesUpgradeHooks(said, o) || !b.mayDelete(r, job, o) {
					continue
				}
				refused, err := b.clear(ctx, env, o, orphans.MatchString(said))
				if err != nil {
					return notes, err
				}
				if refused != "" {
					notes = append(notes, fmt.Sprintf("%s cannot be changed, and hook %s (%s) of release %s, whose pod is simulated, deletes it: deleted in its place before the upgrade (not verified: what it really does; %s)", o.Ref(), job.Ref(), before, r.Name, job.Where("spec")))
				}
			}
		}
	}
	return notes, nil
}

// clear deletes an object if the API server refuses its new form for what cannot be changed, and returns
// what it said.
func (b Bundles) clear(ctx context.Context, env *lane.Env, o *bundle.Object, orphan bool) (refused string, err error) {
	objects := env.Clients.Dynamic.Resource(infra.ResourceFor(o.Object.GroupVersionKind())).Namespace(o.Object.GetNamespace())
	_, err = objects.Apply(ctx, o.Object.GetName(), o.Object.DeepCopy(), metav1.ApplyOptions{FieldManager: "upgrade", Force: true, DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "immutable") && !strings.Contains(err.Error(), "Forbidden: updates to") {
		return "", nil // whatever else is wrong, the delivery shows
	}
	refused = err.Error()
	propagation := metav1.DeletePropagationForeground
	if orphan {
		propagation = metav1.DeletePropagationOrphan
	}
	if err := objects.Delete(ctx, o.Object.GetName(), metav1.DeleteOptions{PropagationPolicy: &propagation}); err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("delete %s, as a hook does: %w", o.Ref(), err)
	}
	return refused, wait.For(ctx, "the deletion of "+o.Ref().String(), wait.Options{Budget: 30 * time.Second}, func(ctx context.Context) wait.Result {
		if _, err := objects.Get(ctx, o.Object.GetName(), metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return wait.Done()
		}
		return wait.NotYet("it is still there")
	})
}

// commands are the words that a Job's containers are started with.
func commands(job *bundle.Object) string {
	template := problem.Template(job)
	if template == nil {
		return ""
	}
	var words []string
	for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
		words = slices.Concat(words, c.Command, c.Args)
	}
	return strings.Join(words, " ")
}

// namesUpgradeHooks reports whether a command names an object's kind, as kubectl knows it, or the object itself beside it.
func namesUpgradeHooks(said string, o *bundle.Object) bool {
	kind, ok := shortNames[o.Object.GetKind()]
	if !ok {
		return false
	}
	return regexp.MustCompile(`(?i)\b(?:` + kind + `)(?:\.\w+)?[/ ]+(?:\S+ +)*"?` + regexp.QuoteMeta(o.Object.GetName()) + `\b`).MatchString(said)
}

// mayDelete reports whether a role of the bundle lets a Job's account delete an object.
func (b Bundles) mayDelete(r *bundle.Release, job, o *bundle.Object) bool {
	all := slices.Clone(r.UpgradeHooks)
	all = append(all, b.Now.Expectation.Objects...)
	resource := infra.ResourceFor(o.Object.GroupVersionKind())
	allows := func(rules []rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return problem.Covers(r.APIGroups, resource.Group) && problem.Covers(r.Resources, resource.Resource) && problem.Covers(r.Verbs, "delete")
		})
	}
	may := map[string]bool{"ClusterRole/cluster-admin": true}
	for i := range all {
		var role rbacv1.ClusterRole // which has a Role's fields
		if kind := all[i].Object.GetKind(); (kind == "Role" && all[i].Object.GetNamespace() == o.Object.GetNamespace() || kind == "ClusterRole") && problem.Read(&all[i], &role) && allows(role.Rules) {
			may[kind+"/"+role.Name] = true
		}
	}
	account := problem.Template(job).Spec.ServiceAccountName
	return slices.ContainsFunc(all, func(one bundle.Object) bool {
		var binding rbacv1.ClusterRoleBinding // likewise
		kind := one.Object.GetKind()
		if kind != "ClusterRoleBinding" && (kind != "RoleBinding" || one.Object.GetNamespace() != o.Object.GetNamespace()) || !problem.Read(&one, &binding) || !may[binding.RoleRef.Kind+"/"+binding.RoleRef.Name] {
			return false
		}
		return slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Kind == "ServiceAccount" && s.Name == account })
	})
}
