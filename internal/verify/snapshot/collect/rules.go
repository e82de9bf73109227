package collect

import rbacv1 "k8s.io/api/rbac/v1"

// Rules are what the collectors read of a cluster: the permissions of a Job that takes a snapshot.
func Rules() []rbacv1.PolicyRule {
	read := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list"}}
	}
	rules := []rbacv1.PolicyRule{read("", "nodes", "pods")}
	for _, p := range policies {
		rules = append(rules, read(p.Group, p.Resource))
	}
	return rules
}
