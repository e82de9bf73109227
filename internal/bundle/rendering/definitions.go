package rendering

import (
	"path"
	"regexp"
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
)

// runsAtUpgrade reports whether Helm runs a hook at upgrades.
func runsAtUpgrade(h *helmrelease.Hook) bool {
	return slices.Contains(h.Events, helmrelease.HookPreUpgrade) || slices.Contains(h.Events, helmrelease.HookPostUpgrade)
}

// upgradeHooks are the objects of hooks that Helm runs at upgrades. One that cannot be read is left out:
// it may be rendered at upgrades only.
func upgradeHooks(hooks []*helmrelease.Hook) (all []Object) {
	for _, h := range hooks {
		if !runsAtUpgrade(h) {
			continue
		}
		objs, err := Parse(h.Manifest, h.Path)
		if err != nil {
			continue
		}
		for _, o := range objs {
			o.Hook = true
			all = append(all, o)
		}
	}
	return all
}

// DefinitionJob is a hook Job of an upgrade whose ServiceAccount may write CustomResourceDefinitions: charts
// bring one since Helm does not upgrade what is in crds/.
type DefinitionJob struct {
	Name    string
	Creates bool // it may create definitions, too
	// Files are those that its arguments name, without directories; none: it is not known which it writes.
	Files []string
}

// Writes reports whether the Job may write the definitions of a file. Where it names files of the chart, it
// writes those and no others.
func (j DefinitionJob) Writes(file string) bool {
	return len(j.Files) == 0 || slices.Contains(j.Files, path.Base(file))
}

// definitionJobs are those of the hooks of a release.
func definitionJobs(hooks, manifest []Object) (jobs []DefinitionJob) {
	all := slices.Concat(manifest, hooks)
	for _, o := range hooks {
		spec, ok := podspec.Of(o.Unstructured)
		if !ok || o.GetKind() != "Job" {
			continue
		}
		account, _ := spec["serviceAccountName"].(string)
		if writes, creates := writesDefinitions(account, all); writes {
			jobs = append(jobs, DefinitionJob{Name: o.GetName(), Creates: creates, Files: manifestFiles(spec)})
		}
	}
	return jobs
}

// manifestFile is a file of YAML in an argument or a script.
var manifestFile = regexp.MustCompile(`[^\s/='",;]+\.ya?ml\b`)

// manifestFiles are the files of YAML that commands and arguments of a pod's containers name.
func manifestFiles(spec map[string]any) (names []string) {
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			m, _ := c.(map[string]any)
			for _, key := range []string{"command", "args"} {
				words, _, _ := unstructured.NestedStringSlice(m, key)
				for _, w := range words {
					names = append(names, manifestFile.FindAllString(w, -1)...)
				}
			}
		}
	}
	return names
}

// writesDefinitions reports whether a ServiceAccount is bound to a ClusterRole that may change definitions, and
// to one that may create them.
func writesDefinitions(account string, all []Object) (changes, creates bool) {
	roles := map[string]rbacv1.ClusterRole{}
	for _, o := range all {
		var role rbacv1.ClusterRole
		if o.GetKind() == "ClusterRole" && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Unstructured.Object, &role) == nil {
			roles[role.Name] = role
		}
	}
	for _, o := range all {
		var binding rbacv1.ClusterRoleBinding
		if o.GetKind() != "ClusterRoleBinding" || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Unstructured.Object, &binding) != nil || !slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool {
			return strings.EqualFold(s.Kind, "ServiceAccount") && s.Name == account
		}) {
			continue
		}
		for _, rule := range roles[binding.RoleRef.Name].Rules {
			changes = changes || MayChangeDefinitions(rule)
			creates = creates || onDefinitions(rule, "create")
		}
	}
	return changes, creates
}

// MayChangeDefinitions reports whether a rule allows changes of CustomResourceDefinitions.
func MayChangeDefinitions(r rbacv1.PolicyRule) bool { return onDefinitions(r, "update", "patch") }

func onDefinitions(r rbacv1.PolicyRule, verbs ...string) bool {
	has := func(list []string, names ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return s == "*" || slices.Contains(names, s) })
	}
	return has(r.APIGroups, "apiextensions.k8s.io") && has(r.Resources, "customresourcedefinitions") && has(r.Verbs, verbs...)
}
